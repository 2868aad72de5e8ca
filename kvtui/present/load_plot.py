"""The chart of the server pane: what runs and what waits, with the limits that they may touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from kvtui.present.courses import Courses, load_series, retraction_marks
from kvtui.present.figures import figure
from kvtui.present.history import History, cap, since
from kvtui.present.plan_drawn import limits_after
from kvtui.present.plot import Limit, Plot, round_up, x_ticks, y_ticks
from kvtui.present.state import ViewState

GUTTER: Final = 6
"""Columns left of a chart for the labels of its values."""
TALLEST: Final = 4.0
"""A chart is at most this many times as high as what runs, so that a long queue does not flatten it."""


def band_text(limits: tuple[float, float]) -> str:
    """``44–55``; one number where both ends are the same."""
    low, high = math.floor(limits[0]), math.floor(limits[1])
    return figure(low) if low == high else f"{figure(low)}–{figure(high)}"


def load_scale(whole: float | None, running: float | None, limits: Sequence[Limit]) -> float:
    """The end of the value axis: all that runs and waits, and the limits that are near."""
    high = running or 0.0
    base = max(high, 1.0, *(limit.high for limit in limits if limit.high <= 2 * high))
    return round_up(min(max(base, whole or 0.0), TALLEST * base) * 1.02)


def load_plot(
    state: ViewState, told: History, limits: tuple[float, float] | None, width: int, rows: int, drawn: Courses | None = None
) -> Plot:
    """Running and running + queued, with the ceiling and the cap as limits; the strokes of ``drawn`` where it has them.

    ``rows``: of the chart, its time axis included.
    """
    series = drawn.load if drawn is not None else load_series(told)
    marks = drawn.marks if drawn is not None else retraction_marks(state.analysis, told)
    most = cap(state.analysis, told.ranks)
    # First, so that the legend names the plan's: today's are in the rows above the chart.
    lines: list[Limit] = [] if state.planned is None else list(limits_after(state.planned, state.analysis, told.ranks))
    if limits is not None:
        lines.append(Limit(f"admits {band_text(limits)}", *limits))
    if most is not None:
        lines.append(Limit(f"cap {figure(most)}", most, most, "bad"))
    whole, running = drawn.highs if drawn is not None else tuple(one.high for one in series)
    y1 = load_scale(whole, running, lines)
    begin = since(state.analysis) if told.kind == "time" else None
    columns = max(1, width - GUTTER)
    return Plot(
        x0=told.start,
        x1=told.stop,
        y0=0.0,
        y1=y1,
        series=series,
        limits=tuple(lines),
        marks=marks,
        cursor=told.now if state.cursor is not None and told.start <= told.now <= told.stop else None,
        since=begin if begin is not None and told.start < begin < told.stop else None,
        x_ticks=x_ticks(told.kind, told.start, told.stop, columns),
        y_ticks=y_ticks(0.0, y1, rows - 1, whole=True),
    )
