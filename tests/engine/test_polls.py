"""How often everything is asked in a minute: while somebody looks, and while nobody does. Counts, not times."""

import asyncio
from dataclasses import replace

import pytest
from engine_fakes import Hand
from fakes.sglang_server import FakeSglang, StepClock
from reading import frame_of, log

from kvtui.domain.frame import SourceHealth
from kvtui.domain.gpu import GpuReading
from kvtui.domain.host import HostReading
from kvtui.engine.feed import SourceFeed
from kvtui.engine.follower import RESTING_S
from kvtui.engine.late import LateFeed
from kvtui.engine.live import BESIDE_LOG_S, LiveSource
from kvtui.sources.sglang import SglangSource


class Counted(Hand):
    def __init__(self, every, *readings):
        super().__init__(*readings)
        self.every = every
        self.reads = 0

    async def read(self):
        self.reads += 1
        return await super().read()


class Watched:
    """A server with everything that can be read of it."""

    def __init__(self, *, logged):
        self.clock = StepClock()
        self.fake = FakeSglang("0.5.23")
        health = SourceHealth("nvml", "this machine", "live", "", 0.0)
        frame = replace(frame_of(log("founding_a.log")), finished=False, sources=(SourceHealth("log", "server.log", "live"),))
        self.log = Counted(1.0, frame) if logged else None
        self.gpus = Counted(1.0, GpuReading((), health, 0.0))
        self.host = Counted(2.0, HostReading(replace(health, name="host"), 0.0))
        http = SglangSource("http://127.0.0.1:30000", self.clock, self.fake.transport())
        self.source = LiveSource(self.clock, log=self.log, http=http, gpus=self.gpus, host=self.host)

    async def __aenter__(self):
        # The first frame waits in real time; the clock is moved beside it.
        reading = asyncio.ensure_future(self.source.read())
        await self.clock.advance(10)
        await reading
        return self

    async def __aexit__(self, *_):
        await self.source.close()

    async def minute(self):
        """What was asked in a minute."""
        readers = {"gpus": self.gpus, "host": self.host, **({"log": self.log} if self.log is not None else {})}
        paths = ("/metrics", "/v1/loads", "/server_info", "/model_info")
        before = {name: reader.reads for name, reader in readers.items()} | {path: self.fake.count(path) for path in paths}
        await self.clock.advance(60)
        after = {name: reader.reads for name, reader in readers.items()} | {path: self.fake.count(path) for path in paths}
        return {name: after[name] - before[name] for name in before}


async def test_a_minute_while_somebody_looks():
    async with Watched(logged=True) as server:
        asked = await server.minute()
    assert asked == {
        "/metrics": pytest.approx(60 / BESIDE_LOG_S, abs=1),
        "/v1/loads": pytest.approx(12, abs=1),
        "/server_info": 1,
        "/model_info": 0,
        "gpus": pytest.approx(60, abs=1),
        "host": pytest.approx(30, abs=1),
        "log": pytest.approx(60, abs=1),
    }


async def test_a_minute_while_nobody_looks():
    async with Watched(logged=True) as server:
        server.source.look(closely=False)
        await server.clock.advance(RESTING_S)
        asked = await server.minute()
    assert asked["/server_info"] == 1
    assert all(asked[name] <= 13 for name in ("/metrics", "/v1/loads", "gpus", "host", "log")), asked
    assert all(asked[name] >= 11 for name in ("/metrics", "gpus", "host", "log")), asked


async def test_pages_that_are_the_history_are_never_left_out():
    async with Watched(logged=False) as server:
        server.source.look(closely=False)
        await server.clock.advance(RESTING_S)
        asked = await server.minute()
    assert asked["/metrics"] == pytest.approx(60, abs=1)
    assert asked["gpus"] <= 13


async def test_a_log_that_dies_meanwhile_makes_the_pages_the_history_again():
    async with Watched(logged=True) as server:
        server.source.look(closely=False)
        dead = replace(server.log.readings[0], sources=(SourceHealth("log", "server.log", "failed", "gone"),))
        server.log.readings[:] = [dead]
        await server.clock.advance(2 * RESTING_S)
        asked = await server.minute()
    assert asked["/metrics"] == pytest.approx(60, abs=1)


async def test_who_looks_again_sees_fresh_readings_at_once():
    async with Watched(logged=True) as server:
        server.source.look(closely=False)
        await server.clock.advance(RESTING_S + 1)
        before = server.gpus.reads, server.log.reads
        server.source.look(closely=True)
        await server.clock.settle()
        assert (server.gpus.reads, server.log.reads) == (before[0] + 1, before[1] + 1)
        asked = await server.minute()
    assert asked["/metrics"] == pytest.approx(60 / BESIDE_LOG_S, abs=1)


class Pause(StepClock):
    """Notes how long a feed means to wait."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.begun = asyncio.Event()

    async def sleep(self, seconds):
        self.asked.append(seconds)
        self.begun.set()
        await super().sleep(seconds)


async def test_a_feed_that_nobody_looks_at_waits_longer_and_answers_at_once_who_does():
    clock = Pause()
    source = Looked(replace(frame_of(log("founding_a.log")), finished=False))
    feed = SourceFeed(source, clock, lambda frame: frame)
    feed._steadied = lambda analysis: analysis
    late = LateFeed(lambda: feed)
    late.look(closely=False)
    await late.next()
    assert source.closely is False
    waiting = asyncio.ensure_future(late.next())
    await clock.begun.wait()
    assert clock.asked == [RESTING_S]
    source.readings = [replace(source.readings[0], notes=("something new",))]
    late.look(closely=True)
    assert (await waiting).notes == ("something new",)
    assert source.closely is True


class Looked(Hand):
    def look(self, *, closely):
        self.closely = closely
