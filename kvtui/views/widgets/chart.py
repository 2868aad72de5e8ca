"""Charts with plotext: lines are plotext's, axes and limits are composed around them.

plotext draws on one global figure: call this from the UI thread only. It aborts the process on nan
and paints its own axes on a white ground, so it is given finite runs alone and no axes. Colours pass
through it as marks (a red value a series) and become tones afterwards.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kvtui.domain.buckets import Run, is_usable
from kvtui.lean import load
from kvtui.present.line import BLANK, Edge, Line, Over, Span, Tone, cells, clip, pad_left
from kvtui.present.plot import Plot, axis_label

if TYPE_CHECKING:
    import plotext as plt
else:
    # Its manual and its test suite are most of what its import keeps in memory.
    plt = load("plotext", "plotext._doc.doc", "plotext._tests.run")

Cell = tuple[str, Tone, "Tone | None"]
"""Glyph, its tone, and the tone of the ground where a band lies below."""
Grid = list[list[Cell]]

GUTTER: Final = 6
"""Columns left of the chart: labels of the value axis and the axis itself."""
LARGEST: Final = 400
"""Columns or rows of a chart at most: no terminal is larger, and plotext allocates what it is told."""
MARKER: Final = "braille"
DOTS: Final = 4
"""Dots of a braille cell above one another."""

SHADES: Final = ("░", "▒")
"""What bands are drawn with."""

_ESCAPE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_TRUECOLOR: Final = "38;2;"


@lru_cache(maxsize=8)
def chart(plot: Plot, width: int, height: int, marker: str = MARKER) -> tuple[Line, ...]:
    """The chart in exactly ``height`` lines of at most ``width`` cells; blank lines where there is no room to draw.

    ``marker``: plotext's name of a marker, ``braille`` or, where fonts lack it, ``hd``.
    """
    columns, rows = min(width, LARGEST) - GUTTER, min(height, LARGEST) - 1
    blank = (BLANK,) * max(0, height)
    if columns < 2 or rows < 1 or not (plot.x0 < plot.x1 and plot.y0 < plot.y1):
        return blank
    if not all(is_usable(edge, 0.0) for edge in (plot.x0, plot.x1, plot.y0, plot.y1)):
        return blank
    grid: Grid = [[(" ", "dim", None)] * columns for _ in range(rows)]
    _limits(plot, grid)
    _verticals(plot, grid)
    _strokes(plot, grid, marker)
    _marks(plot, grid)
    return (*_framed(plot, grid), *blank)[:height] if rows < height else blank


def _cell(value: float, low: float, high: float, cells_there: int) -> int | None:
    """Cell of a value, counted from the low end, or None outside: plotext centres the ends of a scale in their cells."""
    return math.ceil((value - low) / (high - low) * (cells_there - 1) - 0.5) if low <= value <= high else None


def _column(plot: Plot, x: float, columns: int) -> int | None:
    """Column of a position, or None outside the chart."""
    return _cell(x, plot.x0, plot.x1, columns)


def _row(plot: Plot, y: float, rows: int) -> int | None:
    """Row of a value, from the top, or None outside the chart."""
    cell = _cell(y, plot.y0, plot.y1, rows)
    return None if cell is None else rows - 1 - cell


def _level(plot: Plot, y: float, rows: int) -> int | None:
    """Row of a single limit: of two rows that are as near the upper one, so that what stays below it is not drawn above it."""
    if not plot.y0 <= y <= plot.y1:
        return None
    return rows - 1 - math.floor((y - plot.y0) / (plot.y1 - plot.y0) * (rows - 1) + 0.5)


def _limits(plot: Plot, grid: Grid) -> None:
    """Bands as shade, single limits as a dashed line: a line is seen over a band, a band would hide it."""
    for limit in sorted(plot.limits, key=lambda limit: limit.low == limit.high):
        line = limit.high == limit.low
        low = (_level if line else _row)(plot, limit.low, len(grid))
        if low is None:
            continue
        high = low if line else _row(plot, min(limit.high, plot.y1), len(grid))
        for row in range(low if high is None else high, low + 1):
            # All cells of a row are alike so far: a line keeps the ground of the band it crosses.
            cell: Cell = (limit.glyph, limit.tone, grid[row][0][2] if line else limit.tone)
            grid[row] = [cell] * len(grid[row])


def _verticals(plot: Plot, grid: Grid) -> None:
    lines: tuple[tuple[float | None, str, Tone], ...] = ((plot.since, "┊", "warn"), (plot.cursor, "│", "changed"))
    for at, glyph, tone in lines:
        column = _column(plot, at, len(grid[0])) if at is not None else None
        if column is not None:
            for row in grid:
                row[column] = (glyph, tone, row[column][2])


def _marks(plot: Plot, grid: Grid) -> None:
    for mark in plot.marks:
        column = _column(plot, mark.at, len(grid[0]))
        if column is not None:
            grid[0][column] = (mark.glyph[:1] or "·", mark.tone, grid[0][column][2])


def _strokes(plot: Plot, grid: Grid, marker: str) -> None:
    """Lay plotext's picture over the grid, cell by cell where it drew something."""
    picture = _plotext(plot, len(grid[0]), len(grid), marker)
    for row, line in zip(grid, picture.split("\n"), strict=False):
        for column, (char, red) in enumerate(itertools.islice(_cells(line), len(row))):
            if char not in {" ", "\u2800"} and red is not None and red < len(plot.series):
                row[column] = (char, plot.series[red].tone, row[column][2])


def _plotext(plot: Plot, columns: int, rows: int, marker: str) -> str:
    figure = plt.figure
    plt.terminal.limit(False, False)
    figure.clear.all()
    figure.plot_size(columns, rows)
    figure.canvas("default")
    figure.axes(False)
    figure.legend(False)
    for number, series in enumerate(plot.series):
        mark = plt.marker(marker, plt.pixel((number, 1, 2)))
        for run in series.runs:
            xs, ys = _drawable(plot, run)
            if xs:
                figure.draw(figure.signal(xs, ys, marker=mark).lines())
            if xs and series.heavy:
                figure.draw(figure.signal(xs, [_beside(plot, y, rows) for y in ys], marker=mark).lines())
    for axis, side, low, high in (("x", "lower", plot.x0, plot.x1), ("y", "left", plot.y0, plot.y1)):
        ruler = figure.ruler(axis, side)
        ruler.lim(low, high)
        # Labels would take cells away from the picture, even without axes.
        ruler.frequency(0)
    return str(figure.build().string())


def _drawable(plot: Plot, run: Run) -> tuple[list[float], list[float]]:
    """The finite points of a run inside the chart's width; what is too high or too low runs along the edge."""
    kept = [(x, min(max(y, plot.y0), plot.y1)) for x, y in run if is_usable(x, y) and plot.x0 <= x <= plot.x1]
    return [x for x, _ in kept], [y for _, y in kept]


def _beside(plot: Plot, y: float, rows: int) -> float:
    """The value one dot of a braille cell above, or below where that is outside the chart."""
    dot = (plot.y1 - plot.y0) / max(1, rows * DOTS - 1)
    return y + dot if y + dot <= plot.y1 else y - dot


def _cells(line: str) -> Iterator[tuple[str, int | None]]:
    """Characters of a coloured line, each with the red value of its colour."""
    red: int | None = None
    for index, part in enumerate(_ESCAPE.split(line)):
        if index % 2 == 0:
            for char in part:
                yield char, red
        elif part in {"", "0"}:
            red = None
        elif part.startswith(_TRUECOLOR):
            red = int(part.split(";")[2])


def _framed(plot: Plot, grid: Grid) -> tuple[Line, ...]:
    """The grid with the value axis at its left and the time axis below."""
    rows, levels = len(grid), _levels(plot, len(grid))
    ticks = {_row(plot, tick.at, rows): tick.text for tick in plot.y_ticks}
    # 20 in the row below 21.5 would be read as a scale; where the axis begins is never in doubt.
    near = {beside for row in levels if row is not None for beside in (row - 1, row + 1)} - {rows - 1}
    labels = {row: text for row, text in ticks.items() if row not in near} | levels
    lines = []
    for number, row in enumerate(grid):
        label = labels.get(number, "")
        edge = Span(pad_left(label, GUTTER - 1) + ("┤" if label else "│"), "dim")
        lines.append((edge, *_spans(row)))
    return (*lines, (Span(_time_axis(plot, len(grid[0])), "dim"),))


def _levels(plot: Plot, rows: int) -> dict[int | None, str]:
    """The value of each line at its row, in place of a round one: beside 40, a cap of 32 would be read as 40."""
    told = {_level(plot, limit.low, rows): axis_label(limit.low) for limit in plot.limits if limit.low == limit.high}
    return {row: text for row, text in told.items() if row not in {None, rows - 1} and cells(text) < GUTTER}


def _spans(row: list[Cell]) -> Iterator[Span]:
    """Cells of one tone together, a band apart from what is drawn over it; that keeps the band's ground."""
    for (tone, under, shade), group in itertools.groupby(row, key=lambda cell: (*cell[1:], cell[0] in SHADES)):
        text = "".join(cell[0] for cell in group)
        yield Span(text, tone) if under is None else (Edge if shade else Over)(text, tone, under)


def _time_axis(plot: Plot, columns: int) -> str:
    """Labels that begin under their moment; one that has no room is left out."""
    text = " " * (GUTTER - 1) + "└"
    for tick in plot.x_ticks:
        column = _column(plot, tick.at, columns)
        if column is None:
            continue
        start = GUTTER + column
        label = f"╵{tick.text}"
        if start >= cells(text) and start + cells(label) <= GUTTER + columns:
            text += "─" * (start - cells(text)) + label
    return clip(text + "─" * (GUTTER + columns - cells(text)), GUTTER + columns)
