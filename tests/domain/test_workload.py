from __future__ import annotations

import math
from types import MappingProxyType

import pytest

from kvtui.domain.events import Event
from kvtui.domain.rank import Rank
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import DECODE, EMPTY_TIMELINE, PREFILL, SampleStore
from kvtui.domain.workload import observe


def store(rows) -> SampleStore:
    made = SampleStore()
    for number, row in enumerate(rows):
        made.append({"line": number + 1, "dp": 0, "pp": 0, **row})
    return made


def decode(at, running, *, queued=0, tput=None, usage=0.5, **more):
    return {
        "kind": DECODE,
        "at": at,
        "running": running,
        "queued": queued,
        "usage": usage,
        "gen_tput": running * 40 if tput is None else tput,
        **more,
    }


def prefill(at, new, *, seqs=1, cached=0, running=4):
    return {
        "kind": PREFILL,
        "at": at,
        "new_token": new,
        "new_seq": seqs,
        "cached_token": cached,
        "running": running,
        "queued": 0,
        "usage": 0.1,
    }


def test_empty():
    load = observe(EMPTY_TIMELINE, (), pool_tokens=None)
    assert load.empty
    assert isinstance(load.running, Missing)
    assert load.ranks == ()
    assert load.busiest is None


def test_a_steady_load():
    load = observe(store([decode(t, 10, queued=3, tokens=3000) for t in range(30)]).view(), (), pool_tokens=6000)
    assert load.running.value == 10
    assert load.queued.value == 3
    assert load.resident.value == 300
    assert load.gen_tput.value == pytest.approx(400)
    assert load.step_s.value == pytest.approx(1 / 40)
    assert load.prefill_share.value == 0
    assert load.span_s.value == 29


def test_resident_falls_back_to_usage_times_pool():
    load = observe(store([decode(t, 10) for t in range(5)]).view(), (), pool_tokens=6000)
    assert load.resident.value == 300
    assert isinstance(observe(store([decode(0, 10)]).view(), (), pool_tokens=None).resident, Missing)


def test_a_long_prompt_in_chunks_counts_once():
    rows = [prefill(1, 512), prefill(1, 512), prefill(1, 176), prefill(2, 300)]
    load = observe(store(rows).view(), (), pool_tokens=None, chunk=512)
    assert load.prompt.value == pytest.approx(1500 / 2)
    assert load.prompt_max.value == 1200


def test_equal_prompts_below_the_chunk_are_not_chunks():
    load = observe(store([prefill(t, 500) for t in range(6)]).view(), (), pool_tokens=None, chunk=512)
    assert load.prompt.value == 500


def test_cached_share_and_probes():
    rows = [prefill(0, 1, running=0), prefill(1, 100, cached=300)]
    assert observe(store(rows).view(), (), pool_tokens=None).cached_share.value == 0.75


def test_ranks_add_up_for_the_server_and_stay_apart_for_admission():
    rows = [{**decode(t, 8 if dp == 0 else 2, queued=5 if dp == 0 else 0), "dp": dp} for t in range(20) for dp in (0, 1)]
    load = observe(store(rows).view(), (), pool_tokens=1000)
    assert [rank.running.value for rank in load.ranks] == [8, 2]
    assert load.running.value == 10
    assert load.busiest.dp == 0
    assert load.busiest.queue_share.value == 1


def test_a_rank_that_is_mostly_idle_adds_little():
    rows = [{**decode(t, 8), "dp": 0} for t in range(40)] + [{**decode(50, 8), "dp": 1} for _ in range(3)]
    load = observe(store(rows).view(), (), pool_tokens=1000)
    assert load.running.value < 9


def test_pipeline_stages_are_not_added():
    rows = [{**decode(t, 8), "pp": pp} for t in range(10) for pp in (0, 1)]
    assert observe(store(rows).view(), (), pool_tokens=1000).running.value == 8


def test_only_the_newest_window_counts():
    rows = [decode(t, 2) for t in range(100)] + [decode(t, 20) for t in range(1000, 1050)]
    timeline = store(rows).view()
    assert observe(timeline, (), pool_tokens=None, window_s=600).running.value == 20
    assert observe(timeline, (), pool_tokens=None, window_s=None).running.value == pytest.approx(8)


def test_prefill_between_decode_lines_is_what_makes_them_slow():
    rows = [decode(0, 10)]
    for t in range(1, 20):
        rows += [decode(t, 10), prefill(t, 400), decode(t, 10, tput=100)]
    load = observe(store(rows).view(), (), pool_tokens=None, decode_interval=40)
    assert load.pure_step_s.value == pytest.approx(1 / 40)
    # Of 0.1 + 0.025 s a pair, 0.075 s are stalls.
    assert load.prefill_share.value == pytest.approx(0.6, abs=0.02)


def test_prefill_passes_bound_the_share_where_hardly_anything_decodes():
    rows = [prefill(t / 10, 512) for t in range(400)] + [decode(40, 8)]
    load = observe(store(rows).view(), (), pool_tokens=None, decode_interval=40)
    assert load.prefill_share.value == pytest.approx(400 / 440)


def test_output_length_by_conservation():
    rows = []
    for t in range(60):
        rows += [prefill(t, 100, seqs=2), decode(t, 10)]
    load = observe(store(rows).view(), (), pool_tokens=None, decode_interval=40)
    assert load.output.value == pytest.approx(40 * 10 * 60 / 120)
    assert isinstance(observe(store([decode(0, 5)]).view(), (), pool_tokens=None).output, Missing)


def test_a_retraction_line_of_every_tensor_rank_is_one():
    fields = MappingProxyType({"retracted": 2.0})
    events = [Event("retract", 5.0, 7, "x", Rank(tp=tp), fields) for tp in range(8)]
    load = observe(store([decode(t, 5) for t in range(61)]).view(), events, pool_tokens=None)
    assert (load.retractions, load.retracted) == (1, 2)
    assert load.retractions_per_min.value == pytest.approx(1)


def test_without_times_means_are_told_and_rates_are_not():
    load = observe(store([decode(math.nan, 5) for _ in range(10)]).view(), (), pool_tokens=None)
    assert load.running.value == 5
    assert isinstance(load.span_s, Missing)
    assert isinstance(load.retractions_per_min, Missing)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, 1e308, -1.0, 0.0, math.nan])
def test_wild_numbers_do_not_break_it(bad):
    rows = [decode(t, bad, queued=bad, tput=bad, usage=bad, tokens=bad, accept_len=bad) for t in range(5)]
    rows += [prefill(6, bad, seqs=bad, cached=bad)]
    load = observe(store(rows).view(), (), pool_tokens=1000)
    assert load.decode_lines == 5
    assert isinstance(load.usage, (Known, Missing))
