"""One source read again and again at its own pace, beside all others."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

from kvtui.domain.frame import Frame
from kvtui.ports import Clock

T = TypeVar("T")

RESTING_S: Final = 5.0
"""Seconds between two readings while nobody looks."""
RETRY_S: Final = 5.0
"""Seconds until a source is read again in which kvtui itself failed."""
_CANCELS: Final = 20
_CANCEL_S: Final = 0.02


class Readable(Protocol[T]):  # type: ignore[misc] # read gives T and nothing takes it; a covariant name would hide T's use in Follower
    """What a follower needs of a source."""

    every: float

    async def read(self) -> T:
        """What is known now; never raises for what the outside does."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


class Resting(Readable[T], Protocol[T]):  # type: ignore[misc] # as above
    """A source that asks a server by itself, and can be told to ask less often."""

    def rest(self, least: float) -> None:
        """Seconds between two questions at least; 0: its own pace."""
        ...


class LogLike(Protocol):
    """A log as a source of frames."""

    name: str
    every: float

    async def read(self) -> Frame:
        """What the log says now."""
        ...

    def choose(self, boot: int) -> None:
        """Show another boot."""
        ...

    def stop(self) -> None:
        """Begin to let go; ``close`` waits for it."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


class Follower(Generic[T]):
    """Keeps the newest reading. A source that takes long delays nobody: its last reading stays, and grows old."""

    def __init__(self, source: Readable[T], clock: Clock, news: asyncio.Event, took: Callable[[T], None] | None = None) -> None:
        self.source = source
        self.newest: T | None = None
        self.broken = ""
        """What went wrong in kvtui itself while it read; empty: nothing."""
        self._least = 0.0
        self._clock, self._news, self._took = clock, news, took
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        # Not "for ever": a cancellation may be lost, see ``ended``.
        while self._task is asyncio.current_task():
            try:
                reading = await self.source.read()
                self.newest = reading
                if self._took is not None:
                    self._took(reading)
                self.broken = ""
            except Exception as error:  # noqa: BLE001 (whatever it is: the other sources go on, and this one is tried again)
                self.broken = _told(error)
            self._news.set()
            await self._clock.sleep(max(self.source.every, self._least, RETRY_S if self.broken else 0.0))

    def poke(self) -> None:
        """Read again now; used when what is wanted of the source has changed."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self.start()

    def look(self, *, closely: bool) -> None:
        """Read at the source's own pace, now first; else no more often than each ``RESTING_S``."""
        rested, self._least = self._least, 0.0 if closely else RESTING_S
        if rested and closely:
            self.poke()

    async def close(self) -> None:
        """End the task and the source."""
        task, self._task = self._task, None
        if task is not None:
            await ended(task)
        await self.source.close()


def _told(error: Exception) -> str:
    """The kind of an error and its place; what it says may hold what was read."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"an error of kvtui's own: {type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}"


async def ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks until they have ended, for 0.4 s at most.

    ``wait_for`` of Python 3.10 and 3.11 loses a cancellation that meets the result, so it is said again.
    """
    pending = set(tasks)
    for _ in range(_CANCELS):
        for task in pending:
            task.cancel()
        if pending:
            _, pending = await asyncio.wait(pending, timeout=_CANCEL_S)


async def within(seconds: float, waited: Awaitable[object]) -> None:
    """Wait, but no longer than that."""
    try:
        await asyncio.wait_for(waited, seconds)
    except asyncio.TimeoutError:
        return
