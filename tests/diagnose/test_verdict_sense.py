"""Verdicts that must make sense together: stalls, older starts, contradictions, ranks, one number from one place."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import LOG, Log, account, boot, context, event

from kvtui.diagnose.context import context_of
from kvtui.diagnose.registry import arranged, diagnose
from kvtui.diagnose.stalls import stall_of
from kvtui.domain.boot import GraphCapture
from kvtui.domain.finding import Finding, Ruled
from kvtui.domain.frame import Frame
from kvtui.domain.lowering import fraction_to_start, lowered_fraction
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import SampleStore


def ids(found):
    return [finding.id for finding in found]


def with_gap(seconds, *, after, lines=60, running=10):
    """Steady decode, a gap, then the lines that ``after`` adds."""
    log = Log()
    for _ in range(lines):
        log.decode(running)
    log.at += seconds
    after(log)
    for _ in range(lines):
        log.decode(running)
    return log


def test_a_gap_with_requests_running_is_a_stall_and_never_healthy():
    log = with_gap(31, after=lambda log: log.prefill(90, running=8))
    found = diagnose(context(log))
    assert found[0].id == "server-stuck"
    assert found[0].confidence in {"low", "medium"}
    assert "31 s" in found[0].sentence
    assert not {"healthy", "client"} & set(ids(found))
    assert found[0].since == 1060.0


@pytest.mark.parametrize(
    "after",
    [
        lambda log: log.prefill(90, running=0),  # nothing ran: it was idle
        lambda log: log.decode(30),  # far more than before: new ones came
        lambda log: log.prefill(20_000, running=8),  # a long prompt was computed in the gap
    ],
    ids=["idle", "others", "long-prefill"],
)
def test_other_gaps_are_no_stall(after):
    assert stall_of(context(with_gap(31, after=after))) is None


def test_a_pace_of_rare_lines_is_no_stall():
    log = Log()
    for _ in range(40):
        log.at += 29
        log.decode(10)
    assert stall_of(context(log)) is None


def test_a_short_stall_stands_behind_a_proven_limit():
    log = Log()
    for i in range(400):
        log.decode(30, queued=20)
        if i == 350:
            log.at += 15
    found = diagnose(context(log))
    assert ids(found)[:2] == ["kv-capacity", "server-stuck"]
    assert found[1].confidence == "low"


def test_silence_says_both_readings_and_is_less_certain_the_longer_it_lasts():
    log = Log()
    for _ in range(60):
        log.decode(10)
    for seconds, confidence in ((60, "medium"), (3600, "low")):
        found = diagnose(context(log, now=log.at + seconds))[0]
        assert (found.id, found.confidence) == ("server-stuck", confidence)
        assert "cut off" in found.sentence
    assert "60 min" in found.sentence


def test_an_older_start_ended_with_its_own_last_line():
    log = Log()
    for _ in range(120):
        log.decode(30, queued=20)
    old = dataclasses.replace(boot(), ended_at=log.at)
    new = dataclasses.replace(boot(), index=1)
    frame = Frame(log.at + 600, True, (old, new), 0, log.store.view(), ())
    judged = context_of(frame, account(tokens_reported=10_000, running_cap=64))
    assert ids(diagnose(judged)) == ["kv-capacity"]
    assert judged.silent_s == 0
    newest = dataclasses.replace(frame, chosen=1)
    assert ids(diagnose(context_of(newest, account(tokens_reported=10_000, running_cap=64))))[:2] == ["kv-capacity", "server-stuck"]


def test_endless_full_chunks_tell_no_prompt_and_no_capacity():
    log = Log()
    for i in range(600):
        log.at += 0.9
        log.prefill(8192, running=20, queued=200)
        if i % 30 == 29:
            log.decode(20, queued=200, m=6_000, pool=400_000, tput=60)
    judged = context(log, start=boot(pool=400_000, cap=2048))
    assert isinstance(judged.workload.prompt, Missing)
    assert isinstance(judged.workload.prompt_max, Missing)
    assert judged.band is None
    found = diagnose(judged)
    assert found[0].id == "prefill"
    assert "kv-capacity" not in ids(found)


def finding(verdict, *ruled, confidence="high"):
    return Finding(verdict, "t", "s.", "concurrency", confidence, ruled_out=tuple(Ruled(name, "why") for name in ruled))


def test_what_a_stronger_limit_rules_out_is_no_limit_beside_it():
    shown = arranged([finding("prefill", "kv-capacity"), finding("kv-capacity", "prefill"), finding("prefix-miss", "kv-capacity")])
    assert ids(shown) == ["kv-capacity", "prefix-miss"]
    assert shown[1].ruled_out == ()
    shown = arranged([finding("retraction", "kv-capacity"), finding("kv-capacity")])
    assert ids(shown) == ["retraction"]


def test_a_full_pool_without_a_queue_is_near_its_ceiling():
    log = Log()
    for _ in range(60):
        log.decode(32)
    found = diagnose(context(log))[0]
    assert found.id == "healthy"
    assert "near its ceiling" in found.sentence


def test_a_window_with_much_data_and_no_limit_says_why():
    log = Log()
    for i in range(300):
        log.decode(20, queued=5 if i % 10 < 3 else 0)
    found = diagnose(context(log))[0]
    assert found.id == "not-enough-data"
    assert found.title != "Not enough data yet"
    assert "30%" in found.sentence


def test_a_sentence_of_one_rank_names_it():
    store = SampleStore()
    logs = [Log(dp=dp, store=store) for dp in range(4)]
    for _ in range(80):
        for log in logs:
            log.decode(30 + log.dp, queued=20)
    found = diagnose(context(logs[0]))[0]
    assert found.id == "kv-capacity"
    assert found.sentence.startswith("On DP3, the busiest of 4 ranks: ")


def test_retraction_and_reservation_say_which_way_to_turn():
    log = Log()
    for _ in range(80):
        log.decode(32, queued=20)
    events = tuple(event("retract", retracted=1.0, at=1010.0 + i) for i in range(8))
    for value, words in ((None, "from 1 to 1.3"), (0.3, "from 0.3 to 1"), (1.5, "1.5 already")):
        start = boot() if value is None else boot(schedule_conservativeness=value)
        advice = " ".join(diagnose(context(log, events=events, start=start))[0].advice)
        assert words in advice
    log = Log()
    for i in range(80):
        log.decode(30, queued=20, m=60)
        if i % 4 == 0:
            log.prefill(200, running=30)
    found = diagnose(context(log))[0]
    assert found.id == "reservation"
    assert any("Lower --schedule-conservativeness from 1 to 0.3" in line for line in found.advice)


def test_an_event_of_metrics_names_no_log_line():
    log = Log()
    for _ in range(80):
        log.decode(32, queued=20)
    events = tuple(event("retract", retracted=1.0, at=1010.0 + i, line=0) for i in range(8))
    assert not any("line 0" in proof.where for found in diagnose(context(log, events=events)) for proof in found.evidence)


def test_the_fraction_to_lower_to_is_one_number():
    sums = account(fraction=0.879, pre_gib=22.39, headroom_gib=0.83)
    lower = lowered_fraction(sums)
    assert lower == 0.82
    log = context(start=boot(), fraction=0.879, pre_gib=22.39, headroom_gib=0.83)
    advice = next(found for found in diagnose(log) if found.id == "headroom").advice[0]
    assert f"to {lower:.2f}" in advice
    assert "frees 1.3 GiB" in advice
    assert lowered_fraction(account()) is None


def test_a_failed_start_lowers_by_what_the_capture_lacked():
    start = boot(pool=None, state="failed", captures=(GraphCapture("decode", Known(1.0, None, LOG), Missing("no end"), Missing("no end")),))
    sums = account(fraction=0.9, pre_gib=80.0, post_gib=40.0)
    assert fraction_to_start(sums, start) == 0.87
    judged = context(start=start, events=(event("capture-failed"), event("out-of-memory")), fraction=0.9, pre_gib=80.0, post_gib=40.0)
    advice = diagnose(judged)[0].advice[0]
    assert re.search(r"--mem-fraction-static 0\.87\b", advice)
    assert fraction_to_start(account(fraction=0.9), start) is None


def test_a_server_that_moves_again_is_no_longer_stuck_and_says_that_it_was():
    log = with_gap(200, after=lambda log: log.prefill(90, running=8), lines=20)
    found = diagnose(context(log, finished=False))
    past = next(f for f in found if f.id == "server-stuck")
    assert found[0].id in {"healthy", "client"}
    assert past.axis == "banner"
    assert "It moves again since 20 s." in past.sentence
    assert diagnose(context(log))[0].id == "server-stuck"


def test_what_has_just_begun_to_move_is_not_well_yet():
    log = with_gap(200, after=lambda log: log.prefill(90, running=8), lines=60)
    short = Log()
    for _ in range(60):
        short.decode(10)
    short.at += 200
    for _ in range(8):
        short.decode(10)
    assert diagnose(context(log, finished=False))[0].id in {"healthy", "client"}
    assert not {"healthy", "client"} & set(ids(diagnose(context(short, finished=False))))


def test_a_limit_that_stood_before_a_stall_comes_first_as_soon_as_it_moves():
    log = Log()
    for _ in range(60):
        log.decode(32, queued=20)
    log.at += 120
    for _ in range(3):
        log.decode(32, queued=20)
    found = diagnose(context(log, finished=False))
    assert found[0].id == "kv-capacity"
    assert found[-1].id == "server-stuck"


def test_a_soft_watchdog_after_which_it_went_on_is_no_end():
    log = Log()
    for _ in range(200):
        log.decode(32, queued=20)
    soft = (event("watchdog", "watchdog timeout (self.soft=True)", at=1_050.0, line=60),)
    for finished in (True, False):
        assert diagnose(context(log, events=soft, finished=finished))[0].id == "kv-capacity"
    hard = (event("watchdog", "watchdog timeout", at=1_195.0, line=200),)
    assert diagnose(context(log, events=hard))[0].id == "server-stuck"


def test_a_step_that_is_slowed_leads_where_nothing_limits_how_many_run():
    def step(verdict, confidence="medium"):
        return Finding(verdict, "t", "s.", "step", confidence)

    client, healthy = finding("client"), finding("healthy")
    assert ids(arranged([client, step("clocks")])) == ["clocks", "client"]
    assert ids(arranged([healthy, step("cuda-graph")])) == ["cuda-graph", "healthy"]
    assert ids(arranged([finding("kv-capacity"), step("clocks")])) == ["kv-capacity", "clocks"]
    assert ids(arranged([client, step("speculation", "low")])) == ["client", "speculation"]
    assert ids(arranged([client, step("decode-bandwidth")])) == ["client", "decode-bandwidth"]


def test_healthy_speaks_of_concurrency_where_a_step_verdict_stands_beside():
    beside = arranged([finding("healthy"), Finding("decode-bandwidth", "t", "s.", "step", "medium")])
    assert beside[0].title == "Nothing limits how many run"
    assert arranged([finding("healthy")])[0].title == "t"


def test_a_certain_banner_says_more_than_that_more_could_come():
    banner = Finding("foreign-memory", "t", "s.", "banner", "high")
    assert ids(arranged([finding("client"), banner])) == ["foreign-memory", "client"]
    assert ids(arranged([finding("kv-capacity"), banner])) == ["kv-capacity", "foreign-memory"]


def test_a_queue_on_a_rank_that_generates_little_is_a_queue():
    store = SampleStore()
    busy, blocked = Log(store=store), Log(store=store, dp=1)
    for _ in range(60):
        busy.decode(20)
        blocked.at = busy.at - 1
        blocked.decode(1, queued=5)
    assert not {"healthy", "client"} & set(ids(diagnose(context(busy))))


@pytest.mark.parametrize(("gain", "confidence"), [(1.2, "medium"), (1.6, "low"), (2.2, None)])
def test_the_less_a_draft_yields_the_surer_it_is_wasted(gain, confidence):
    log = Log()
    for _ in range(80):
        log.decode(40, m=50, accept_len=gain)
    found = next((f for f in diagnose(context(log)) if f.id == "speculation"), None)
    assert (found.confidence if found is not None else None) == confidence
