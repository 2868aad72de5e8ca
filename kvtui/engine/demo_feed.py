"""The feed of a simulated server: as any other feed, with the server's own controls beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from kvtui.diagnose.steady import HOLD_S
from kvtui.domain.boot import Scalar
from kvtui.domain.frame import Analysis, Frame
from kvtui.engine.feed import SourceFeed
from kvtui.ports import Clock, Source


class Simulated(Source, Protocol):
    """A source that plays a server."""

    speed: float

    @property
    def paused(self) -> bool:
        """True while time stands."""
        ...

    def pause(self) -> None:
        """Let time stand."""
        ...

    def resume(self) -> None:
        """Let time run."""
        ...

    def step(self, seconds: float) -> None:
        """Let some seconds go by."""
        ...

    def apply(self, changes: Mapping[str, Scalar]) -> dict[str, str]:
        """Restart with other settings; gives what was left out, with a sentence each."""
        ...


class SimulatedFeed(SourceFeed):
    """``ports.DemoFeed`` over a simulated server."""

    def __init__(self, source: Simulated, clock: Clock, analyse: Callable[[Frame], Analysis], *, hold_s: float = HOLD_S) -> None:
        super().__init__(source, clock, analyse, hold_s=hold_s)
        self._server = source

    @property
    def speed(self) -> float:
        """Seconds of the server a second."""
        return self._server.speed

    @property
    def paused(self) -> bool:
        """True while its time stands."""
        return self._server.paused

    def run_at(self, speed: float) -> None:
        """Another speed, 1 to 60."""
        self._server.speed = speed
        self._poked.set()

    def hold(self, *, still: bool) -> None:
        """Let its time stand, or run again."""
        if still:
            self._server.pause()
        else:
            self._server.resume()
        self._poked.set()

    def step(self, seconds: float) -> None:
        """Let some seconds go by."""
        self._server.step(seconds)
        self._poked.set()

    def apply(self, changes: Mapping[str, Scalar]) -> dict[str, str]:
        """Restart the server with other settings; see ``ports.DemoControl``."""
        left = self._server.apply(changes)
        self._poked.set()
        return left
