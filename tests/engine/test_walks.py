"""No verdict flaps on a server that runs: a figure that wanders around its threshold changes what is shown as often as it settles
on the other side, and no oftener; away from the threshold nothing changes at all."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnose"))
import itertools

from loads import boot, event
from machines import gpu, host, http, info, known, page
from walks import Load, Server, changes, shown, situations, walk

from kvtui.diagnose.registry import ORDER
from kvtui.domain.boot import Boot
from kvtui.domain.latency import Latency, Quantile, Spread
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Missing
from kvtui.domain.samples import DECODE, PREFILL
from kvtui.domain.units import GIB

SECONDS = 450
SEEDS = (1, 2)
MOST = 4
"""Changes in that time, however often the situation does: what comes and goes has to hold ever longer."""


@dataclass(frozen=True)
class Case:
    """One threshold: ``rule`` holds above or below it."""

    rule: str
    load: Load
    threshold: float
    spread: float
    away: tuple[float, float]
    """Two values, well below and well above."""
    first: tuple[str, str]
    """The primary verdicts there."""
    start: Boot | None = None
    logged: bool = True


def usage(server: Server, value: float) -> None:
    server.log.decode(30, queued=20, m=min(1.0, value) * 10_000 / 30)
    if server.rng.random() < 0.2:
        server.log.prefill(200, running=30)


def at_cap(server: Server, value: float) -> None:
    server.log.decode(min(64, round(64 * value)), queued=20, m=100)


def queue(server: Server, value: float) -> None:
    server.log.decode(30, queued=5 if server.rng.random() < value else 0)


def few(server: Server, value: float) -> None:
    server.log.decode(64 * value, m=50)


def prefill(server: Server, value: float) -> None:
    stalls = server.second % 5 > 0
    if stalls:
        server.log.prefill(2_000, running=20)
    # Four of five lines hold the prefill of all.
    share = min(0.95, 1.25 * value) if stalls else 0.0
    server.log.decode(20, m=150, tput=20 * 40 * (1 - share))


def retraction(server: Server, value: float) -> None:
    server.log.decode(32, queued=20)
    if server.rng.random() < value / 60:
        server.events.append(event("retract", at=server.log.at, line=server.log.line, retracted=1.0))


def imbalance(server: Server, value: float) -> None:
    server.log.decode(30, queued=5, m=300)
    server.other.line = server.log.line
    server.other.decode(max(0.5, 30 * (2 / max(1.0, value) - 1)), m=300)
    server.log.line = server.other.line


def window_pool(server: Server, value: float) -> None:
    server.log.decode(30, queued=10, m=150, swa_usage=min(1.0, value))


def graphs(server: Server, value: float) -> None:
    server.log.decode(40, m=50, graph=1.0 if server.rng.random() < value else 0.0)


def accepted(server: Server, value: float) -> None:
    server.log.decode(40, m=50, accept_len=max(1.0, value))


def many(server: Server, value: float) -> None:
    server.log.decode(value, m=50, accept_len=1.2)


def drained(server: Server, value: float) -> None:
    if server.second % 15 == 0:
        server.log.prefill(3_500, running=2, queued=5)
    server.log.decode(4 if server.rng.random() < value else 20, queued=5, m=100)


def grammar(server: Server, value: float) -> None:
    server.log.decode(10, m=50)
    server.page = page(server.time.at, running=10, queued=0, grammar_queued=round(value))


def preallocated(server: Server, value: float) -> None:
    server.log.decode(4, m=50, prealloc=round(value))


def clock(server: Server, value: float) -> None:
    server.log.decode(20, m=50)
    server.host = host()
    server.gpus = tuple(gpu(i, sm=1900 if i else round(1900 * value)) for i in range(4))


def occupied(server: Server, value: float) -> None:
    server.log.decode(20, m=50, occupancy=min(100.0, value))


def swapping(server: Server, value: float) -> None:
    server.log.decode(20, m=50)
    server.host = host(swap_in=known(value * 1e6), swap_out=known(0.0))


def free(server: Server, value: float) -> None:
    server.log.decode(20, m=50)
    server.host = host()
    server.gpus = (gpu(0, free=round(value * GIB)),)


def foreign(server: Server, value: float) -> None:
    server.log.decode(20, m=50)
    server.host = host()
    server.gpus = (gpu(0, processes=((100, 50 * GIB), (900, round(value * GIB)))),)


def hits(server: Server, value: float) -> None:
    if server.second % 5:
        cached = 2_000 * value
        server.log.prefill(2_000 - cached, cached=cached, running=20)
    server.log.decode(20, m=150, tput=20 * 40 * (0.2 if server.second % 5 else 1.0))


def silence(server: Server, value: float) -> None:
    """A log that now and then says nothing for some seconds, with requests running."""
    if server.second < server.quiet_until:
        return
    server.log.decode(20, queued=5, m=200)
    if server.second % 60 == 50:
        server.quiet_until = server.second + value


def prompts(server: Server, value: float) -> None:
    """Pages alone, of a release that counts prompt tokens and not the time they take."""
    row = {"at": server.time.at, "dp": 0.0, "pp": 0.0, "running": 20.0, "queued": 0.0, "usage": 0.3, "tokens": 3_000.0}
    server.rows = (
        {**row, "kind": PREFILL, "new_token": 4_000.0, "new_seq": 2.0},
        {**row, "kind": DECODE, "gen_tput": 800.0 + server.second % 7},
    )
    quantiles = (Quantile(0.0, 10.0, None),) * 4
    first, none = Spread(60, 60, value, *quantiles), Missing("not told")
    server.answer = http(
        scrape=page(server.time.at, running=20, queued=0), server_info=info(cap=64),
        rates=Rates(server.time.at, requests_s=known(1.0)),
        latency=Latency(server.time.at, ttft=first, itl=none, e2e=none, queue_time=Spread(60, 60, 0.0, *quantiles)),
    )  # fmt: skip


CASES = (
    Case("kv-capacity", usage, 0.9, 0.03, (0.6, 0.97), ("reservation", "kv-capacity")),
    Case("running-cap", at_cap, 0.9, 0.05, (0.7, 1.1), ("reservation", "running-cap")),
    Case("kv-capacity", queue, 0.5, 0.1, (0.3, 0.9), ("not-enough-data", "kv-capacity")),
    Case("healthy", queue, 0.1, 0.05, (0.02, 0.25), ("healthy", "not-enough-data")),
    Case("client", few, 0.5, 0.05, (0.3, 0.7), ("client", "healthy")),
    Case("prefill", prefill, 0.4, 0.05, (0.2, 0.7), ("client", "prefill")),
    Case("retraction", retraction, 1.0, 0.3, (0.0, 6.0), ("kv-capacity", "retraction")),
    Case("dp-imbalance", imbalance, 1.3, 0.05, (1.05, 1.7), ("kv-capacity", "dp-imbalance")),
    Case("sub-pool", window_pool, 0.95, 0.01, (0.7, 0.99), ("reservation", "sub-pool")),
    Case("cuda-graph", graphs, 0.5, 0.1, (0.1, 0.9), ("cuda-graph", "healthy"), start=boot(cuda_graph_max_bs=8)),
    Case("speculation", accepted, 1.4, 0.1, (1.1, 2.5), ("speculation", "healthy")),
    Case("speculation", many, 32, 2.0, (20, 44), ("client", "speculation")),
    Case("head-of-line", drained, 0.25, 0.05, (0.05, 0.5), ("reservation", "head-of-line")),
    Case("grammar", grammar, 2.0, 0.6, (0.0, 6.0), ("client", "grammar")),
    Case("pd-queue", preallocated, 3.0, 0.6, (0.4, 8.0), ("client", "pd-queue")),
    Case("clocks", clock, 0.9, 0.02, (0.7, 0.98), ("clocks", "client")),
    Case("cpu", occupied, 85.0, 3.0, (60.0, 98.0), ("cpu", "client")),
    Case("host-pressure", swapping, 1.0, 0.3, (0.0, 5.0), ("client", "host-pressure")),
    Case("headroom", free, 2.0, 0.2, (1.0, 8.0), ("client", "client")),
    Case("foreign-memory", foreign, 1.0, 0.2, (0.1, 4.0), ("client", "foreign-memory")),
    Case("prefix-miss", hits, 0.02, 0.005, (0.0, 0.2), ("prefix-miss", "prefill"), start=boot(disable_radix_cache=True)),
    Case("server-stuck", silence, 10.0, 2.0, (3.0, 14.0), ("reservation", "reservation")),
    Case("not-enough-data", prompts, 0.4, 0.05, (0.1, 0.8), ("client", "not-enough-data"), logged=False),
)
FIXED = {"startup-failure", "hardware-fault", "hicache", "leftover-flags", "measurement", "allreduce", "decode-bandwidth", "decode-compute"}
"""Rules that judge settings or events, that are no more than a banner of low confidence, or whose threshold stands beside another's."""
NAMES = [f"{case.rule}-{case.load.__name__}" for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
async def test_away_from_its_threshold_a_rule_holds_or_does_not(case):
    for value, verdict in zip(case.away, case.first, strict=True):
        told = await shown(case.load, walk(value, case.spread / 4, 3, 150), start=case.start, logged=case.logged)
        settled = told[-len(told) // 3 :]
        assert {look.primary for look in settled} == {verdict}
        assert len({(look.step, case.rule in look.all) for look in settled}) == 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
async def test_around_its_threshold_nothing_changes_oftener_than_the_situation(case, seed):
    values = walk(case.threshold, case.spread, seed, SECONDS)
    told = await shown(case.load, values, seed=seed, start=case.start, logged=case.logged)
    most = min(MOST, situations(values, case.threshold))
    assert changes([look.primary for look in told]) <= most
    assert changes([look.step for look in told]) <= most
    assert changes([case.rule in look.all for look in told]) <= most


def test_every_live_rule_walks():
    assert {case.rule for case in CASES} | FIXED == set(ORDER) - {"reservation"}


def test_the_walk_is_noisy_and_comes_back():
    values = walk(0.5, 0.1, 1, SECONDS)
    assert sum((one >= 0.5) != (other >= 0.5) for one, other in itertools.pairwise(values)) > 50
    assert 2 <= situations(values, 0.5) <= 8
