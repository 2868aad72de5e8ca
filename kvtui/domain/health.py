"""How a source is doing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

SourceState = Literal["live", "ended", "waiting", "failed"]


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """How one source is doing."""

    name: str
    """``log``, ``metrics``, ``nvml``."""
    target: str
    """What it reads, secrets removed."""
    state: SourceState
    reason: str = ""
    """Why it failed or waits; one sentence."""
    since: float | None = None
    """Since when it is in that state, on the wall clock."""
    last_at: float | None = None
    """Stamp of its newest value, on the source's clock."""
    simulated: bool = False
    """True: no server is behind it, and the screen must say so."""

    def shifted(self, seconds: float, *, both: bool = True) -> SourceHealth:
        """On another clock; ``both`` False: ``last_at`` is on it already."""
        if not seconds:
            return self
        since = None if self.since is None else self.since + seconds
        last = self.last_at + seconds if both and self.last_at is not None else self.last_at
        return replace(self, since=since, last_at=last)
