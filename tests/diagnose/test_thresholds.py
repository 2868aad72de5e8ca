"""Each threshold that a person may move reaches its rule, and nothing else changes with it."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log, account, boot, context, event
from machines import gpu, host, http, machine, page

from kvtui.diagnose.context import context_of
from kvtui.diagnose.earlier import looked_back
from kvtui.diagnose.registry import diagnose
from kvtui.diagnose.steady import Steady, advance
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Frame
from kvtui.domain.samples import SampleStore
from kvtui.domain.settings import Thresholds
from kvtui.domain.units import GIB
from kvtui.engine.analyse import analyse


def judged(made, **moved):
    return {finding.id: finding for finding in diagnose(dataclasses.replace(made, thresholds=Thresholds(**moved)))}


def queueing(*, queued_every=1, queued=20, m=300, lines=80):
    log = Log()
    for i in range(lines):
        log.decode(30 + i % 3, queued=queued if i % queued_every == 0 else 0, m=m)
    return log


def test_usage_full():
    # A bit over half of the pool in use, so that the free half could be reservation.
    half = context(queueing(m=180))
    assert "kv-capacity" not in judged(half)
    assert "kv-capacity" in judged(half, usage_full=0.5)
    idle = context(queueing(queued=0))
    assert judged(idle)["healthy"].title == "Nothing limits this server yet"
    assert judged(idle, usage_full=0.99)["healthy"].title == "Nothing limits this server"


def test_queue_share():
    third = context(queueing(queued_every=3))
    assert "kv-capacity" not in judged(third)
    assert "kv-capacity" in judged(third, queue_share=0.3)


def prefilling():
    log = Log()
    for _ in range(40):
        log.at += 1.0
        log.prefill(2_000, running=8, queued=0)
        log.decode(8, tput=100)
        log.decode(8, tput=320)
    return context(log)


def test_prefill_share():
    made = prefilling()
    share = made.rank.prefill_share.value
    assert 0.1 < share < 0.95
    assert "prefill" in judged(made, prefill_share=share - 0.01)
    assert "prefill" not in judged(made, prefill_share=min(0.95, share * 1.7))


def test_retractions_per_min():
    events = tuple(event("retract", retracted=1.0, at=1010.0 + 10 * i) for i in range(6))
    made = context(queueing(), events=events)
    assert judged(made)["retraction"].confidence == "high"
    assert judged(made, retractions_per_min=50)["retraction"].confidence == "low"


def test_dp_ratio():
    store = SampleStore()
    busy, idle = Log(store=store), Log(store=store, dp=1)
    for i in range(60):
        busy.decode(32, queued=20)
        idle.at = busy.at
        if i % 3 == 0:
            idle.decode(2, queued=0)
            idle.at = busy.at
    made = context(busy)
    assert "1.3 times" in judged(made)["dp-imbalance"].verify[0]
    assert "1.1 times" in judged(made, dp_ratio=1.1)["dp-imbalance"].verify[0]
    assert "dp-imbalance" not in judged(made, dp_ratio=5)


def test_foreign_memory_gib():
    made = machine(gpus=(gpu(0, processes=((100, 60 * GIB), (999, 4 * GIB))),), host_reading=host(), fraction=0.88)
    assert "foreign-memory" in judged(made)
    assert "foreign-memory" not in judged(made, foreign_memory_gib=5)


def test_cache_hit_low():
    log = Log()
    for _ in range(40):
        log.at += 1.0
        log.prefill(2_000, running=8, queued=4, cached=600)
        log.decode(8, tput=100)
        log.decode(8, tput=320)
    full = http(scrape=page(kv_available_tokens=10, kv_evictable_tokens=9_000, pool_tokens=10_000, usage=0.3))
    made = machine(log, http_reading=full)
    assert made.workload.cached_share.value == pytest.approx(600 / 2_600)
    assert "hicache" in judged(made)
    assert "hicache" not in judged(made, cache_hit_low=0.5)


def test_persistence():
    banner = Finding("headroom", "t", "s.", axis="banner", confidence="high", evidence=())
    cap, kv = (Finding(name, "t", "s.", axis="concurrency", confidence="high", evidence=()) for name in ("running-cap", "kv-capacity"))

    def shown_after(seconds, **how):
        state = advance(Steady(), (kv,), 0)
        for at in range(1, seconds + 1):
            state = advance(state, (cap, banner), at, **how)
        return {finding.id for finding in state.shown}

    assert shown_after(14) == {"kv-capacity"}
    assert shown_after(17) >= {"running-cap", "headroom"}
    assert shown_after(40, hold_s=60) == {"kv-capacity"}
    assert shown_after(62, hold_s=60) >= {"running-cap", "headroom"}


def test_an_analysis_is_made_with_its_thresholds():
    log = queueing(m=180)
    frame = Frame(log.at, True, (boot(),), -1, log.store.view())
    usual, moved = (
        {finding.id for finding in analyse(frame, thresholds=told).findings} for told in (Thresholds(), Thresholds(queue_share=1.0))
    )
    assert usual == moved
    rare = queueing(queued_every=3)
    frame = Frame(rare.at, True, (boot(),), -1, rare.store.view())
    usual, moved = (
        {finding.id for finding in analyse(frame, thresholds=told).findings} for told in (Thresholds(), Thresholds(queue_share=0.3))
    )
    assert usual != moved


def test_an_analysis_keeps_its_thresholds_for_the_time_before():
    moved = Thresholds(usage_full=0.7)
    log = queueing()
    frame = Frame(log.at, True, (boot(),), -1, log.store.view())
    analysis = analyse(frame, thresholds=moved)
    assert analysis.thresholds == moved
    assert looked_back(analysis).thresholds == moved
    assert context_of(frame, account(tokens_reported=10_000), thresholds=moved).thresholds == moved
