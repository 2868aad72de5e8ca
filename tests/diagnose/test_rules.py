from __future__ import annotations

import dataclasses
import math
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import LOG, Log, boot, context, event

from kvtui.diagnose.registry import ORDER, diagnose, registered
from kvtui.domain.boot import GraphCapture, HostPool
from kvtui.domain.estimate import OPTION_IDS
from kvtui.domain.finding import VERDICT_IDS
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import SampleStore


def first(found):
    return found[0].id


def ids(found):
    return [finding.id for finding in found]


def queueing(running=30, *, m=300, cap_room=True, lines=80, queued=20):
    log = Log()
    for i in range(lines):
        log.decode(running + (i % 3), queued=queued, m=m)
        if i % 4 == 0:
            log.prefill(200, running=running)
    return log


def capturing(begin):
    return (GraphCapture("decode", Known(begin, None, LOG), Missing("no end"), Missing("no end")),)


SITUATIONS = {
    "kv-capacity": lambda: context(queueing(30)),
    "running-cap": lambda: context(queueing(30), start=boot(cap=32)),
    "reservation": lambda: context(queueing(30, m=60)),
    "retraction": lambda: context(queueing(32), events=tuple(event("retract", retracted=1.0, at=1010.0 + i) for i in range(8))),
    "startup-failure": lambda: context(start=boot(pool=None, state="failed"), events=(event("not-enough-memory", "Not enough memory"),)),
    "headroom": lambda: context(start=boot(), headroom_gib=0.8),
    "leftover-flags": lambda: context(start=boot(cpu_offload_gb=4)),
    "not-enough-data": lambda: context(start=boot()),
}


@pytest.mark.parametrize("verdict", SITUATIONS)
def test_each_situation_gets_its_verdict_first(verdict):
    assert first(diagnose(SITUATIONS[verdict]())) == verdict


@pytest.mark.parametrize("verdict", SITUATIONS)
def test_findings_are_complete(verdict):
    for finding in diagnose(SITUATIONS[verdict]()):
        assert finding.sentence.endswith(".")
        assert finding.evidence
        assert set(finding.fixes) <= set(OPTION_IDS)
        assert finding.id == "not-enough-data" or finding.fixes or finding.advice or finding.id in {"healthy", "server-stuck"}
        assert "nan" not in finding.sentence
        assert not re.search(r"\bNone\b", str([finding.sentence, finding.advice, finding.evidence]).replace("at=None", ""))


def test_order_names_every_verdict_once():
    assert sorted(ORDER) == sorted(VERDICT_IDS)
    assert set(registered()) <= set(ORDER)


def test_client_and_healthy():
    log = Log()
    for i in range(60):
        log.decode(4)
        if i % 10 == 0:
            log.prefill(100)
    assert first(diagnose(context(log))) == "client"
    # The same without a queue, yet near what fits: healthy, not the client's fault.
    log = Log()
    for _ in range(60):
        log.decode(20)
    assert first(diagnose(context(log, start=boot(cap=32)))) == "healthy"


def test_prefill_starves_decode():
    log = Log()
    log.decode(8)
    for i in range(400):
        log.prefill(8192, running=8)
        log.at += 0.1
        if i % 100 == 99:
            log.decode(8, tput=5)
    assert first(diagnose(context(log))) == "prefill"


@pytest.mark.parametrize(("seconds", "told"), [(4, False), (30, True)])
def test_a_burst_of_prompts_on_a_running_server_is_no_verdict_yet(seconds, told):
    log = Log()
    log.decode(8)
    for i in range(40):
        log.prefill(8192, running=8)
        log.at += seconds / 40
        if i % 8 == 7:
            log.decode(8, tput=5)
            log.at -= 1
    assert ("prefill" in ids(diagnose(context(log, finished=False)))) is told
    assert "prefill" in ids(diagnose(context(log)))


def test_a_low_hit_is_a_miss_only_where_the_cache_is_off():
    log = Log()
    log.decode(8)
    for i in range(400):
        log.prefill(8192, running=8)
        log.at += 0.1
        if i % 100 == 99:
            log.decode(8, tput=5)
    assert "prefix-miss" not in ids(diagnose(context(log)))
    assert "prefix-miss" in ids(diagnose(context(log, start=boot(disable_radix_cache=True))))


def test_one_long_prompt_holds_the_queue():
    log = Log()
    for _ in range(20):
        for _ in range(6):
            log.decode(12, m=200)
        for running in (9, 5, 3, 2):
            log.decode(running, queued=8, m=200)
        log.prefill(6000, running=0)
    found = diagnose(context(log))
    assert first(found) == "head-of-line"
    assert "6,000" in found[0].sentence


def test_a_full_window_pool_is_told_from_a_full_main_pool():
    log = Log()
    for _ in range(40):
        log.decode(10, queued=5, swa_usage=0.99)
    assert first(diagnose(context(log))) == "sub-pool"


def test_unevenly_loaded_ranks():
    store = SampleStore()
    busy = Log(store=store)
    idle = Log(store=store, dp=1)
    for i in range(60):
        busy.decode(30, queued=20, m=100)
        idle.at = busy.at
        if i % 3 == 0:
            idle.decode(2, m=100)
            idle.at = busy.at
    found = diagnose(context(busy))
    assert first(found) == "dp-imbalance"
    assert "DP0" in found[0].sentence


def test_a_full_rank_beside_one_with_room_is_unevenly_loaded_and_not_short_of_kv():
    store = SampleStore()
    busy, idle = Log(store=store), Log(store=store, dp=1)
    for i in range(60):
        busy.decode(32, queued=20)
        idle.at = busy.at
        if i % 3 == 0:
            idle.decode(2, queued=0)
            idle.at = busy.at
    found = diagnose(context(busy))
    assert first(found) == "dp-imbalance"
    assert "kv-capacity" not in ids(found)
    assert any(ruled.verdict == "kv-capacity" for ruled in found[0].ruled_out)


def test_a_single_retraction_does_not_outrank_a_proven_limit():
    found = diagnose(context(queueing(30, lines=200), events=(event("retract", retracted=1.0),)))
    assert first(found) == "kv-capacity"
    assert next(f for f in found if f.id == "retraction").confidence == "low"


def test_a_retraction_is_enough_by_itself():
    log = Log()
    log.decode(32)
    found = diagnose(context(log, events=(event("retract", retracted=1.0, at=1001.0),)))
    assert first(found) == "retraction"


def test_retractions_of_a_load_before_the_newest_do_not_count():
    """What runs now is judged by what happens to it."""
    log = queueing(30, lines=30)
    log.at += 30
    begun = log.at
    log.prefill(200, running=0)
    for _ in range(40):
        log.decode(30, queued=20)
    events = (event("retract", retracted=4.0, at=1010.0), event("retract", retracted=1.0, at=begun + 5))
    told = next(f for f in diagnose(context(log, events=events, finished=False)) if f.id == "retraction")
    assert told.since == begun + 5
    assert "1 request was put back" in told.sentence


def test_out_of_memory_after_the_start_comes_first():
    found = diagnose(context(queueing(30), events=(event("out-of-memory", "CUDA out of memory. Tried to allocate 2 GiB"),)))
    assert first(found) == "headroom"
    assert "kv-capacity" in ids(found)


def test_out_of_memory_of_a_log_without_its_start():
    found = diagnose(
        context(
            start=dataclasses.replace(boot(pool=None, state="starting"), ranks=()),
            events=(event("out-of-memory", "... forward_extend ... (CUDA out of memory)"),),
        )
    )
    assert first(found) == "headroom"


def test_the_fraction_is_too_low_and_the_value_that_works_is_told():
    found = diagnose(
        context(
            start=boot(pool=None, state="failed"),
            events=(event("not-enough-memory"),),
            pre_gib=94.0,
            post_gib=20.0,
            fraction=0.75,
        )
    )[0]
    assert found.id == "startup-failure"
    assert "0.7872" in found.sentence  # 1 - 20/94
    assert "--mem-fraction-static 0.81" in found.advice[0]
    assert found.fixes[0] == "raise-fraction"


def test_the_logs_own_minimum_wins():
    found = diagnose(
        context(start=boot(pool=None, state="failed"), events=(event("not-enough-memory", minimum_fraction=0.8714),), fraction=0.8)
    )[0]
    assert "0.8714" in found.sentence


def test_no_fraction_works_where_the_weights_fill_the_card():
    found = diagnose(
        context(start=boot(pool=None, state="failed"), events=(event("not-enough-memory"),), pre_gib=23.0, post_gib=0.5, fraction=0.9)
    )[0]
    assert "raise-fraction" not in found.fixes


def test_a_failed_capture_lowers_the_fraction():
    found = diagnose(
        context(
            start=boot(pool=None, state="failed", captures=capturing(1.2)),
            events=(event("exception", "Scheduler hit an exception"),),
            pre_gib=24.0,
            post_gib=10.0,
            fraction=0.9,
        )
    )[0]
    assert found.fixes[0] == "lower-fraction"
    assert "--mem-fraction-static 0.82" in found.advice[0]


def test_a_failed_capture_with_memory_left_is_not_memory():
    found = diagnose(
        context(
            start=boot(pool=None, state="failed", captures=capturing(45.0)),
            events=(event("exception", "Scheduler hit an exception"),),
            fraction=0.8,
        )
    )[0]
    assert found.id == "startup-failure"
    assert "lower-fraction" not in found.fixes


def test_host_pools_of_all_ranks_and_a_kill():
    pools = tuple(HostPool(32.0, None, LOG) for _ in range(8))
    found = diagnose(context(start=boot(pool=None, state="failed", host=pools), events=(event("killed", "OOMKilled (exit 137)"),)))
    assert {"startup-failure", "host-pressure"} <= set(ids(found))
    assert "8 × 32.00 GB = 256.00 GB" in next(f for f in found if f.id == "host-pressure").sentence


def test_silence_while_a_steady_batch_ran():
    log = Log()
    for _ in range(30):
        log.decode(10)
    assert first(diagnose(context(log, now=log.at + 30))) == "server-stuck"
    for running in (8, 5, 3, 1):
        log.decode(running)
    assert "server-stuck" not in ids(diagnose(context(log, now=log.at + 30)))


def test_a_watchdog_line_after_the_last_batch():
    log = queueing(30)
    found = diagnose(context(log, events=(event("watchdog", "watchdog timeout", line=5000),)))
    assert first(found) == "server-stuck"
    assert found[0].confidence == "high"


def test_graphs_off_is_the_other_axis():
    log = Log()
    for _ in range(80):
        log.decode(30, queued=20, graph=0.0)
    found = diagnose(context(log))
    assert ids(found)[:2] == ["kv-capacity", "cuda-graph"]
    assert found[1].axis == "step"
    assert "cuda-graph" not in ids(diagnose(context(log, start=boot(device="cpu"))))


def test_a_live_server_is_judged_after_three_ticks_and_15_seconds():
    assert first(diagnose(context(queueing(30, lines=8), finished=False))) == "not-enough-data"
    assert first(diagnose(context(queueing(30, lines=20), finished=False))) == "kv-capacity"
    assert diagnose(context(queueing(30, lines=8)))[0].confidence == "low"


def test_a_span_just_short_of_enough_is_not_rounded_up_to_it():
    log = queueing(30, lines=14)
    log.at += 0.8
    log.decode(30, queued=20)
    finding = diagnose(context(log, finished=False))[0]
    assert finding.id == "not-enough-data"
    assert "over 14 s" in finding.sentence
    assert "needs 15 seconds" in finding.sentence


def test_a_cap_that_nobody_told():
    log = Log()
    log.prefill(3810, running=2, seqs=30, queued=68, usage=0.0)
    log.decode(32, queued=68, m=2, accept_len=2.5)
    log.prefill(253, running=30, seqs=2, queued=66, usage=0.01)
    found = diagnose(context(log, start=boot(pool=None)))
    assert first(found) == "running-cap"
    assert found[0].confidence == "low"
    assert "32" in found[0].sentence
    assert "68" in found[0].sentence


@pytest.mark.parametrize("bad", [math.inf, 1e300, -1.0, 0.0])
def test_wild_numbers_give_a_verdict(bad):
    log = Log()
    for _ in range(30):
        log.decode(bad, queued=5, tput=bad or 1)
        log.prefill(bad)
    assert diagnose(context(log))


def test_every_finding_counts_the_context_it_was_given():
    found = diagnose(context(queueing(30), start=boot(max_total_tokens=10_000), cap_tokens=10_000, tokens_predicted=20_000))
    flags = next(f for f in found if f.id == "leftover-flags")
    assert "10,000" in flags.sentence
    assert first(found) == "kv-capacity"


def test_a_usage_that_no_line_tells_is_not_called_zero():
    log = Log()
    for _ in range(80):
        log.at += 1
        log._add(kind=1.0, running=4, queued=2)
    sentence = diagnose(context(log))[0].sentence
    assert "KV usage is not told" in sentence
    assert "0%" not in sentence.replace("100%", "")
