"""A share of time found by a straight line through intervals that hold different amounts of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FEWEST: Final = 12
"""Intervals below which a line through them says nothing."""
_EXPLAINED: Final = 0.9
"""Share of the variance the line must explain: below it something else than the work set the time."""


_LARGEST: Final = 1e15
"""A line of a log may claim any number; beyond this the squares say nothing."""
_FAR: Final = 3.0
"""Times the 90th percentile of the work: an interval beyond it (a ramp, in which everything differs) would set the slope alone."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A line ``seconds = fixed + slope * work`` through intervals."""

    share: float
    """Share of the seconds that grows with the work, 0 to 1."""
    explained: float
    """Share of the variance of the seconds that the work explains, 0 to 1."""


def fit_share(work: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Least squares over intervals; ``work`` in any unit, ``seconds`` of the same length.

    None with fewer than 12 intervals, with work that does not vary, or where the line explains less than nine
    tenths of the variance: then the time came from something else and the line would tell a story.
    """
    if len(work) < _FEWEST or max(work) > _LARGEST or max(seconds) > _LARGEST:
        return None
    far = _FAR * sorted(work)[int(0.9 * len(work))]
    near = [(w, s) for w, s in zip(work, seconds, strict=True) if w <= far]
    work, seconds = [w for w, _ in near], [s for _, s in near]
    n = len(near)
    if n < _FEWEST:
        return None
    mean_work, mean_seconds = sum(work) / n, sum(seconds) / n
    spread = sum((w - mean_work) ** 2 for w in work)
    swing = sum((s - mean_seconds) ** 2 for s in seconds)
    if not spread > 0 or not swing > 0 or not mean_seconds > 0:
        return None
    both = sum((w - mean_work) * (s - mean_seconds) for w, s in zip(work, seconds, strict=True))
    explained = both * both / (spread * swing)
    if both <= 0 or not explained >= _EXPLAINED:
        return None
    return Fit(min(1.0, both / spread * mean_work / mean_seconds), explained)
