"""Bars and bands on the screen: a cell that two parts share shows both colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from textual.content import Content

from kvtui.present.glyphs import EIGHTHS, FILLS
from kvtui.present.line import Edge, Line, Over, Span, Tone
from kvtui.views.paint import STYLES
from kvtui.views.widgets.panel import LinePanel
from kvtui.views.widgets.rows import Rows

if TYPE_CHECKING:
    from textual.visual import VisualType

M = TypeVar("M")

COVERED: Final[dict[Tone, int]] = {
    "weights": 100,
    "kv-used": 75,
    "kv-free": 25,
    "graphs": 50,
    "state": 50,
    "draft": 50,
    "warn": 25,
    "changed": 35,
}
"""Share of a cell, in per cent, that a part's glyph inks; the other parts have thin glyphs on the pane's own ground."""


def _tinted(tone: Tone) -> str:
    """The colour that a fill looks like from afar."""
    covered = COVERED.get(tone, 0)
    return STYLES[tone] if covered == 100 or not covered else f"{STYLES[tone].removeprefix('bold ')} {covered}%"


def edge_style(edge: Edge, *, blend: bool = True) -> str:
    """Textual style of cells over something else.

    ``blend``: False for a palette of the terminal's own colours, which cannot be mixed: there only a solid fill has a
    ground, and a stroke leaves a hole in a band. An underline there would be a second stroke, at a value that is not its own.
    """
    if not blend:
        ground = f" on {STYLES[edge.under]}" if COVERED.get(edge.under) == 100 else ""
        return f"{STYLES[edge.tone]}{ground}"
    if edge.tone == edge.under == "changed":
        # What is planned keeps its shade of dots: beside today's band a second tint of a like colour would not be told apart.
        return STYLES[edge.tone]
    ground = f" on {_tinted(edge.under)}" if COVERED.get(edge.under) else ""
    return f"{STYLES[edge.tone] if isinstance(edge, Over) else _tinted(edge.tone)}{ground}"


def _whole(span: Span) -> Span:
    """A shared cell given whole to the larger part, where colours cannot be mixed: the smaller one would leave a hole."""
    if not isinstance(span, Edge) or span.text not in EIGHTHS or COVERED.get(span.under) == 100 or span.under not in FILLS:
        return span
    tone = span.tone if (EIGHTHS.index(span.text) + 1) * 2 >= len(EIGHTHS) + 1 else span.under
    return Span(FILLS[tone][0], tone)


def unmixed(line: Line) -> Line:
    """The line for a palette whose colours cannot be mixed."""
    return tuple(_whole(span) for span in line)


def bars(lines: tuple[Line, ...], *, blend: bool = True) -> Content:
    """Lines one below the other; never read as markup."""

    def style(span: Span) -> str:
        return edge_style(span, blend=blend) if isinstance(span, Edge) else STYLES[span.tone]

    drawn = lines if blend else map(unmixed, lines)
    return Content("\n").join(Content.assemble(*((span.text, style(span)) for span in line if span.text)) for line in drawn)


class Shaded(Rows):
    """Rows some of whose cells lie over the colour of something else."""

    def row_drawn(self, line: Line) -> Line:
        """One line; a shared cell belongs to its larger part where the palette cannot mix colours."""
        return unmixed(line) if self.app.current_theme.ansi else line

    def row_content(self, line: Line) -> Content:
        """One row; a shared cell shows both colours where the palette can mix them."""
        return bars((line,), blend=not self.app.current_theme.ansi)

    def render(self) -> VisualType:
        """The rows; a shared cell shows both colours where the palette can mix them."""
        return bars(self.rows, blend=not self.app.current_theme.ansi)


class BarsPanel(LinePanel[M], Shaded):
    """A pane of such lines."""
