"""Columns of a timeline cut into as many buckets as a chart has columns.

Minima and maxima survive, so that a peak of one sample is never smoothed away; a stretch without
samples stays a gap. Positions are seconds on the source's clock, or log lines where the log carries
no time.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.samples import Timeline

AxisKind = Literal["time", "line"]
Fold = Literal["sum", "max", "mean"]
Point = tuple[float, float]
Run = tuple[Point, ...]

MIN_REACH: Final = 15.0
"""Seconds without a sample that are never a gap: decode lines come each 40 steps, and steps can be slow."""
REACH_SPACINGS: Final = 6.0
"""Usual spacings without a sample that are not yet a gap."""
REACH_SAMPLES: Final = 2_000
"""Newest samples that tell the usual spacing."""
FARTHEST: Final = 1e15
"""Values beyond this are no measurement; they are left out."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Where each sample of a timeline stands."""

    kind: AxisKind
    at: Sequence[float]
    """A position a sample; nan where it has none."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """First and last position, or None where there is none."""
        known = [x for x in self.at if math.isfinite(x)]
        return (min(known), max(known)) if known else None


@dataclass(frozen=True, slots=True)
class Buckets:
    """``len(count)`` buckets of equal width from ``start`` to ``stop``; nan where a bucket is empty."""

    start: float
    stop: float
    count: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    low_at: tuple[float, ...]
    """Position of each minimum."""
    high_at: tuple[float, ...]

    @property
    def total(self) -> tuple[float, ...]:
        """The sum in each bucket; 0 where it is empty."""
        return tuple(m * n if n else 0.0 for m, n in zip(self.mean, self.count, strict=True))


def axis(timeline: Timeline) -> Axis:
    """By time where any sample has a time, else by line."""
    times = timeline.column("at")
    if any(math.isfinite(t) for t in times):
        return Axis("time", times)
    return Axis("line", timeline.column("line"))


def reach(places: Axis) -> float:
    """How far apart two samples may be and still be joined; in positions. Log lines have no gaps."""
    if places.kind == "line":
        return math.inf
    steps = sorted(b - a for a, b in itertools.pairwise(places.at[-REACH_SAMPLES:]) if b > a)
    return max(MIN_REACH, REACH_SPACINGS * steps[len(steps) // 2]) if steps else MIN_REACH


def is_usable(x: float, y: float) -> bool:
    """True for a point that can be drawn."""
    return abs(x) <= FARTHEST and abs(y) <= FARTHEST


def bucket(xs: Sequence[float], ys: Sequence[float], start: float, stop: float, columns: int) -> Buckets:
    """The points from ``start`` to ``stop``, both included, in ``columns`` buckets; points that are not finite are left out.

    Raises ValueError unless ``columns >= 1`` and ``start < stop``, both finite.
    """
    if columns < 1 or not start < stop or not (math.isfinite(start) and math.isfinite(stop)):
        raise ValueError("a chart has at least one column and a stretch of time")
    places, values = _inside(xs, ys, start, stop)
    count = [0] * columns
    low, high, mean = [math.nan] * columns, [math.nan] * columns, [math.nan] * columns
    low_at, high_at = [math.nan] * columns, [math.nan] * columns
    width = (stop - start) / columns
    here = 0
    for i in range(columns):
        # The last bucket takes the end of the stretch too.
        after = len(places) if i == columns - 1 else bisect.bisect_left(places, start + (i + 1) * width, here)
        part = values[here:after]
        if part:
            count[i], low[i], high[i] = len(part), min(part), max(part)
            mean[i] = min(high[i], max(low[i], math.fsum(part) / len(part)))
            low_at[i], high_at[i] = places[here + part.index(low[i])], places[here + part.index(high[i])]
        here = after
    return Buckets(start, stop, tuple(count), tuple(low), tuple(high), tuple(mean), tuple(low_at), tuple(high_at))


def _inside(xs: Sequence[float], ys: Sequence[float], start: float, stop: float) -> tuple[Sequence[float], Sequence[float]]:
    """The points from ``start`` to ``stop`` in order, without those that cannot be drawn."""
    if len(xs) == len(ys) and all(map(operator.le, xs, itertools.islice(xs, 1, None))) and not any(map(math.isnan, xs[:1])):
        # In order, as nearly always: then the ends alone have to be looked for.
        low, high = bisect.bisect_left(xs, max(start, -FARTHEST)), bisect.bisect_right(xs, min(stop, FARTHEST))
        part = ys[low:high]
        if not part or (not any(map(math.isnan, part)) and min(part) >= -FARTHEST and max(part) <= FARTHEST):
            return xs[low:high], part
    inside = [(x, y) for x, y in zip(xs, ys, strict=True) if start <= x <= stop and -FARTHEST <= y <= FARTHEST and abs(x) <= FARTHEST]
    inside.sort(key=operator.itemgetter(0))
    return [x for x, _ in inside], [y for _, y in inside]


def runs(buckets: Buckets, gap: float) -> tuple[Run, ...]:
    """Unbroken stretches for a line: the minimum and the maximum of each bucket where they happened.

    Points farther apart than ``gap`` are not joined.
    """
    found: list[Run] = []
    current: list[Point] = []
    for i, n in enumerate(buckets.count):
        if not n:
            continue
        ends = {(buckets.low_at[i], buckets.low[i]), (buckets.high_at[i], buckets.high[i])}
        for point in sorted(ends):
            if current and point[0] - current[-1][0] > gap:
                found.append(tuple(current))
                current = []
            current.append(point)
    if current:
        found.append(tuple(current))
    return tuple(found)


def bridged(buckets: Buckets, gap: float) -> tuple[float, ...]:
    """The means, with holes between two samples at most ``gap`` apart filled by the earlier one.

    A narrow bucket often lies between two log lines: that is no gap in what was measured.
    """
    means = list(buckets.mean)
    filled = [i for i, n in enumerate(buckets.count) if n]
    for before, after in itertools.pairwise(filled):
        apart = min(buckets.low_at[after], buckets.high_at[after]) - max(buckets.low_at[before], buckets.high_at[before])
        if apart <= gap:
            means[before + 1 : after] = [means[before]] * (after - before - 1)
    return tuple(means)


def over_ranks(timeline: Timeline, places: Axis, name: str, gap: float, how: Fold = "sum") -> tuple[list[float], list[float]]:
    """A column folded over data-parallel ranks, a point a sample that says it.

    Each rank counts with its newest value, unless that is more than ``gap`` old. Pipeline stages
    print the same requests again: only the first counts.
    """
    if not timeline.tells(name):
        return [], []
    values, ranks, stages = timeline.column(name), timeline.column("dp"), timeline.column("pp")
    if len(set(ranks)) <= 1 and len(set(stages)) <= 1:
        told = [(x, y) for x, y in zip(places.at, values, strict=True) if -FARTHEST <= y <= FARTHEST and abs(x) <= FARTHEST]
        return [x for x, _ in told], [y for _, y in told]
    stage = min((s for s in set(stages) if math.isfinite(s)), default=0.0)
    newest: dict[float, float] = {}
    seen: dict[float, float] = {}
    at, oldest = math.nan, math.inf
    together = _FOLDS[how]
    xs, ys = [], []
    for x, y, rank, here in zip(places.at, values, ranks, stages, strict=True):
        # As is_usable, written out: this runs for each sample of each signal.
        if here > stage or not (-FARTHEST <= y <= FARTHEST and -FARTHEST <= x <= FARTHEST):
            continue
        number = rank if rank >= 0 else 0.0
        # What several ranks say at one moment is one point: between their lines some are of the moment before.
        if x != at or seen.get(number) == x:
            if seen:
                xs.append(at)
                ys.append(together(newest.values() if oldest >= at - gap else [v for n, v in newest.items() if at - seen[n] <= gap]))
            at = x
            if oldest < x - gap:
                oldest = min(seen.values())
        newest[number], seen[number] = y, x
        if x < oldest:  # noqa: PLR1730 (a call for each sample)
            oldest = x
    if seen:
        xs.append(at)
        ys.append(together([v for n, v in newest.items() if at - seen[n] <= gap]))
    return xs, ys


def fold(values: Collection[float], how: Fold) -> float:
    """The values of several ranks as one; of a single one it is that."""
    return _FOLDS[how](values)


def _mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values)


_FOLDS: Final[Mapping[Fold, Callable[[Collection[float]], float]]] = {"sum": math.fsum, "max": max, "mean": _mean}


def stacked(below: tuple[list[float], list[float]], above: tuple[list[float], list[float]]) -> tuple[list[float], list[float]]:
    """The points of ``below`` raised by the newest value of ``above``; points before the first of ``above`` are left out."""
    xs, ys = [], []
    i, raised = 0, math.nan
    for x, y in zip(*below, strict=True):
        while i < len(above[0]) and above[0][i] <= x:
            raised = above[1][i]
            i += 1
        # As is_usable, written out: this runs for each sample of a chart.
        if -FARTHEST <= y + raised <= FARTHEST and -FARTHEST <= x <= FARTHEST:
            xs.append(x)
            ys.append(y + raised)
    return xs, ys


def newest_before(xs: Sequence[float], ys: Sequence[float], at: float) -> Point | None:
    """The last point at or before ``at``; positions may go back a little, as log stamps do."""
    for i in range(len(xs) - 1, -1, -1):
        if xs[i] <= at and is_usable(xs[i], ys[i]):
            return xs[i], ys[i]
    return None


SIZES: Final = (60.0, 120.0, 300.0, 600.0)
"""Windows of a history that grows, in seconds: the smallest that holds it, up to what is asked for."""
STILL_S: Final = 5.0
"""Seconds for which a window that moves stands still at least: narrow columns come several at a time, for each is a chart drawn anew."""
NEW_S: Final = 15.0
"""Seconds of history up to which each column comes by itself: a chart that is nearly empty fills at once."""


def window(places: Axis, span: float | None, end: float | None, columns: int, *, growing: bool) -> tuple[float, float] | None:
    """Start and stop of what a chart shows: ``span`` up to ``end``; None where no sample has a position.

    ``span`` None: everything; ``end`` None: the newest. While the source is ``growing`` the window moves by
    whole columns, so that a chart changes only when a column is complete.
    """
    ends = places.ends
    if ends is None:
        return None
    first, last = ends
    stop = last if end is None else min(last, end)
    length = (last - first) if span is None else min(span, max(last - first, 1.0))
    length = max(length, 1.0)
    if growing:
        if span is not None:
            # A young history fills a smaller window; few sizes, so that the scale seldom changes.
            held = min(span, last - first)
            span = min(span, next((size for size in SIZES if size >= held), span))
        # Without a span the column is a power of two, so that it stays the same while the history gets longer.
        step = span / columns if span is not None else 2.0 ** math.ceil(math.log2(length / columns))
        if last - first > NEW_S:
            step *= math.ceil(STILL_S / step)
        stop = math.floor(stop / step) * step
        start = stop - span if span is not None else math.floor(first / step) * step
        return start, max(stop, start + step)
    start = max(first, stop - length)
    return start, max(start + length, math.nextafter(start, math.inf))


def within(timeline: Timeline, places: Axis, start: float, stop: float) -> tuple[Timeline, Axis]:
    """The samples between two positions, with a few more where stamps are missing or go back."""
    if places.kind == "line":
        low, high = bisect.bisect_left(places.at, start), bisect.bisect_right(places.at, stop)
    else:
        inside = [i for i, x in enumerate(places.at) if start <= x <= stop]
        low, high = (inside[0], inside[-1] + 1) if inside else (0, 0)
    return timeline.slice(low, high), Axis(places.kind, places.at[low:high])
