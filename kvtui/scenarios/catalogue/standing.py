"""What stands beside any load: healthy, too little data, banners, broken machines, failed starts."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from kvtui.scenarios.catalogue.parts import (
    KIMI_TIMES,
    LLAMA_TIMES,
    QWEN8_TIMES,
    QWEN32_TIMES,
    around,
    closed,
    kimi,
    llama,
    opened,
    pick,
    qwen8,
    qwen32,
)
from kvtui.scenarios.situation import Decor, GpuQuirk, Line, Machine, Scenario, Situation, Strength
from kvtui.twin import Demand, Lengths, Shape, TwinRequest


def _healthy(strength: Strength) -> Situation:
    return Situation(llama(), (closed(pick(strength, 130, 145, 160), 1_200, 1_800, max_new=2_048, think_s=0.3),), LLAMA_TIMES)


def _quiet(strength: Strength) -> Situation:
    return Situation(llama(), (opened(pick(strength, 1.2, 0.6, 0.3), 700, 300, max_new=512),), LLAMA_TIMES)


def _nearly(strength: Strength) -> Situation:
    return Situation(kimi(0.85), (closed(pick(strength, 36, 38, 41), 1_450, 1_150, max_new=1_500),), KIMI_TIMES)


def _below_cap(strength: Strength) -> Situation:
    clients = pick(strength, 40, 48, 56)
    return Situation(qwen8(max_running_requests=64), (closed(clients, 4_300, 900, max_new=1_024),), QWEN8_TIMES)


def _burst(strength: Strength) -> Situation:
    many = pick(strength, 50, 70, 90)
    requests = tuple(TwinRequest(20.0 + 0.05 * i, 300, 120, 1_024) for i in range(many))
    steady = tuple(TwinRequest(1.5 * i, 900, 500, 1_024) for i in range(200))
    return Situation(qwen32(), (Demand(requests=(*requests, *steady)),), QWEN32_TIMES)


def _cached(strength: Strength) -> Situation:
    shape = Shape(around(500), around(900, 0.4), Lengths(1_024), shared_prefix=pick(strength, 3_000, 5_000, 7_000), groups=1)
    return Situation(llama(), (Demand(shape=shape, clients=200, ramp_s=0.1),), LLAMA_TIMES)


def _just_started(strength: Strength) -> Situation:
    return Situation(llama(), (opened(2.0, 300, 40, max_new=64, count=pick(strength, 1, 2, 3)),), LLAMA_TIMES)


def _hicache(strength: Strength) -> Situation:
    demand = closed(pick(strength, 36, 36, 40), 2_600, pick(strength, 300, 220, 150), max_new=512, cached=pick(strength, 0.3, 0.4, 0.5))
    return Situation(llama(), (demand,), LLAMA_TIMES, Decor(cached_pool=0.985), Machine(told=True))


def _foreign(strength: Strength) -> Situation:
    gib = pick(strength, 2.0, 6.0, 12.0)
    box = replace(llama(), foreign=MappingProxyType({2: gib}))
    return Situation(box, (closed(60, 1_200, 600, max_new=1_024, cached=0.6),), LLAMA_TIMES, machine=Machine(told=True))


def _host(strength: Strength) -> Situation:
    machine = Machine(
        told=True, available_gib=pick(strength, 30.0, 14.0, 4.0), swap_mb_s=pick(strength, 5.0, 80.0, 300.0),
        stalled_pct=pick(strength, 6.0, 20.0, 60.0),
    )  # fmt: skip
    return Situation(llama(), (closed(60, 1_200, 600, max_new=1_024, cached=0.6),), LLAMA_TIMES, machine=machine)


def _fault(strength: Strength) -> Situation:
    text = pick(
        strength,
        "NVRM: Xid (PCI:0000:3d:00): 94, pid=4101, Contained: SM (0x1). RST: No, D-RST: No",
        "NVRM: Xid (PCI:0000:3d:00): 48, pid=4101, An uncorrectable double bit error (DBE) has been detected",
        "NVRM: Xid (PCI:0000:3d:00): 79, pid=4101, GPU has fallen off the bus.",
    )
    quirk = GpuQuirk(1, remap_failed=strength != "strong", lost=strength == "strong")
    machine = Machine(told=True, quirks=(quirk,))
    return Situation(
        llama(), (closed(60, 1_200, 600, max_new=1_024, cached=0.6),), LLAMA_TIMES, Decor(lines=(Line(90.0, text, bare=True),)), machine
    )


def _headroom(strength: Strength) -> Situation:
    """Mild and plain: little is left once it is up; strong: too little for the first long prompt."""
    fraction = pick(strength, 0.926, 0.932, 0.945)
    return Situation(kimi(fraction), (closed(60, 5_000, 700, max_new=1_024),), KIMI_TIMES)


def _measurement(strength: Strength) -> Situation:
    sparse = pick(strength, 400, 500, 800)
    return Situation(
        llama(decode_log_interval=sparse), (closed(60, 300, pick(strength, 14_000, 16_000, 20_000), max_new=30_000),), LLAMA_TIMES
    )


def _leftover(strength: Strength) -> Situation:
    box = pick(strength, llama(disable_overlap_schedule=True), llama(disable_radix_cache=True), llama(cpu_offload_gb=8))
    return Situation(box, (closed(pick(strength, 130, 145, 160), 1_200, 1_800, max_new=2_048, think_s=0.3),), LLAMA_TIMES)


def _stuck(strength: Strength) -> Situation:
    told = "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)"
    lines = (Line(165.0, told),) if strength == "strong" else ()
    decor = Decor(freeze_s=pick(strength, 140.0, 120.0, 100.0), lines=lines)
    return Situation(llama(max_running_requests=64), (closed(90, 1_200, 600, max_new=1_024),), LLAMA_TIMES, decor)


def _killed_running(strength: Strength) -> Situation:
    at = pick(strength, 140.0, 120.0, 90.0)
    crash = "Subprocess scheduler_0 (pid=4101) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
    lines = (Line(at, crash), Line(at + 0.2, "SIGQUIT received. signum=None, frame=None. It usually means one child failed."))
    return Situation(llama(), (closed(60, 1_200, 600, max_new=1_024, cached=0.6),), LLAMA_TIMES, Decor(refuse_s=at, lines=lines))


def _drained(strength: Strength) -> Situation:
    many = pick(strength, 40, 80, 120)
    requests = tuple(TwinRequest(0.5 * i, 900, 500, 512) for i in range(many))
    return Situation(llama(), (Demand(requests=requests),), LLAMA_TIMES)


def _too_low(strength: Strength) -> Situation:
    return Situation(kimi(pick(strength, 0.765, 0.74, 0.6)), (closed(10, 900, 500),), KIMI_TIMES)


def _capture(strength: Strength) -> Situation:
    return Situation(kimi(pick(strength, 0.956, 0.965, 0.97)), (closed(10, 900, 500),), KIMI_TIMES)


def _killed(strength: Strength) -> Situation:
    box = kimi(0.88, enable_hierarchical_cache=True, hicache_ratio=pick(strength, 6.0, 7.0, 9.0))
    return Situation(box, (closed(10, 900, 500),), KIMI_TIMES)


def _host_refused(strength: Strength) -> Situation:
    box = kimi(0.88, enable_hierarchical_cache=True, hicache_ratio=pick(strength, 50.0, 60.0, 80.0))
    return Situation(box, (closed(10, 900, 500),), KIMI_TIMES)


def _nccl(strength: Strength) -> Situation:
    return Situation(llama(release=pick(strength, "0.5.9", "0.5.12", "0.5.23")), (closed(10, 900, 500),), LLAMA_TIMES, Decor(crash="nccl"))


_NO_LIMIT: Final = ("kv-capacity", "running-cap", "reservation", "prefill", "retraction", "head-of-line")
_DOWN: Final = ("healthy", "client", "kv-capacity")

STANDING: Final = (
    Scenario(
        "healthy", "A healthy server", "Many run, none waits, the pool is two thirds full.",
        "concurrency", ("healthy",), _healthy, never=_NO_LIMIT, demo=True,
    ),
    Scenario(
        "quiet", "A quiet server", "Few requests come, each is served at once.",
        "concurrency", ("healthy", "client", "not-enough-data"), _quiet, never=_NO_LIMIT,
    ),
    Scenario(
        "nearly-full", "Nearly full, and nobody waits", "The pool is at two thirds and admits all that comes.",
        "concurrency", ("healthy",), _nearly, never=_NO_LIMIT,
    ),
    Scenario(
        "below-cap", "Close to the cap, and nobody waits", "Nearly as many run as may, and the queue is empty.",
        "concurrency", ("healthy",), _below_cap, never=_NO_LIMIT,
    ),
    Scenario(
        "burst", "A burst that was served", "For a while many waited; that was minutes ago.",
        "concurrency", ("healthy", "client", "not-enough-data"), _burst, never=("running-cap", "retraction"),
    ),
    Scenario(
        "long-cached", "Long prompts, all cached", "Prompts are long and hardly anything of them is computed.",
        "concurrency", ("healthy", "client"), _cached, never=("prefill", "prefix-miss"),
    ),
    Scenario(
        "just-started", "Just started", "The server is up and has hardly seen a request.",
        "concurrency", ("not-enough-data",), _just_started, never=(*_NO_LIMIT, "healthy", "client"), seconds=25.0,
    ),
    Scenario(
        "host-cache", "Reused prompts, no room to keep them", "Prompts come back, and their prefixes have been thrown out by then.",
        "banner", ("hicache",), _hicache, views=("metrics",),
    ),
    Scenario(
        "foreign", "Another process on one card", "Somebody's notebook holds memory of one GPU: the pool of all is smaller.",
        "banner", ("foreign-memory",), _foreign, demo=True,
    ),
    Scenario(
        "host-swaps", "The host swaps", "Everything stalls now and then: the host has no memory left.",
        "concurrency", ("host-pressure",), _host,
    ),
    Scenario(
        "xid", "A GPU reports memory errors", "The kernel's log names an Xid; the server still answers.",
        "concurrency", ("hardware-fault",), _fault,
    ),
    Scenario(
        "thin-headroom", "Little memory is left", "The fraction was raised until it just started.",
        "banner", ("headroom",), _headroom, views=("log",), demo=True,
    ),
    Scenario(
        "measured-wrong", "The counter says 0 tok/s", "Long answers: what counts finished requests shows nothing for minutes.",
        "banner", ("measurement",), _measurement, seconds=150.0,
    ),
    Scenario(
        "leftovers", "Flags of a test left on", "Somebody once looked for a bug, and the flags stayed.",
        "banner", ("leftover-flags",), _leftover, never=("client", *_NO_LIMIT), demo=True,
    ),
    Scenario(
        "stuck", "The scheduler is dead", "The port answers, the gauges stand still, requests wait.",
        "concurrency", ("server-stuck",), _stuck, never=_DOWN, demo=True,
    ),
    Scenario(
        "killed", "The server was killed", "It served, and from one second to the next nothing listens.",
        "concurrency", ("server-stuck", "host-pressure"), _killed_running, never=_DOWN,
    ),
    Scenario(
        "drained", "All is served, nothing more comes", "The last request has ended, and the log falls silent.",
        "concurrency", ("healthy", "client", "not-enough-data"), _drained, never=(*_NO_LIMIT, "server-stuck"),
    ),
    Scenario(
        "start-too-low", "It does not start: fraction too low", "Weights take more than the fraction allows.",
        "concurrency", ("startup-failure",), _too_low, views=("log",), never=_DOWN, seconds=5.0, demo=True,
    ),
    Scenario(
        "start-capture", "It does not start: out of memory", "The pool took what the graphs needed.",
        "concurrency", ("startup-failure",), _capture, views=("log",), never=_DOWN, seconds=5.0, demo=True,
    ),
    Scenario(
        "start-killed", "It does not start: killed", "The host ran out of memory while HiCache took its part.",
        "concurrency", ("startup-failure", "host-pressure"), _killed, views=("log",), never=_DOWN, seconds=5.0,
    ),
    Scenario(
        "start-host-memory", "It does not start: host memory", "HiCache asks for more than the host has free.",
        "concurrency", ("startup-failure", "host-pressure"), _host_refused, views=("log",), never=_DOWN, seconds=5.0,
    ),
    Scenario(
        "start-nccl", "It does not start: NCCL", "The GPUs do not reach each other.",
        "concurrency", ("startup-failure",), _nccl, views=("log",), never=_DOWN, seconds=5.0,
    ),
)  # fmt: skip
