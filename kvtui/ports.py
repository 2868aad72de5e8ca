"""The boundary: what the engine asks of a source, of a clock and of a sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtui.domain.boot import Scalar
    from kvtui.domain.frame import Analysis, Frame
    from kvtui.domain.saved_plan import SavedPlan


class RefusedError(Exception):
    """What was asked for cannot be shown at all; one sentence for the user."""


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

    def look(self, *, closely: bool) -> None:
        """Nobody looks, or somebody does again: meanwhile what is lost by no delay may be read less often."""
        ...

    async def close(self) -> None:
        """Let go of files and processes."""
        ...


class Feed(Protocol):
    """What the screen asks of the engine; nothing here can reach a server."""

    async def next(self) -> Analysis:
        """The newest analysis, as soon as it differs from the last one given; waits until then.

        Raises RefusedError where there is nothing that could ever be shown.
        """
        ...

    def choose(self, boot: int) -> None:
        """Show another boot (index into ``Frame.boots``); ``next`` answers with it."""
        ...

    def look(self, *, closely: bool) -> None:
        """False: nobody looks, so that analyses may come more slowly; True: the next comes at once."""
        ...

    async def close(self) -> None:
        """End; ``next`` is not called again."""
        ...


class PlanShelf(Protocol):
    """Where plans are kept from one start of a server to the next."""

    def save(self, plan: SavedPlan) -> str:
        """Keep a plan; gives where, in words. Raises an exception with one sentence where that fails."""
        ...

    def load(self) -> tuple[SavedPlan, ...]:
        """What was kept, oldest first."""
        ...


class DemoControl(Protocol):
    """What can be done with a simulated server, and with no other."""

    @property
    def speed(self) -> float:
        """Seconds of the server a second."""
        ...

    @property
    def paused(self) -> bool:
        """True while its time stands."""
        ...

    def run_at(self, speed: float) -> None:
        """Another speed, 1 to 60."""
        ...

    def hold(self, *, still: bool) -> None:
        """Let its time stand, or run again."""
        ...

    def step(self, seconds: float) -> None:
        """Let some seconds go by, also while time stands."""
        ...

    def apply(self, changes: Mapping[str, Scalar]) -> dict[str, str]:
        """Restart it with other settings; gives those that it cannot play, with a sentence each.

        Raises ValueError, with one sentence, where it can play none of them.
        """
        ...


class DemoFeed(Feed, DemoControl, Protocol):
    """A feed whose server is simulated."""
