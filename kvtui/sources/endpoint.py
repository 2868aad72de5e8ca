"""How one endpoint is doing, and when it may be asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.domain.frame import SourceHealth
from kvtui.domain.http_reading import Failure, FailureKind

LONGEST_S: Final = 30.0
"""Longest pause of an endpoint that fails and costs the server nothing."""
UNREACHED: Final[frozenset[FailureKind]] = frozenset(("refused", "unreachable", "tls"))
"""Failures that never reached the server."""


@dataclass(slots=True)
class Endpoint:
    """State of one endpoint; ``every`` is seconds between two answers that are wanted."""

    name: str
    every: float
    costly: bool = False
    """True: asking disturbs the server, so that a failure is no reason to ask sooner."""
    failure: Failure | None = None
    tried: bool = False
    since: float | None = None
    last_at: float | None = None
    fails: int = 0

    def succeeded(self, at: float) -> None:
        """An answer was read at ``at``."""
        if not self.tried or self.failure is not None:
            self.since = at
        self.tried, self.failure, self.fails, self.last_at = True, None, 0, at

    def failed(self, failure: Failure, at: float) -> None:
        """Nothing could be read at ``at``."""
        if not self.tried or self.failure is None or self.failure.kind != failure.kind:
            self.since = at
        self.tried, self.failure = True, failure
        self.fails += 1

    @property
    def pause(self) -> float:
        """Seconds from the last request to the next: 1, 2, 4 ... 30 while it fails."""
        if self.failure is None:
            return self.every
        backoff: float = min(LONGEST_S, 2.0 ** min(self.fails - 1, 10))
        reached = self.failure.kind not in UNREACHED
        return max(backoff, self.every) if self.costly and reached else max(1.0, backoff)

    def health(self, target: str, reason: str | None = None) -> SourceHealth:
        """As a frame shows it; ``reason`` instead of the failure's own."""
        if self.failure is not None:
            return SourceHealth(self.name, target, "failed", self.failure.reason if reason is None else reason, self.since, self.last_at)
        if not self.tried:
            return SourceHealth(self.name, target, "waiting", "not asked yet" if reason is None else reason)
        return SourceHealth(self.name, target, "live", reason or "", self.since, self.last_at)
