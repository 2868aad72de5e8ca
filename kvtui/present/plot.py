"""Charts and sparklines as data: what is drawn, where the axes end, which limits are lines.

Nothing here knows a terminal; every number in a ``Plot`` is finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.domain.buckets import AxisKind, Run
from kvtui.present.figures import clock, figure
from kvtui.present.glyphs import BLOCKS
from kvtui.present.line import Line, Span, Tone, line_cells

DAY: Final = 86_400
TIME_STEPS: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY,
)  # fmt: skip
ABOVE: Final = " ↑ above"
"""Said of a limit that is out of sight."""
LABEL_EVERY: Final = 12
"""Columns that one label of the time axis gets at least."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; each run is drawn unbroken."""

    name: str
    tone: Tone
    runs: tuple[Run, ...]
    heavy: bool = False
    """Drawn twice as thick, so that two lines differ without colour."""

    @property
    def high(self) -> float | None:
        """The largest value, or None where there is none."""
        return max((y for run in self.runs for _, y in run), default=None)


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal line, or a band where ``high`` is above ``low``."""

    text: str
    low: float
    high: float
    tone: Tone = "warn"

    @property
    def glyph(self) -> str:
        """Its cells: a line, a band, or a denser band for what is planned, so that two bands differ without colour."""
        if not self.high > self.low:
            return "╌"
        return "▒" if self.tone == "changed" else "░"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one moment."""

    at: float
    glyph: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart. ``x0 < x1`` and ``y0 < y1``."""

    x0: float
    x1: float
    y0: float
    y1: float
    series: tuple[Series, ...] = ()
    limits: tuple[Limit, ...] = ()
    marks: tuple[Mark, ...] = ()
    """Glyphs in the uppermost row."""
    cursor: float | None = None
    """Position of the time cursor."""
    since: float | None = None
    """Position from which the verdict holds."""
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()


def position(kind: AxisKind, at: float) -> str:
    """A position of the axis in words: a time of day, or a log line."""
    return clock(at) if kind == "time" else f"line {at:,.0f}"


def x_ticks(kind: AxisKind, x0: float, x1: float, columns: int) -> tuple[Tick, ...]:
    """Labels of the time axis at round times, or of a line axis at round lines."""
    room = max(1, columns // LABEL_EVERY)
    if not (math.isfinite(x0) and math.isfinite(x1) and x0 < x1):
        return ()
    if kind == "line":
        return tuple(Tick(x, f"line {x:,.0f}") for x in _round_steps(x0, x1, room, whole=True))
    span = x1 - x0
    step = next((s for s in TIME_STEPS if span / s <= room), TIME_STEPS[-1])
    first = math.ceil(x0 / step)
    return tuple(Tick(i * step, clock(i * step, seconds=step < 60)) for i in range(first, min(int(x1 // step), first + room) + 1))


def y_ticks(y0: float, y1: float, rows: int, *, whole: bool = False) -> tuple[Tick, ...]:
    """Round labels of the value axis of so many rows, two rows apart at least; ``whole``: of what is counted, which has no halves."""
    return tuple(Tick(y, axis_label(y)) for y in _round_steps(y0, y1, max(1, min(5, (rows - 1) // 2)), whole=whole))


def axis_label(value: float) -> str:
    """A value in the five columns beside an axis: ``8,000``, ``12.5k``, ``2M``."""
    if 1e4 <= abs(value) < 1e7:
        return f"{value / 1e3:.4g}k" if abs(value) < 1e6 else f"{value / 1e6:.3g}M"
    return figure(value)


def _round_steps(low: float, high: float, most: int, *, whole: bool = False) -> tuple[float, ...]:
    span = high - low
    if not (math.isfinite(span) and span / most > 0):
        return ()
    scale = 10.0 ** math.floor(math.log10(span / most))
    step = next((m * scale for m in (1, 2, 5, 10) if span / (m * scale) <= most), 10 * scale)
    if whole:
        step = max(1.0, step)
    first = math.ceil(low / step - 1e-9)
    return tuple(i * step for i in range(first, first + most + 1) if i * step <= high + span * 1e-9)


def spark(values: Sequence[float], top: float) -> str:
    """A column of block glyphs a value, on a scale from 0 to ``top``; a gap is blank, anything above 0 shows."""
    glyphs = []
    for value in values:
        if not math.isfinite(value):
            glyphs.append(" ")
        elif top <= 0 or value <= 0:
            glyphs.append(BLOCKS[0])
        else:
            glyphs.append(BLOCKS[min(7, int(min(1.0, value / top) * 7.999))])
    return "".join(glyphs)


def top_of(values: Sequence[float], floor: float) -> float:
    """The largest finite value, but at least ``floor``."""
    return max((v for v in values if math.isfinite(v)), default=floor) or floor


def round_up(value: float) -> float:
    """The next round number, so that an axis does not move with each sample."""
    if not value > 0 or not math.isfinite(value):
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(m * scale for m in (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8, 10) if m * scale >= value * (1 - 1e-9))


def legend(plot: Plot, width: int) -> Line:
    """One line that says what each stroke is; what lies above the chart is said with an arrow, where it has room."""
    return legends(plot, width, 1)[0]


def legends(plot: Plot, width: int, most: int | None = None) -> tuple[Line, ...]:
    """As ``legend``, in as many lines as it takes, at most ``most``; an entry is never cut."""
    lines = _lines(_entries(plot), width)
    if most is not None and len(lines) > most:
        # What is drawn and named nowhere is a riddle; what is not drawn can wait.
        lines = _lines(sorted(_entries(plot), key=lambda entry: entry[1].text.endswith(ABOVE)), width)[:most]
    return lines


def _lines(entries: Iterable[tuple[Span, Span]], width: int) -> tuple[Line, ...]:
    lines: list[Line] = [()]
    for glyph, words in entries:
        # An entry that does not fit whole would name nothing.
        before = (*lines[-1], Span("  ")) if lines[-1] else ()
        if line_cells((*before, glyph, words)) <= width:
            lines[-1] = (*before, glyph, words)
        elif line_cells((glyph, words)) <= width:
            lines.append((glyph, words))
    return tuple(line for line in lines if line) or ((),)


def _entries(plot: Plot) -> Iterator[tuple[Span, Span]]:
    for one in plot.series:
        high = one.high
        beyond = f" ↑ to {figure(high)}" if high is not None and high > plot.y1 else ""
        yield Span("━ " if one.heavy or len(plot.series) == 1 else "─ ", one.tone), Span(f"{one.name}{beyond}")
    for limit in plot.limits:
        yield Span(f"{limit.glyph} ", limit.tone), Span(f"{limit.text}{ABOVE if limit.low > plot.y1 else ''}")
    if plot.cursor is not None:
        yield Span("│ ", "changed"), Span("cursor")
    if plot.marks:
        yield Span(f"{plot.marks[0].glyph} ", plot.marks[0].tone), Span("retraction")
    if plot.since is not None:
        yield Span("┊ ", "warn"), Span("verdict since")
