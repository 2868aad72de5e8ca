"""Has the load turned into another? A cheap look at the newest sample, so that only then the rules are asked more often."""

from __future__ import annotations

from typing import Final

from kvtui.domain.frame import Frame

LASTS_S: Final = 10.0
"""Seconds after which a different load is no passing moment."""
_RUNNING: Final = 0.35
"""Difference of what runs, as a share of the larger, from which on it is another load; of usage, in shares of the pool, ``_USAGE``."""
_USAGE: Final = 0.25

Figures = tuple[bool, float, float]
"""Whether requests wait, how many run, the share of the pool in use."""


class Turns:
    """Compares the newest sample with the load that was last known. Called from one thread at a time."""

    def __init__(self) -> None:
        self._known: Figures | None = None
        self._since: float | None = None

    def turned(self, frame: Frame) -> bool:
        """True once for each change of the load that has lasted ``LASTS_S``."""
        figures, now = _figures(frame), frame.now
        if figures is None or now is None:
            return False
        self._known = figures if self._known is None else self._known
        if _alike(figures, self._known):
            self._since = None
        elif self._since is None or now < self._since:
            self._since = now
        elif now - self._since >= LASTS_S:
            self._known, self._since = figures, None
            return True
        return False


def _figures(frame: Frame) -> Figures | None:
    queued, running, usage = (frame.timeline.last(name) for name in ("queued", "running", "usage"))
    if queued is None or running is None or usage is None:
        return None
    return queued[0] > 0, running[0], usage[0]


def _alike(one: Figures, other: Figures) -> bool:
    running = abs(one[1] - other[1]) <= _RUNNING * max(one[1], other[1])
    return one[0] == other[0] and running and abs(one[2] - other[2]) <= _USAGE
