"""Sources made by hand: each gives what a test puts in."""

import asyncio

from kvtui.domain.answers import ServerInfo
from kvtui.domain.boot import Setting
from kvtui.domain.frame import Frame
from kvtui.domain.health import SourceHealth
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.motion import Motion
from kvtui.domain.reading import Known, Missing, Where

NONE = Missing("not asked")
HTTP = Where("http", "/server_info")


class Clock:
    def __init__(self, now=1_000_000.0):
        self.at = now
        self.woken = asyncio.Event()

    def now(self):
        return self.at

    async def sleep(self, seconds):
        await self.woken.wait()
        self.woken.clear()

    def tick(self, seconds):
        self.at += seconds
        self.woken.set()


class Hand:
    name = "hand"
    every = 1.0

    def __init__(self, *readings):
        self.readings = list(readings)
        self.chosen = []
        self.closed = False

    async def read(self):
        if not self.readings:
            await asyncio.Event().wait()
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]

    def choose(self, boot):
        self.chosen.append(boot)

    def stop(self):
        self.stopped = True

    async def close(self):
        self.closed = True


class Hanging(Hand):
    async def read(self):
        await asyncio.Event().wait()


def http(now=1_000_000.0, pool=116_171, rows=(), settings=None, state="live", reason=""):
    info = ServerInfo(
        at=now,
        version=Known("0.5.9", now, HTTP),
        settings={name: Setting(name, value, "server_args", HTTP) for name, value in (settings or {"mem_fraction_static": 0.85}).items()},
        pool_tokens=Known(pool, now, HTTP),
    )
    return HttpReading(
        now=now, target="http://127.0.0.1:30000", scrape=NONE, rates=NONE, latency=NONE, server_info=info, loads=NONE, model=NONE, motion=Motion(),
        health=(SourceHealth("metrics", "http://127.0.0.1:30000", state, reason),), failures={}, rows=tuple(rows),
    )  # fmt: skip


def dead_http(reason="refused"):
    return HttpReading(
        now=1_000_000.0, target="http://127.0.0.1:30000", scrape=NONE, rates=NONE, latency=NONE, server_info=NONE, loads=NONE, model=NONE,
        motion=Motion(), health=(SourceHealth("metrics", "http://127.0.0.1:30000", "failed", reason),), failures={},
    )  # fmt: skip


EMPTY = Frame(now=None, finished=False, sources=(SourceHealth("log", "x", "failed", "gone"),))
