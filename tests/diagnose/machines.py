"""Builders: a machine and a server's answers, without a driver and without HTTP."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

from loads import Log, account, boot

from kvtui.diagnose.context import Context, context_of
from kvtui.domain.answers import InternalState, ServerInfo
from kvtui.domain.boot import Setting
from kvtui.domain.frame import Frame, SourceHealth
from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, GpuReading
from kvtui.domain.host import HostReading, ProcessUse
from kvtui.domain.http_reading import Failure, HttpReading
from kvtui.domain.motion import Motion
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.scrape import Counters, RankRow, Scrape
from kvtui.domain.units import GIB

HEALTH = SourceHealth("test", "test", "live")
NOT_READ = Missing("not read")
MOVING = Motion("moving")
PIDS = (100, 101)


def known(value, at=1000.0):
    return Known(value, at, Where("metric", "test"))


def gpu(index=0, *, free=10 * GIB, processes=((100, 60 * GIB),), busy=True, sm=1900, memory_mhz=2619, **fields) -> Gpu:
    clocks = fields.pop(
        "clocks", Clocks(sm=known(sm), sm_max=known(1980), memory=known(memory_mhz), memory_max=known(2619), reasons=known(()))
    )
    held = tuple(GpuProcess(pid, known(size)) for pid, size in processes)
    base = Gpu(
        index=index, name=known("H"), uuid=known(f"GPU-{index}"), bus_id=known(f"{index}"),
        memory=known(GpuMemory(80 * GIB, 80 * GIB - free, free)), processes=known(held),
        utilisation=known(100 if busy else 0), clocks=clocks, bus_width=known(5120), nvlinks=known(0),
    )  # fmt: skip
    return dataclasses.replace(base, **fields)


def host(**fields) -> HostReading:
    processes = fields.pop("processes", tuple(ProcessUse(pid, "sglang::scheduler", known(GIB), known(100.0), known(100.0)) for pid in PIDS))
    base = HostReading(HEALTH, 1000.0, memory_total=known(500 * GIB), memory_available=known(300 * GIB), processes=processes)
    return dataclasses.replace(base, **fields)


def page(at=1000.0, *, http_active=None, **row) -> Scrape:
    counters = Counters(http_active=known(http_active)) if http_active is not None else Counters()
    return Scrape(at, ranks=(RankRow("unified", 0, 0, 0, **{name: known(float(value)) for name, value in row.items()}),), counters=counters)


def info(at=1000.0, *, pool=10_000, cap=64, **settings) -> ServerInfo:
    named = {name: Setting(name, value, "server_info", Where("http", "/server_info")) for name, value in settings.items()}
    return ServerInfo(
        at,
        version=known("0.5.9"),
        settings=MappingProxyType(named),
        pool_tokens=known(pool),
        states=(InternalState(0, running_cap=known(cap)),),
    )


def http(*, now=1000.0, scrape=None, failures=None, motion=MOVING, **fields) -> HttpReading:
    base = HttpReading(
        now=now, target="http://127.0.0.1:30000", scrape=scrape or NOT_READ, rates=NOT_READ, latency=NOT_READ, server_info=NOT_READ,
        loads=NOT_READ, model=NOT_READ, motion=motion, health=(), failures=failures or {},
    )  # fmt: skip
    return dataclasses.replace(base, **fields)


def failure(kind="refused"):
    return Failure(kind, "nothing listens there")


def machine(
    log=None, *, gpus=(), host_reading=None, http_reading=None, events=(), start=None, logged=True, stale=False, now=None, **given
) -> Context:
    """A context of a log (or of metrics alone: ``logged=False``) with a machine beside it."""
    log = log or steady()
    boots = (boot() if start is None else start,) if logged else ()
    if boots and boots[0].final is not None:
        given = {"tokens_reported": boots[0].final.max_total_num_tokens, "running_cap": boots[0].final.max_running_requests, **given}
    gpu_reading = GpuReading(tuple(gpus), HEALTH, 1000.0, stale=stale) if gpus else None
    frame = Frame(
        now if now is not None else log.at,
        False,
        boots,
        -1,
        log.store.view(),
        tuple(events),
        http=http_reading,
        gpus=gpu_reading,
        host=host_reading,
    )
    return context_of(frame, account(**given))


def steady(running=20, *, lines=80, queued=0, pages=False, **more) -> Log:
    """A load that nothing limits."""
    log = Log()
    for _ in range(lines):
        log.decode(running, queued=queued, **more)
    if pages:
        line = log.store._columns[1]
        for i in range(len(line)):
            line[i] = float("nan")
    return log
