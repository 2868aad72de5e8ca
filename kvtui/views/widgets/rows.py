"""Widgets made of lines: a line is turned into cells only when it differs, and only the cells that differ are sent."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from kvtui.present.line import BLANK, Line, Span, cells
from kvtui.views.paint import block, content

if TYPE_CHECKING:
    from typing import Any

    from textual.content import Content
    from textual.visual import VisualType

    Cell = tuple[str, object]

NULL_STYLE: Final = Style.null()
_MOST_PLACES: Final = 2_000
"""Styles of places that a widget keeps; a pane of a large screen has some hundreds."""
_SAMPLE: Final = "."
_PLAIN: Final = Span(_SAMPLE)


class Rows(Widget):
    """Lines in a box of fixed height."""

    rows: tuple[Line, ...] = ()
    _looks: dict[tuple[object, ...], Style]
    _places: dict[tuple[object, ...], Style]

    def __init__(self, **named: Any) -> None:  # noqa: ANN401 (what a widget takes)
        super().__init__(**named)
        self._looks, self._places = {}, {}

    def row_content(self, line: Line) -> Content:
        """One line in Textual's terms; never read as markup."""
        return content(line)

    def row_drawn(self, line: Line) -> Line:
        """One line with the glyphs that this palette asks for, in as many cells."""
        return line

    def render(self) -> VisualType:
        """All rows: what a person selects with the mouse is taken from here."""
        return block(self.rows)

    def render_line(self, y: int) -> Strip:
        """One row; Textual would make all rows anew for each that differs, and work out the style of each span again."""
        if self.text_selection is not None:
            return super().render_line(y)
        self._dirty_regions.clear()
        line = self.row_drawn(self.rows[y] if y < len(self.rows) else BLANK)
        segments, x = [], 0
        for span in line:
            if span.text:
                segments.append(Segment(span.text, self._placed(span, x, y)))
                x += len(span.text)
        return Strip(segments).adjust_cell_length(self._columns(), self._placed(_PLAIN, x, y))

    def _columns(self) -> int:
        """Columns of the content; for ``size`` Textual finds the widget in its screen's layout, for each row again."""
        return max(0, self.outer_size.width - self.styles.gutter.width)

    def _placed(self, span: Span, x: int, y: int) -> Style:
        """The style of a span that begins at the ``x``-th character of row ``y``: the offset tells a mouse that selects text where it is.

        One style a place, again and again: Rich writes the offset down anew for each that it makes, and looks each up anew.
        """
        key = (_look_of(span), x, y)
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            found = self._places[key] = self._look(span) + Style.from_meta({"offset": (x, y)})
        return found

    def _look(self, span: Span) -> Style:
        """The style of a span as Textual works it out, once for all spans that look like it."""
        key = _look_of(span)
        if key not in self._looks:
            sample = self.row_content((replace(span, text=_SAMPLE),))
            strip = Visual.to_strips(self, sample, 1, 1, self.visual_style, apply_selection=False)[0]
            self._looks[key] = (next(iter(strip)).style or NULL_STYLE).clear_meta_and_links()
        return self._looks[key]

    def notify_style_update(self) -> None:
        """Another palette, or another style of this widget."""
        super().notify_style_update()
        self._looks, self._places = {}, {}

    def put(self, rows: tuple[Line, ...]) -> None:
        """Show these rows from now on."""
        before, self.rows = self.rows, rows
        width, height = self.size
        dirty = []
        for y in range(min(max(len(before), len(rows)), height)):
            old, new = (before[y] if y < len(before) else BLANK), (rows[y] if y < len(rows) else BLANK)
            if old != new:
                start, stop = changed(old, new, width)
                dirty.append(Region(start, y, stop - start, 1))
        if dirty:
            self.refresh(*dirty)


def changed(old: Line, new: Line, width: int) -> tuple[int, int]:
    """First and last but one column that differ between two lines of a row of ``width`` cells."""
    before, after = _cells(old, width), _cells(new, width)
    if before is None or after is None:
        return 0, width
    same = sum(1 for _ in takewhile(bool, map(eq, before, after)))
    same_end = sum(1 for _ in takewhile(bool, map(eq, reversed(before), reversed(after))))
    start = min(same, width - 1)
    return start, max(start + 1, width - same_end)


def _look_of(span: Span) -> tuple[object, ...]:
    """What is the same in all spans that look alike."""
    return type(span), span.tone, getattr(span, "under", None)


def _cells(line: Line, width: int) -> list[Cell] | None:
    """The row cell by cell, filled up with blanks; None where a character does not take just one cell."""
    row: list[Cell] = []
    for span in line:
        if cells(span.text) != len(span.text):
            return None
        look = _look_of(span)
        row += [(char, look) for char in span.text]
    blank: Cell = (" ", None)
    return (row + [blank] * (width - len(row)))[:width]
