"""What metrics pages tell of prefill's share of the time, and that nothing is called well where they do not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from machines import failure, http, info, known, machine, page, steady

from kvtui.diagnose.page_prefill import doubt_of
from kvtui.diagnose.registry import diagnose
from kvtui.domain.answers import LoadRow, Loads
from kvtui.domain.latency import Latency, Quantile, Spread
from kvtui.domain.motion import Motion
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import PREFILL

NONE = Missing("not told")


def spread(mean, nearest=None):
    near = mean if nearest is None else nearest
    return Spread(600, 60, mean, Quantile(near / 2, near, near), *(Quantile(mean, mean, mean),) * 3)


def pages(*, prompts, itl=None, ttft=None, requests_s=1.0, loads=NONE, loads_before=None, prefills=True, **rates):
    """A load of 20 requests at 800 tok/s on pages alone; ``prompts``: tokens computed a second."""
    log = steady(20, pages=True, m=100)
    if prefills:
        rows = len(log.store.view())
        for i in range(rows):
            log.store.append({"at": 1001.0 + i, "dp": 0, "pp": 0, "kind": PREFILL, "running": 20, "new_token": prompts, "new_seq": 1})
    latency = Latency(
        1000.0, ttft=NONE if ttft is None else spread(ttft), itl=NONE if itl is None else spread(*itl), e2e=NONE, queue_time=spread(0.0)
    )
    reading = http(
        scrape=page(running=20, queued=0), server_info=info(), loads=loads, loads_before=loads_before, latency=latency,
        rates=Rates(1000.0, requests_s=known(requests_s), **rates),
    )  # fmt: skip
    return machine(log, http_reading=reading, logged=False, tokens_reported=10_000, running_cap=64)


def first(context):
    return diagnose(context)[0].id


def test_tokens_that_come_far_apart_beside_many_prompts_are_prefill():
    context = pages(prompts=20_000, itl=(0.15, 0.02), ttft=1.1)
    found = diagnose(context)[0]
    assert found.id == "prefill"
    assert found.confidence == "medium"
    assert context.workload.prefill_share.value > 0.8
    assert "tokens 87%" in context.workload.prefill_share.where.detail


@pytest.mark.parametrize("itl", [None, (0.15, 0.15)], ids=["not told", "not streamed"])
def test_where_nothing_tells_the_time_it_is_neither_healthy_nor_the_clients(itl):
    context = pages(prompts=20_000, itl=itl, ttft=1.1)
    found = diagnose(context)[0]
    assert found.id == "not-enough-data"
    assert "prompt tokens computed for each one generated" in found.sentence
    assert "0.5.15" in found.needs[0]
    assert not {"healthy", "client"} & {f.id for f in diagnose(context)}


def test_first_tokens_that_come_soon_exclude_it():
    assert first(pages(prompts=20_000, ttft=0.1)) == "client"


def test_the_wait_for_the_first_token_bounds_what_tokens_show():
    assert first(pages(prompts=4_000, itl=(0.15, 0.02), ttft=0.2)) == "client"


def test_few_prompts_need_no_bound():
    assert first(pages(prompts=1_000)) == "client"


def test_seconds_that_the_server_counts_leave_no_doubt():
    row = LoadRow(0, prefill_tokens_total=known(1e6), prefill_busy_s_total=known(10.0))
    context = pages(prompts=20_000, loads=Loads(1000.0, rows=(row,)))
    assert doubt_of(context.workload, context.frame.http, 0.4) is None
    assert context.workload.prefill_share.value == pytest.approx(0.2, abs=0.02)


def test_before_realtime_counters_ended_requests_tell_how_much_is_computed():
    context = pages(prompts=0, prefills=False, ttft=1.1, prompt_tokens=known(5_000.0), output_tokens=known(60.0), cache_hit=known(0.0))
    assert first(context) == "not-enough-data"
    cached = pages(prompts=0, prefills=False, ttft=1.1, prompt_tokens=known(5_000.0), output_tokens=known(60.0), cache_hit=known(0.99))
    assert first(cached) == "client"


@pytest.mark.parametrize(("state", "said"), [("moving", True), ("still", False), ("stuck", False)])
def test_what_a_server_generated_before_it_stopped_is_not_told_as_now(state, said):
    reading = http(
        scrape=page(running=20, queued=3), server_info=info(), motion=Motion(state, "Nothing has moved."),
        rates=Rates(1000.0, finished_tok_s=known(0.0)), failures={"server_info": failure()},
    )  # fmt: skip
    found = diagnose(machine(steady(20, lines=80), http_reading=reading))
    assert any("the server generates" in f.sentence for f in found if f.id == "measurement") is said


def counted(tokens, busy, at=1000.0):
    return Loads(at, rows=(LoadRow(0, prefill_tokens_total=known(tokens), prefill_busy_s_total=known(busy)),))


def share(now, before=None, prompts=2_000):
    """As the seconds tell it; None where it is told by something else."""
    found = pages(prompts=prompts, loads=now, loads_before=before).workload.prefill_share
    return found.value if isinstance(found, Known) and "/v1/loads" in str(found.where) else None


def test_first_passes_that_were_slow_are_not_held_against_a_new_server():
    # Two seconds went into the first few tokens; since then 40,000 took one.
    now, before = counted(40_100.0, 3.0), counted(100.0, 2.0, at=960.0)
    assert share(now, before) == pytest.approx(share(counted(40_000.0 * 60, 60.0)), rel=0.01)
    assert share(counted(100.0, 2.0)) is None


def test_hardly_any_prefill_between_two_answers_is_a_share_of_its_own():
    now, before = counted(1_000.0, 2.1), counted(900.0, 2.0, at=980.0)
    assert share(now, before) == pytest.approx(0.1 / 20)
    assert share(now, replace(before, at=999.0)) is None


def test_counts_that_fell_are_those_of_another_process():
    assert share(counted(40_000.0 * 60, 60.0), counted(1e9, 900.0, at=960.0)) == pytest.approx(share(counted(40_000.0 * 60, 60.0)))
