"""The stretch of a server's history that a chart shows, and the columns in it.

A working object of the panes with charts: it is made from the timeline, read, and forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.buckets import (
    Axis,
    AxisKind,
    Fold,
    Point,
    Run,
    axis,
    bridged,
    bucket,
    fold,
    is_usable,
    over_ranks,
    reach,
    runs,
    window,
    within,
)
from kvtui.domain.events import Event
from kvtui.domain.frame import Analysis
from kvtui.domain.reading import Known
from kvtui.domain.samples import PREFILL, Timeline
from kvtui.domain.units import duration

HIT_SAMPLES: Final = 20
"""Prefill lines that a cache hit rate is taken over."""

BACK: Final = 60.0
"""Positions by which an event may stand before an earlier one: stamps go back a little."""
SHORTEST: Final = 10
"""A window is not cut below this part of its span."""


@dataclass(frozen=True, slots=True)
class History:
    """Samples from ``start`` to ``stop``, to be drawn in ``columns`` columns."""

    timeline: Timeline
    places: Axis
    gap: float
    start: float
    stop: float
    columns: int
    now: float
    """The moment that values are shown for: the cursor, else the newest."""
    ranks: int
    """Data-parallel ranks seen in it."""
    stage: float
    """The first pipeline stage seen in it: the others print the same requests again."""
    ends: tuple[float, float]
    """First and last position of everything kept."""

    @property
    def kind(self) -> AxisKind:
        """Time, or log lines where there is none."""
        return self.places.kind

    @property
    def length(self) -> str:
        """How much is shown, in words; minutes are rounded up, for the last sample rarely ends one."""
        size = self.stop - self.start
        if self.kind == "line":
            return f"{size:,.0f} lines"
        return duration(size if size < 120 else math.ceil(size / 60) * 60)

    def points(self, name: str, how: Fold = "sum") -> tuple[list[float], list[float]]:
        """A column over the ranks: positions and values."""
        return over_ranks(self.timeline, self.places, name, self.gap, how)

    def line(self, points: tuple[list[float], list[float]]) -> tuple[Run, ...]:
        """Points as runs of a chart."""
        return runs(bucket(*points, self.start, self.stop, self.columns), self.gap)

    def spark(self, points: tuple[list[float], list[float]], columns: int) -> tuple[float, ...]:
        """Points as ``columns`` means, nan in a gap."""
        return bridged(bucket(*points, self.start, self.stop, columns), self.gap)

    def value(self, name: str, how: Fold = "sum", first: int = 0) -> Point | None:
        """A column over the ranks at the moment that is shown: the last of ``points`` that is not later.

        Found from the end, so that where every rank reports a few samples are looked at. ``first``: sample of the stretch
        before which there is nothing to find.
        """
        values, ranks, stages = (self.timeline.column(column) for column in (name, "dp", "pp"))
        newest: dict[float, float] = {}
        there: float | None = None
        for i in range(len(values) - 1, first - 1, -1):
            x = self.places.at[i]
            if stages[i] > self.stage or not is_usable(x, values[i]) or (there is None and x > self.now):
                continue
            there = x if there is None else there
            if there - x > 2 * self.gap:
                break
            if there - x <= self.gap:
                newest.setdefault(ranks[i] if math.isfinite(ranks[i]) else 0.0, values[i])
            if len(newest) >= self.ranks:
                break
        return None if there is None else (there, fold(list(newest.values()), how))

    def stream_rate(self) -> float | None:
        """Tokens a second of one request, by the newest decode line that is shown; None without one."""
        rates, running = self.timeline.column("gen_tput"), self.timeline.column("running")
        for i in range(len(rates) - 1, -1, -1):
            if self.places.at[i] <= self.now and rates[i] >= 0 and running[i] > 0:
                return rates[i] / running[i]
        return None

    def hits(self) -> tuple[list[float], list[float], list[float]]:
        """Positions, cached tokens and all prompt tokens of the prefill lines."""
        cached, fresh = self.timeline.column("cached_token"), self.timeline.column("new_token")
        rows = [
            (self.places.at[i], cached[i], cached[i] + fresh[i])
            for i in self.timeline.where(PREFILL)
            if math.isfinite(self.places.at[i] + cached[i] + fresh[i]) and cached[i] >= 0 and fresh[i] >= 0
        ]
        return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]

    def hit_share(self, first: int = 0) -> Point | None:
        """Position of the newest prefill line and the cached share of the prompt tokens of the last ones; None without any.

        ``first``: see ``value``.
        """
        kinds, cached, fresh = (self.timeline.column(column) for column in ("kind", "cached_token", "new_token"))
        told: list[int] = []
        for i in range(len(kinds) - 1, first - 1, -1):
            if kinds[i] == PREFILL and self.places.at[i] <= self.now and 0 <= cached[i] < math.inf and 0 <= fresh[i] < math.inf:
                told.append(i)
                if len(told) == HIT_SAMPLES:
                    break
        whole = math.fsum(cached[i] + fresh[i] for i in told)
        return (self.places.at[told[0]], math.fsum(cached[i] for i in told) / whole) if whole > 0 else None

    def hit_columns(self, columns: int) -> tuple[float, ...]:
        """The cached share a column, weighted by tokens; nan where nothing was prefilled."""
        xs, cached, whole = self.hits()
        part = bucket(xs, cached, self.start, self.stop, columns).total
        total = bucket(xs, whole, self.start, self.stop, columns).total
        return tuple(p / t if t > 0 else math.nan for p, t in zip(part, total, strict=True))


def history(analysis: Analysis, cursor: float | None, span: float | None, columns: int, before: History | None = None) -> History | None:
    """What a chart of ``span`` seconds shows, with the cursor in it; None where there are no samples.

    ``span`` None: everything. ``before``: what was shown; where no column was completed since, it is that with the newest samples.
    """
    frame = analysis.frame
    timeline, growing = frame.timeline, not frame.finished
    if before is not None and growing and cursor is None and (same := _longer(before, timeline, frame.now, span, columns)) is not None:
        return same
    if growing and cursor is None and span is not None and frame.now is not None and math.isfinite(frame.now):
        timeline = timeline.since(frame.now - 2 * span)
    places = axis(timeline)
    ends = places.ends
    if ends is None:
        return None
    gap = reach(places)
    shown = window(places, span, _stop(ends, cursor, span), max(1, columns), growing=growing and places.kind == "time")
    if shown is None:
        return None
    start, stop = shown
    inside, placed = within(timeline, places, start, ends[1] if cursor is None else stop)
    if frame.finished and span is not None and cursor is None:
        # The load of a log often begins late in the window: an empty chart before it says nothing.
        start = max(start, min(placed.ends[0] if placed.ends else start, stop - span / SHORTEST))
    now = cursor if cursor is not None and math.isfinite(cursor) else ends[1]
    if cursor is None and growing and places.kind == "time":
        now = _moment(now, frame.now)
    ranks = len({d for d in inside.column("dp") if math.isfinite(d)})
    stage = min((s for s in set(inside.column("pp")) if math.isfinite(s)), default=0.0)
    return History(inside, placed, gap, start, stop, max(1, columns), now, max(1, ranks), stage, ends)


def _longer(before: History, timeline: Timeline, now: float | None, span: float | None, columns: int) -> History | None:
    """The stretch that was shown and what came since, looking at that alone; None where the stretch is another now."""
    kept = before.timeline
    if span is None or before.kind != "time" or before.columns != max(1, columns):
        return None
    if timeline.columns is not kept.columns or timeline.start > kept.start or timeline.stop < kept.stop:
        return None
    inside = replace(kept, stop=timeline.stop)
    places = Axis("time", inside.column("at"))
    last = max((x for x in places.at[len(kept) :] if math.isfinite(x)), default=before.ends[1])
    ends = (before.ends[0], max(before.ends[1], last))
    if window(Axis("time", ends), span, None, before.columns, growing=True) != (before.start, before.stop):
        return None
    return replace(before, timeline=inside, places=places, ends=ends, now=_moment(ends[1], now))


def _moment(newest: float, now: float | None) -> float:
    """On a server that runs, a sample is as old as the wall clock says, however silent the source."""
    return max(newest, now) if now is not None and math.isfinite(now) else newest


def _stop(ends: tuple[float, float], cursor: float | None, span: float | None) -> float | None:
    """Where the window ends so that it holds the cursor: the window moves by halves, not with each step of the cursor."""
    first, last = ends
    if span is None or cursor is None or not math.isfinite(cursor) or cursor >= last - span:
        return None
    half = span / 2
    back = math.ceil((last - span - max(cursor, first)) / half)
    return max(first + span, last - back * half)


def retractions(analysis: Analysis, kind: AxisKind, start: float = -math.inf) -> tuple[list[float], list[float]]:
    """Positions of the retraction events from ``start`` on, in order, and how many requests each put back."""
    return retractions_of(analysis.frame.events, kind, start)


def retractions_of(events: Sequence[Event], kind: AxisKind, start: float = -math.inf) -> tuple[list[float], list[float]]:
    """The same of these events."""
    xs, ys = [], []
    for event in reversed(events):
        if event.kind == "retract":
            at = event.at if kind == "time" else float(event.line)
            if at is None or not math.isfinite(at):
                continue
            if at < start - BACK:
                break
            if at >= start:
                xs.append(at)
                ys.append(put_back(event))
    return xs[::-1], ys[::-1]


def put_back(event: Event) -> float:
    """Requests that one retraction event put back; at least one a line."""
    told = event.fields.get("retracted")
    if isinstance(told, (int, float)) and 0 <= told < 1e9:
        return max(float(event.count), float(told))
    return float(event.count)


def cap(analysis: Analysis, ranks: int) -> float | None:
    """``max_running_requests`` over the ranks, or None where it is unknown."""
    limit = analysis.account.running_cap
    return float(limit.value * ranks) if isinstance(limit, Known) and 0 < limit.value < 1e9 else None


def ceiling(analysis: Analysis, ranks: int) -> tuple[float, float] | None:
    """The admission band over the ranks, in requests, or None where it is unknown."""
    band = analysis.band
    if band is None or not (math.isfinite(band.low) and math.isfinite(band.high) and band.high >= band.low):
        return None
    return max(0.0, band.low) * ranks, max(0.0, band.high) * ranks


def since(analysis: Analysis) -> float | None:
    """From when the primary verdict holds."""
    first = analysis.findings[0].since if analysis.findings else None
    return first if first is not None and math.isfinite(first) else None
