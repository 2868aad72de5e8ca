"""Rolling latencies from differences of histograms, each with the limits of the bucket it fell in.

A quantile out of buckets is an interpolation: SGLang's first bucket for the first token reaches from 0 to 0.1 s
(facts/observability.md 1.4), so a fast server's quantile is only known to lie below that.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from kvtui.domain.reading import Missing
from kvtui.domain.scrape import Histogram, Scrape

WINDOW_S: Final = 60.0
FEWEST: Final = 5
"""Observations below which no quantile is told."""
COARSE: Final = 1.5
"""A bucket whose upper limit is more than this times its lower one is coarse."""

Metric = Literal["ttft", "itl", "e2e", "queue_time"]
METRICS: Final[tuple[Metric, ...]] = ("ttft", "itl", "e2e", "queue_time")


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile. Seconds."""

    low: float
    """Lower limit of its bucket."""
    high: float
    """Upper limit; infinite in the last bucket."""
    value: float | None
    """Interpolated; None in the first bucket and in the last, where only the limits are known."""

    @property
    def coarse(self) -> bool:
        """True where the limits say more than the value."""
        return self.value is None or self.low <= 0 or self.high / self.low > COARSE


@dataclass(frozen=True, slots=True)
class Spread:
    """Latencies of one kind over one window. Seconds."""

    count: float
    """Observations in the window: requests, or tokens for the time between tokens."""
    span_s: float
    mean: float
    p10: Quantile
    p50: Quantile
    p90: Quantile
    p99: Quantile


@dataclass(frozen=True, slots=True)
class Latency:
    """What clients wait for, over the newest minute."""

    at: float
    ttft: Spread | Missing
    itl: Spread | Missing
    e2e: Spread | Missing
    queue_time: Spread | Missing


class _Mark(NamedTuple):
    at: float
    histogram: Histogram


class LatencyMeter:
    """Remembers the histograms of the last minute. Only the reader of a source feeds it."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window = window_s
        self._marks: dict[Metric, deque[_Mark]] = {name: deque() for name in METRICS}

    def push(self, scrape: Scrape) -> Latency:
        """The latencies up to this page; a page that is not whole is not compared."""
        found = {name: self._spread(name, scrape) for name in METRICS}
        return Latency(at=scrape.at, ttft=found["ttft"], itl=found["itl"], e2e=found["e2e"], queue_time=found["queue_time"])

    def forget(self) -> None:
        """The server went away: what comes next is another process."""
        for marks in self._marks.values():
            marks.clear()

    def _spread(self, name: Metric, scrape: Scrape) -> Spread | Missing:
        histogram: Histogram | Missing = getattr(scrape, name)
        marks = self._marks[name]
        if isinstance(histogram, Missing):
            return histogram
        if scrape.whole:
            self._keep(marks, _Mark(scrape.at, histogram))
        if len(marks) < 2:
            return Missing("a latency needs two pages")
        return spread(marks[0].histogram, marks[-1].histogram, marks[-1].at - marks[0].at)

    def _keep(self, marks: deque[_Mark], mark: _Mark) -> None:
        if marks:
            last = marks[-1]
            same = last.histogram.limits == mark.histogram.limits
            grown = same and all(new >= old for old, new in zip(last.histogram.counts, mark.histogram.counts, strict=True))
            if not grown or mark.at < last.at:
                # A restart, other buckets, or a clock set back: the old counts are of no use.
                marks.clear()
            elif mark.at == last.at:
                return
        marks.append(mark)
        while len(marks) > 2 and mark.at - marks[1].at >= self._window:
            marks.popleft()


def spread(before: Histogram, after: Histogram, span_s: float) -> Spread | Missing:
    """The latencies observed between two states of one histogram with the same limits."""
    counts, highest = [], 0.0
    for old, new in zip(before.counts, after.counts, strict=True):
        highest = max(highest, new - old)
        counts.append(highest)
    total = counts[-1] if counts else 0.0
    if total < FEWEST:
        return Missing(f"fewer than {FEWEST} observations in the last {span_s:.0f} s")
    p10, p50, p90, p99 = (quantile(after.limits, counts, share) for share in (0.1, 0.5, 0.9, 0.99))
    return Spread(total, span_s, max(0.0, after.total - before.total) / total, p10, p50, p90, p99)


def quantile(limits: tuple[float, ...], counts: list[float], share: float) -> Quantile:
    """The value that ``share`` of the observations do not exceed, by straight interpolation within its bucket.

    ``limits`` ascend, ``counts`` are cumulative and their last is above 0.
    """
    rank = share * counts[-1]
    index = next(i for i, count in enumerate(counts) if count >= rank and count > 0)
    low = limits[index - 1] if index else 0.0
    below = counts[index - 1] if index else 0.0
    high = limits[index]
    if index == 0 or math.isinf(high):
        return Quantile(min(low, high), high, 0.0 if high <= 0 else None)
    inside = counts[index] - below
    return Quantile(low, high, low + (high - low) * ((rank - below) / inside if inside else 1.0))
