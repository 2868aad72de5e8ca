"""Where the newest regime of a load begins: the last lasting step of queue, running, usage or pace in the newest window.

A window that holds two regimes gives figures of neither. A step counts where it is large, where the noise on both sides is
small beside it, and where what follows stays (neither a ramp nor a drain is a regime). Bursts, a sawtooth of retractions
and ramps pass as one regime.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.diagnose.regime_bins import Bins, Signal, bins_of, mean
from kvtui.domain.samples import Timeline

SHORTEST_S: Final = 15.0
"""Seconds that a regime lasts at least (facts/diagnoses.md 0.5)."""
SHORTEST_TICKS: Final = 3
RELIEF_S: Final = 60.0
"""Seconds after which a load that has become lighter counts, on a server that runs: shorter, and it is a lull."""
FINISHED_RELIEF_S: Final = 120.0
"""As ``RELIEF_S``, in a finished log, which more often ends because the test did."""
_CLEAR: Final = 2.5
"""Size of a step over the spread on its two sides."""
_STAYS: Final = 0.5
"""How far what follows may drift, as a share of the step."""
_QUEUES: Final = 0.5
"""Share of a bin's lines with a queue from which on it queues."""
_DRAINED: Final = 0.7
"""A load that falls below this share of itself drains."""
_MIXED: Final = 0.25
"""Share of the step by which the first bin may differ from those after it: further off, it holds both regimes."""
_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Regime:
    """From when to when, seconds on the clock of the samples; None: from the window's begin, to its end."""

    since: float | None
    until: float | None


WHOLE: Final = Regime(None, None)


@dataclass(frozen=True, slots=True)
class _Load:
    bins: Bins
    relief_s: float
    kept_from: float | None


def newest_regime(timeline: Timeline, *, window_s: float, finished: bool, kept_from: float | None = None) -> Regime:
    """The newest regime of the newest ``window_s`` seconds.

    ``timeline`` is in order, times in seconds. ``kept_from``: a time that a lighter load may not cut away (the first
    retraction of a finished log, which is evidence by itself). A finished log that ends in a drain is judged without it.
    """
    last = timeline.last("at")
    bins = bins_of(timeline.since(last[0] - window_s)) if last is not None else None
    if bins is None:
        return WHOLE
    load = _Load(bins, FINISHED_RELIEF_S if finished else RELIEF_S, kept_from if finished else None)
    stop = _before_drain(load)
    start = 0
    for _ in range(_DEPTH):
        cut = _cut(load, start, stop)
        if cut is None or bins.ends[stop - 1] - _exact(bins, cut, stop) < SHORTEST_S:
            break
        start = cut
    since = _exact(bins, start, stop) if start else None
    return Regime(since, bins.ends[stop - 1] if finished and stop < len(bins.times) else None)


def _exact(bins: Bins, start: int, stop: int) -> float:
    """The first line of the regime: the bin before its first whole one may hold some lines of it."""
    first = max(1, start - 1)
    before, after = (mean([running for line in part for _, running, _ in line]) for part in (bins.lines[:first], bins.lines[start:stop]))
    stood, stands = (mean(part) >= _QUEUES for part in (bins.signals[0].values[:first], bins.signals[0].values[start:stop]))
    other_batch = abs(after - before) > _MIXED * max(after, before)
    since = bins.times[start]
    for at, running, waits in reversed(bins.lines[start - 1]):
        alike = other_batch and abs(running - after) <= abs(running - before)
        if (other_batch and not alike) or (stands not in (stood, waits)) or (stood == stands and not alike):
            break
        since = at
    return since


def _before_drain(load: _Load) -> int:
    """The number of bins before a queue was gone and what ran only went out; all of them where it did not."""
    queue, count = load.bins.signals[0].values, len(load.bins.times)
    stop = count
    while stop > 0 and queue[stop - 1] < _QUEUES:
        stop -= 1
    begun = stop
    while begun > 0 and queue[begun - 1] >= _QUEUES:
        begun -= 1
    if stop in (0, count) or not _lasts(load.bins, begun, stop) or not _only_a_lull(load, 0, stop, count):
        return count
    return stop


def _cut(load: _Load, start: int, stop: int) -> int | None:
    """The bin at which the clearest step after ``start`` begins a regime, or None."""
    best: tuple[float, int] | None = None
    for signal in load.bins.signals:
        found = _clearest(load.bins, signal, start, stop)
        if found is None or (_lighter(load.bins, start, found[1], stop) and _only_a_lull(load, start, found[1], stop)):
            continue
        if best is None or found[0] > best[0]:
            best = found
    return best[1] if best is not None else None


def _lighter(bins: Bins, start: int, cut: int, stop: int) -> bool:
    """True where less waits, or less runs while nothing waits."""
    queue = bins.signals[0].values
    before, after = mean(queue[start:cut]), mean(queue[cut:stop])
    return after < before - 0.1 or (after < _QUEUES and mean(bins.running[cut:stop]) < mean(bins.running[start:cut]))


def _clearest(bins: Bins, signal: Signal, start: int, stop: int) -> tuple[float, int] | None:
    """The step of one figure that explains most: how clear it is, and where it begins."""
    values = signal.values[start:stop]
    sums = [0.0, *itertools.accumulate(values)]
    squares = [0.0, *itertools.accumulate(value * value for value in values)]
    total, count = sums[-1], len(values)
    best: tuple[float, int] | None = None
    for cut in range(1, count):
        # The bin before may hold its first lines: whether it lasts is settled once they are told apart.
        if not _lasts(bins, start, start + cut) or not _lasts(bins, start + cut - 1, stop):
            continue
        left = max(0.0, squares[-1] - sums[cut] ** 2 / cut - (total - sums[cut]) ** 2 / (count - cut))
        if best is None or left < best[0]:
            best = left, cut
    if best is None:
        return None
    unexplained, cut = best
    jump = mean(values[cut:]) - mean(values[:cut])
    clear = abs(jump) / max(signal.noise, math.sqrt(unexplained / count))
    after = values[cut:]
    drift = abs(_slope(after)) * (len(after) - 1)
    if abs(jump) < signal.matters or clear < _CLEAR or drift > _STAYS * abs(jump):
        return None
    mixed = cut + 1 < count and abs(values[cut] - mean(values[cut + 1 :])) > _MIXED * abs(jump)
    begin = start + cut + (1 if mixed and _lasts(bins, start + cut + 1, stop) else 0)
    return clear, begin


def _lasts(bins: Bins, start: int, stop: int) -> bool:
    return bins.ends[stop - 1] - bins.times[start] >= SHORTEST_S and sum(bins.ticks[start:stop]) >= SHORTEST_TICKS


def _only_a_lull(load: _Load, start: int, cut: int, stop: int) -> bool:
    """True where a lighter load is too short to count, still drains, or would hide what is evidence by itself."""
    bins = load.bins
    if bins.ends[stop - 1] - bins.times[cut] < load.relief_s or (load.kept_from is not None and load.kept_from < bins.times[cut]):
        return True
    after = bins.running[cut:stop]
    third = max(1, len(after) // 3)
    begun, left = mean(after[:third]), mean(after[-third:])
    came_before, came = sum(bins.starts[start:cut]), sum(bins.starts[cut:stop])
    return left < _DRAINED * begun or (came_before > 0 and came == 0)


def _slope(values: Sequence[float]) -> float:
    """Of the straight line through values one apart."""
    middle, half = mean(values), (len(values) - 1) / 2
    across = sum((i - half) ** 2 for i in range(len(values)))
    return sum((i - half) * (value - middle) for i, value in enumerate(values)) / across if across else 0.0
