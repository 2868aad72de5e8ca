"""The pictures on the page of why: what to see, what each stroke is, and the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kvtui.domain.finding import Finding
from kvtui.domain.picture import Picture
from kvtui.present.history import History, ceiling, history
from kvtui.present.line import Drawn, Line, Span, clean, wrap
from kvtui.present.load_plot import GUTTER, load_plot
from kvtui.present.memory import memory_model
from kvtui.present.plot import Plot, legends, x_ticks, y_ticks
from kvtui.present.proof_plots import proof_plots
from kvtui.present.server import LINE_SPAN, SPAN
from kvtui.present.state import ViewState

Draw = Callable[[Plot, int, int], tuple[Line, ...]]
"""A chart in so many columns and rows."""

INDENT: Final = 5
ROWS: Final = 8
"""Of the first chart of a verdict, its time axis included."""
LOWER: Final = 7
"""Of the others."""
WIDE: Final = 100
"""Columns from which the charts are taller."""
TALLER: Final = 3
BARS: Final = 8
UNDER: Final = 3
"""GPUs that are drawn, and rows below their bars."""
BOTH: Final = 2
"""Verdicts that all their pictures are drawn of: the two that lead. Of the others the first one is."""


@dataclass(slots=True)
class Pictures:
    """Draws the proofs of one page; keeps the stretch of time that it drew last, so that nothing is read again while it stands."""

    draw: Draw
    told: History | None = field(default=None)

    def of(self, finding: Finding, number: int, state: ViewState, width: int) -> list[Line]:
        """The pictures of the ``number``-th verdict, in lines of at most ``width`` columns; none where no sample tells a series of it."""
        shown = finding.pictures if number < BOTH else finding.pictures[:1]
        lines = [line for picture in shown if picture.signal == "memory" for line in _bars(picture, state, width)]
        courses = [picture for picture in shown if picture.signal != "memory"]
        if courses:
            lines += self._courses(courses, finding, state, width)
        return [(Span(f"   {'in pictures' if len(shown) > 1 else 'the picture'}{self._whose(courses)}", "label"),), *lines] if lines else []

    def _whose(self, shown: Sequence[Picture]) -> str:
        """Of several data-parallel ranks: a sentence may speak of the busiest, the charts add up all, or name two."""
        ranks = self.told.ranks if self.told is not None else 1
        return f", {ranks} ranks together" if ranks > 1 and any(not picture.ranks for picture in shown) else ""

    def _courses(self, shown: Sequence[Picture], finding: Finding, state: ViewState, width: int) -> list[Line]:
        told = self._stretch(state, width - INDENT)
        if told is None:
            return []
        load = load_plot(replace(state, planned=None), told, ceiling(state.analysis, told.ranks), width - INDENT, ROWS)
        load = _until(load, finding, state, told) if told.kind == "time" else load
        lines: list[Line] = []
        for picture in shown:
            plots = proof_plots(picture, state, told, load)
            rows = (LOWER if lines else ROWS) + (TALLER if width >= WIDE else 0)
            lines += self._lines(picture, plots, width, rows if len(plots) < 2 else LOWER)
        return lines

    def _stretch(self, state: ViewState, width: int) -> History | None:
        columns = max(1, width - GUTTER)
        self.told = history(state.analysis, state.cursor, SPAN, columns, self.told)
        if self.told is not None and self.told.kind == "line":
            return history(state.analysis, state.cursor, LINE_SPAN, columns)
        return self.told

    def _lines(self, picture: Picture, plots: tuple[Plot, ...], width: int, rows: int) -> Iterator[Line]:
        if not plots:
            return
        yield from _seen(picture, width)
        for plot in plots:
            scaled = replace(plot, y_ticks=y_ticks(plot.y0, plot.y1, rows - 1))
            for line in (*legends(scaled, width - INDENT), *self.draw(scaled, width - INDENT, rows)):
                yield (Drawn(" " * INDENT), *line)


def _seen(picture: Picture, width: int) -> Iterator[Line]:
    for number, part in enumerate(wrap(clean(picture.seen), max(10, width - INDENT))):
        yield (Span(" " * INDENT), Span(part)) if number else (Span(" " * INDENT + part),)


def _bars(picture: Picture, state: ViewState, width: int) -> Iterator[Line]:
    """The bars of the GPUs as they stand: without a what-if, and without the hint at watts and clocks."""
    analysis = state.analysis
    bars = len(analysis.ledgers)
    if not bars:
        return
    today = replace(state, planned=None, what_if=None, fraction=None, analysis=replace(analysis, frame=replace(analysis.frame, gpus=None)))
    yield from _seen(picture, width)
    for row in memory_model(today, width - INDENT, min(bars, BARS) + UNDER).rows:
        yield (Drawn(" " * INDENT), *row)


def _until(load: Plot, finding: Finding, state: ViewState, told: History) -> Plot:
    """The chart with the begin of this verdict, and, of a server that stands still or rests, with the time in which nothing came."""
    now, end = state.analysis.frame.now, told.stop
    if (finding.id == "server-stuck" or finding.at_rest) and state.cursor is None and now is not None and now > end:
        # A silence of hours must not squeeze what was before it into one column.
        end = min(now, end + max(_SILENT_S, end - told.start))
    begun = finding.since if finding.since is not None and told.start < finding.since < end else None
    return replace(load, x1=end, since=begun, x_ticks=x_ticks(told.kind, told.start, end, told.columns))


_SILENT_S: Final = 120.0
"""Seconds of a silence that are shown at most beside a short stretch."""
