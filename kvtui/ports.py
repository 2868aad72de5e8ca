"""The boundary: what the engine asks of a source, of a clock and of a sink."""

from __future__ import annotations

from typing import Protocol

from kvtui.domain.frame import Analysis, Frame


class Clock(Protocol):
    """The only place time comes from."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a clock for tests returns at once."""
        ...


class Source(Protocol):
    """Something that can be read again and again."""

    name: str
    every: float
    """Seconds between two reads."""

    async def read(self) -> Frame:
        """What is known now. A dead source says so in ``Frame.sources``; it does not raise."""
        ...

    def choose(self, boot: int) -> None:
        """Show another boot from the next read on."""
        ...

    async def close(self) -> None:
        """Let go of files and processes."""
        ...


class Feed(Protocol):
    """What the screen asks of the engine; nothing here can reach a server."""

    async def next(self) -> Analysis:
        """The newest analysis, as soon as it differs from the last one given; waits until then."""
        ...

    def choose(self, boot: int) -> None:
        """Show another boot (index into ``Frame.boots``); ``next`` answers with it."""
        ...

    async def close(self) -> None:
        """End; ``next`` is not called again."""
        ...
