"""A live server whose figures wander: each second new batch lines, answers and readings, read through the live path.

``walk`` draws the figure, a ``Load`` says what the server shows at it, and ``shown`` plays that through ``LiveSource``,
``analyse`` and ``SourceFeed`` on a clock that nobody waits for.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "diagnose"))
import itertools

from loads import Log, boot
from machines import HEALTH, http

from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.frame import Frame, ReadCounts
from kvtui.domain.gpu import Gpu, GpuReading
from kvtui.domain.health import SourceHealth
from kvtui.domain.host import HostReading
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.scrape import Scrape
from kvtui.engine.analyse import analyse
from kvtui.engine.feed import SourceFeed
from kvtui.engine.live import LiveSource

HOLD_S = 15
"""Seconds for which a situation has to last to be one (facts/diagnoses.md 0.5)."""
EVERY_S = 5
"""Seconds between two looks."""


class Time:
    """A clock that stands until it is moved."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.at + seconds, woken))
        await woken

    async def move(self, seconds: float) -> None:
        self.at += seconds
        due = [woken for until, woken in self._sleepers if until <= self.at]
        self._sleepers = [entry for entry in self._sleepers if entry[0] > self.at]
        for woken in due:
            if not woken.done():
                woken.set_result(None)
        for _ in range(4):
            await asyncio.sleep(0)


class AtOnce(Time):
    """The same time for whoever must not wait."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def now(self) -> float:
        return self._time.at

    async def sleep(self, seconds: float) -> None:
        return


class Part:
    """One source of the server; gives what the server says now."""

    name = "part"
    every = 1.0

    def __init__(self, say: Callable[[], object]) -> None:
        self._say = say

    async def read(self):
        return self._say()

    def choose(self, boot: int) -> None:
        raise AssertionError(boot)

    def rest(self, least: float) -> None:
        return

    def stop(self) -> None:
        return

    async def close(self) -> None:
        return


@dataclass
class Server:
    """What a load writes into: lines, events, pages and readings as of the newest second."""

    rng: random.Random
    start: Boot = field(default_factory=boot)
    time: Time = field(default_factory=Time)
    events: list[Event] = field(default_factory=list)
    page: Scrape | None = None
    answer: HttpReading | None = None
    gpus: tuple[Gpu, ...] = ()
    host: HostReading | None = None
    second: int = 0
    quiet_until: float = 0.0
    """Seconds until which the log says nothing."""
    looks: int = 0
    logged: bool = True
    rows: tuple[dict[str, float], ...] = ()

    def __post_init__(self) -> None:
        self.log = Log(at=self.time.at)
        self.other = Log(at=self.time.at, dp=1, store=self.log.store)

    def frame(self) -> Frame:
        self.looks += 1
        return Frame(
            self.time.at, False, (self.start,), -1, self.log.store.view(), tuple(self.events[-50:]),
            sources=(SourceHealth("log", "x", "live", ""),), counts=ReadCounts(lines=self.looks),
        )  # fmt: skip

    def http(self) -> HttpReading:
        rows, self.rows = self.rows, ()
        base = self.answer or http(scrape=self.page)
        page = replace(base.scrape, at=self.time.at) if isinstance(base.scrape, Scrape) else base.scrape
        return replace(base, now=self.time.at, scrape=page, rows=rows)

    def cards(self) -> GpuReading:
        return GpuReading(self.gpus, HEALTH, self.time.at)

    def source(self) -> LiveSource:
        """The live source over all that the server shows by now."""
        return LiveSource(
            self.time,
            log=Part(self.frame) if self.logged else None,
            http=Part(self.http) if self.page is not None or self.answer is not None or not self.logged else None,
            gpus=Part(self.cards) if self.gpus else None,
            host=Part(lambda: replace(self.host, at=self.time.at)) if self.host is not None else None,
        )


Load = Callable[[Server, float], None]


def walk(middle: float, spread: float, seed: int, seconds: int) -> list[float]:
    """A figure that wanders around ``middle`` and comes back, with noise on each value. Deterministic."""
    rng = random.Random(seed)  # noqa: S311
    value, found = middle, []
    for _ in range(seconds):
        value += rng.gauss(0, spread / 8) + (middle - value) * 0.02
        found.append(max(0.0, rng.gauss(value, spread)))
    return found


def situations(values: list[float], threshold: float) -> int:
    """How often the situation changes: the mean over ``HOLD_S`` is on the other side of the threshold for ``HOLD_S``."""
    means = [sum(values[i - HOLD_S : i]) / HOLD_S for i in range(HOLD_S, len(values) + 1)]
    side, other, changed = means[0] >= threshold, 0, 0
    for mean in means:
        other = other + 1 if (mean >= threshold) != side else 0
        if other >= HOLD_S:
            side, other, changed = not side, 0, changed + 1
    return changed


@dataclass(frozen=True)
class Shown:
    """What stood on the strip at one look."""

    primary: str
    step: str
    all: frozenset[str]


async def shown(load: Load, values: list[float], *, seed: int = 0, start: Boot | None = None, logged: bool = True) -> list[Shown]:
    """The verdicts at each look, from the twentieth second on."""
    server = Server(random.Random(seed), boot() if start is None else start, logged=logged)  # noqa: S311
    found, feed, source = [], None, None
    for server.second, value in enumerate(values):
        server.log.at = server.other.at = server.time.at
        load(server, value)
        if source is None:
            source = server.source()
            feed = SourceFeed(source, AtOnce(server.time), analyse)
            await source.read()
        await server.time.move(1)
        if server.second >= 20 and server.second % EVERY_S == 0:
            told = (await feed.next()).findings
            step = next((finding.id for finding in told if finding.axis == "step"), "-")
            found.append(Shown(told[0].id, step, frozenset(finding.id for finding in told)))
    await source.close()
    return found


def changes(told: list[object]) -> int:
    """How often two neighbours differ."""
    return sum(one != other for one, other in itertools.pairwise(told))
