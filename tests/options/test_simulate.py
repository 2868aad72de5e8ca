"""The simulated load: against recorded runs of a real scheduler where they are beside the repository, else against arithmetic."""

import gzip
import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from options.option_build import account, boot, context, workload
from reading import SHARED, analysis_of, log

from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import DECODE, SampleStore
from kvtui.domain.workload import observe
from kvtui.options.of_analysis import context_of
from kvtui.options.registry import estimates
from kvtui.options.simulate import FULL_SIZE, Outcome, play, run
from kvtui.options.stated import Stated
from kvtui.options.trial import MOST_CLIENTS, trial_of


def played(made, change=None, flags=(), stated=None):
    trial = trial_of(made, change, flags, stated)
    assert not isinstance(trial, Missing), trial
    return run(trial)


FOUNDING = context(workload=workload(output=1_400.0))


def test_today_is_what_was_measured_and_more_pool_lets_more_run():
    found = played(FOUNDING, Change(fraction=0.90))
    assert found.alike is True
    assert found.today.running.mean == pytest.approx(50, rel=0.12)
    assert found.today.tok_s.mean == pytest.approx(835, rel=0.12)
    # 62% more tokens: 62% more requests, each a little slower
    assert found.changed.running.mean / found.today.running.mean == pytest.approx(1.62, rel=0.1)
    assert 1.1 < found.changed.tok_s.mean / found.today.tok_s.mean < 1.5
    assert found.changed.stream_tok_s.mean < found.today.stream_tok_s.mean
    assert found.changed.wait_s.mean < found.today.wait_s.mean
    for outcome in (found.today, found.changed):
        assert outcome.running.low <= outcome.running.mean <= outcome.running.high
        # a closed loop: nobody is lost
        assert outcome.running.mean + outcome.queued.mean == pytest.approx(147, abs=2.5)
        assert outcome.requests >= 150


def test_the_same_trial_gives_the_same_figures():
    assert played(FOUNDING, Change(fraction=0.90)) == played(FOUNDING, Change(fraction=0.90))


@pytest.mark.parametrize("change", [Change(), Change(headroom_gib=2.0), Change(fraction=0.85)])
def test_a_change_that_touches_nothing_is_said_to(change):
    found = played(FOUNDING, change)
    assert found.same
    assert found.changed == found.today


def test_a_lower_cap_and_fewer_clients_hold_what_runs():
    assert played(FOUNDING, Change(running_cap=10)).changed.running.high <= 10
    fewer = played(FOUNDING, Change(running_factor=0.1)).changed
    assert fewer.running.mean + fewer.queued.mean == pytest.approx(15, abs=0.5)
    assert fewer.queued.mean < 0.5


def test_faster_steps_give_more_tokens_at_the_same_batch():
    found = played(FOUNDING, Change(speed=Speed(1.4, 1.5, 1.6, "prior: by hand")))
    assert found.changed.tok_s.mean / found.today.tok_s.mean == pytest.approx(1.5, rel=0.06)
    assert any("prior: by hand" in note for note in found.trial.notes)


def test_a_chunk_size_comes_from_the_flags():
    trial = trial_of(FOUNDING, Change(), ("--chunked-prefill-size 4096",))
    assert trial.changed.server.chunk == 4096
    assert trial_of(FOUNDING, Change(), ("--chunked-prefill-size -1",)).changed.server.chunk is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(copies=2.0), "share the model in another way"),
        (Change(weight_ratio=0.5), "other weights"),
        (Change(unknown="kernels differ"), "kernels differ"),
        (Change(unknown_pool="no geometry"), "no geometry"),
        (Change(running_ratio=2.0), "another pool"),
        (Change(fraction=0.5), "no pool would be left"),
    ],
)
def test_what_the_twin_cannot_know_is_refused_and_today_still_played(change, words):
    found = played(FOUNDING, change)
    assert isinstance(found.changed, Missing)
    assert words in found.changed.reason
    assert isinstance(found.today, Outcome)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (context(workload=workload(prompt=None)), "length of prompts is not known"),
        (context(workload=workload(output=None, resident=1_010.0)), "length of answers is not known"),
        (context(workload=workload(running=float(MOST_CLIENTS), queued=1_000.0, output=10.0)), "too many"),
        (context("sub-pool"), "one pool only"),
        (context(account=account(tokens_reported=Missing("?"), tokens_predicted=Missing("?")), workload=workload(output=9.0)), "pool is not known"),
        (context(workload=workload(running=0.0, output=9.0)), "no decode step was measured"),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_told_is_refused_with_a_reason(made, words):
    found = trial_of(made)
    assert isinstance(found, Missing)
    assert words in found.reason


def test_an_unmeasured_answer_is_inferred_and_called_assumed():
    trial = trial_of(context())
    told = {t.name: t for t in trial.told}
    # 2,050 in the pool less 1,000 of prompt is a little more than half an answer
    assert told["answer"].basis == "assumed"
    assert trial.today.shape.output.mean == pytest.approx(1_938, abs=2)
    assert told["prompt"].basis == "measured"
    assert told["step and batch"].basis == "prior"


def test_a_cached_prompt_is_computed_in_part_and_held_whole():
    trial = trial_of(context(workload=workload(prompt=500.0, output=400.0)))
    shape = trial.today.shape
    assert shape.prompt.mean * (1 - shape.cached_share) == pytest.approx(500)
    assert shape.prompt.mean + 400 * (1 + 1 / 12) / 2 == pytest.approx(2_050)


def test_a_stated_load_is_played_without_a_comparison():
    trial = trial_of(FOUNDING, Change(fraction=0.90), stated=Stated(users=64, prompt=4_000, output=500))
    assert trial.seen is None
    assert trial.today.clients == 64
    assert {t.name: t.basis for t in trial.told}["prompt"] == "stated"
    assert any("another size" in note for note in trial.notes)
    found = run(trial)
    assert found.alike is None
    assert found.changed.running.mean > found.today.running.mean


def test_a_goal_alone_states_no_load():
    assert trial_of(FOUNDING, stated=Stated(target_tok_s=900.0)).seen is not None


def test_hostile_figures_end_in_a_reason():
    for value in (math.nan, math.inf, -1.0, 0.0, 1e300):
        for name in ("prompt", "output", "resident", "gen_tput"):
            made = context(workload=workload(**{name: value}))
            trial = trial_of(made, Change(fraction=0.90))
            assert isinstance(trial, Missing) or isinstance(run(trial, lambda: True), Missing)
    assert trial_of(context(boot=boot(chunked_prefill_size=1e300, speculative_algorithm="EAGLE", speculative_num_draft_tokens=1e30), workload=workload(output=100.0)))  # fmt: skip


def test_it_stops_when_it_is_told_to():
    begun = time.perf_counter()
    found = run(trial_of(FOUNDING, Change(fraction=0.90)), lambda: True)
    assert isinstance(found, Missing)
    assert "stopped" in found.reason
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize(
    ("running", "queued", "output"), [(3_000.0, 900.0, 4_000.0), (1.0, 0.0, 20_000.0), (200.0, 3_000.0, 16.0), (400.0, 300.0, 100.0)]
)
def test_work_is_bounded_whatever_the_load(running, queued, output):
    pool = int(running * 2_050 * 1.1)
    made = context(
        account=account(tokens_reported=Known(pool), running_cap=Known(4_096)), workload=workload(running, queued, 20_000.0, 2_050.0, pool, 50.0, output)
    )  # fmt: skip
    begun = time.process_time()
    trial = trial_of(made, Change(fraction=0.86))
    assert isinstance(trial, Missing) or run(trial) is not None
    # about 2 s on the slowest machine in use; the bound is generous so that only a lost bound fails
    assert time.process_time() - begun < 12


def test_a_large_rank_is_played_small_and_comes_to_the_same():
    """The same proportions three times as large: every rate three times, every time the same."""
    small = context(
        account=account(tokens_reported=Known(180_000), running_cap=Known(120)),
        workload=workload(80.0, 110.0, 1_600.0, 2_000.0, 180_000, 1_000.0, 900.0),
    )
    large = context(
        account=account(tokens_reported=Known(540_000), running_cap=Known(360)),
        workload=workload(240.0, 330.0, 4_800.0, 2_000.0, 540_000, 1_000.0, 900.0),
    )
    one, three = trial_of(small).today, trial_of(large).today
    # The step costs the same at full batch; the prior's R0 does not scale with the rank.
    three = replace(
        three, times=replace(one.times, per_running_s=one.times.per_running_s / 3, prefill_token_s=one.times.prefill_token_s / 3)
    )
    assert one.clients < FULL_SIZE < three.clients
    a, b = play(one, lambda: False), play(three, lambda: False)
    assert b.running.mean == pytest.approx(3 * a.running.mean, rel=0.05)
    assert b.tok_s.mean == pytest.approx(3 * a.tok_s.mean, rel=0.05)
    assert b.latency_s.mean == pytest.approx(a.latency_s.mean, rel=0.05)


def ranks(*loads, attention=False, dp=None, usage=0.9):
    """A minute of decode lines of several data-parallel ranks: running and queued of each."""
    store = SampleStore()
    for tick in range(30):
        for rank, (running, queued) in enumerate(loads):
            store.append(
                {"at": 2.4 * tick, "line": tick * len(loads) + rank + 1.0, "kind": DECODE, "dp": float(rank), "running": running, "queued": queued,
                 "tokens": running * 2_050.0, "usage": usage, "gen_tput": running * 16.7, "graph": 1.0}
            )  # fmt: skip
    seen = observe(store.view(), (), pool_tokens=116_171)
    told = replace(seen, prompt=Known(1_000.0), output=Known(1_400.0), resident=Known(2_050.0))
    dps = Known(dp or len(loads))
    return context(account=account(identity=replace(account().identity, dp=dps, dp_attention=attention)), workload=told)


def test_alike_ranks_are_played_once_and_counted_all():
    one, four = played(ranks((50.0, 97.0))), played(ranks(*[(50.0, 97.0)] * 4))
    assert four.today.tok_s.mean == pytest.approx(4 * one.today.tok_s.mean)
    assert four.today.running.mean == pytest.approx(4 * one.today.running.mean)
    assert four.today.wait_s.mean == pytest.approx(one.today.wait_s.mean)
    assert four.today.usage == one.today.usage
    assert four.trial.seen.running == pytest.approx(200)
    assert four.trial.seen.tok_s == pytest.approx(4 * 50 * 16.7)
    assert four.alike is True
    assert [told.figure for told in four.trial.told if told.name == "requests in flight"] == ["588"]
    assert any("4 data-parallel ranks" in note for note in four.trial.notes)


def test_ranks_of_unlike_load_are_each_played_with_their_own():
    found = played(ranks((50.0, 97.0), (50.0, 95.0), (8.0, 0.0), (0.0, 0.0)), Change(fraction=0.90))
    assert [(group.clients, group.ranks) for group in found.trial.groups] == [(146, 2), (8, 1)]
    assert found.trial.notes[0] == "4 data-parallel ranks, each played with its own requests in flight: 2 with 146, 1 with 8, 1 idle"
    # the rank with room gains nothing from more pool; the two full ones do
    assert found.today.running.mean == pytest.approx(2 * 50 + 8, rel=0.12)
    assert found.changed.running.mean == pytest.approx(2 * 81 + 8, rel=0.12)
    assert found.trial.seen.running == pytest.approx(108)


def test_ranks_that_step_together_go_at_the_pace_of_the_busiest():
    own, together = (played(ranks((50.0, 97.0), (8.0, 0.0), attention=attention)).today for attention in (False, True))
    assert together.tok_s.mean < own.tok_s.mean


def test_ranks_that_print_nothing_are_taken_alike_and_said():
    found = trial_of(ranks((50.0, 97.0), (50.0, 97.0), dp=8))
    assert sum(group.ranks for group in found.groups) == 8
    assert found.notes[0].endswith("2 with 147; 6 were not seen and are taken alike")
    assert found.seen.running == pytest.approx(400)
    alone = trial_of(context(account=account(identity=replace(account().identity, dp=Known(4))), workload=workload(output=1_400.0)))
    assert alone.notes[0] == "4 data-parallel ranks, all taken to be as full as the one that was seen"


def test_many_unlike_ranks_are_a_few_groups():
    found = trial_of(ranks(*[(float(n), 0.0) for n in range(5, 69)]))
    assert len(found.groups) <= 3
    assert sum(group.ranks * group.clients for group in found.groups) == pytest.approx(sum(range(5, 69)), rel=0.02)


def test_every_option_of_the_founding_log_can_be_played_or_says_why_not():
    analysis = analysis_of(log("founding_a.log"))
    made = context_of(analysis)
    for estimate in estimates(made):
        if estimate.applies:
            trial = trial_of(made, estimate.change, estimate.flags)
            assert trial.changed is not None
            assert isinstance(trial.changed, Missing) or trial.changed.server.pool_tokens > 0


RECORDED = ("kvcap-0.5.23", "retraction-tight-0.5.23", "running-cap-0.5.9", "client-0.5.23", "twin-queues-0.5.9-s1", "healthy-0.5.9")


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_run_is_found_again_from_its_log_alone(name):
    """Neither the request list nor max_new_tokens is known here: only what a log tells."""
    folder: Path = SHARED / "traces" / name
    files = sorted(folder.glob("input.log*"))
    if not files:
        pytest.skip("no recorded runs beside the repository")
    raw = gzip.decompress(files[0].read_bytes()) if files[0].suffix == ".gz" else files[0].read_bytes()
    trial = trial_of(context_of(analysis_of(raw)))
    found = run(trial)
    assert found.alike, (found.today.running, trial.seen)
    assert found.today.tok_s.mean == pytest.approx(trial.seen.tok_s, rel=0.08)
