"""The frame of a pane: a border with a title and a note, and painting only what changed.

A pane makes its own model from the view state and is painted when that model differs from the one
on the screen; nothing is laid out again.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual.content import Content
from textual.reactive import var
from textual.widget import Widget

from kvtui.present.line import Line, Span, plain
from kvtui.views.paint import content
from kvtui.views.widgets.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.geometry import Size

    from kvtui.present.state import ViewState

M = TypeVar("M")


class Panel(Widget, Generic[M], can_focus=True):
    """A pane with a border.

    A subclass says what it shows (``model``), how (``paint``), and what stands at the right of its
    border (``note``).
    """

    TITLE: ClassVar[str] = ""
    HELP_TOPIC: ClassVar[str] = ""
    """Section of the help screen that F1 opens at."""

    state: var[ViewState | None] = var(None, init=False)
    """Set by the screen; None until the first analysis is there."""

    shown: M | None = None
    """The model on the screen."""

    def model(self, state: ViewState, size: Size) -> M:
        """What to show, from the state and the pane's inner size; equal models are painted once."""
        raise NotImplementedError

    def paint(self, model: M) -> None:
        """Bring the model to the screen, without changing any widget's size."""
        raise NotImplementedError

    @staticmethod
    def judgement(state: ViewState) -> tuple[object, ...]:
        """All but the readings: for a pane that shows none of them."""
        analysis = state.analysis
        own = (getattr(state, field.name) for field in fields(state) if field.name != "analysis")
        return (*own, analysis.account, analysis.estimates, analysis.workload, analysis.band, analysis.notes)

    def inputs(self, state: ViewState) -> tuple[object, ...]:
        """What the model is made from; a pane that needs only a part of the state names it, and is left alone while that is the same."""
        return (state,)

    def heading(self, model: M) -> Line:  # noqa: ARG002
        """Left of the upper border."""
        return ()

    def note(self, model: M) -> Line:  # noqa: ARG002
        """Right of the lower border."""
        return ()

    def point_at(self, words: tuple[str, ...]) -> None:
        """Mark rows that hold one of these words; nothing where a pane has no rows."""

    def veil(self, sentence: str) -> None:
        """Show a sentence in place of the rows; empty: the rows again."""

    def on_mount(self) -> None:
        """A frame with a title from the first paint on."""
        self.border_title = self.TITLE

    def on_focus(self) -> None:
        """The title says it."""
        self._entitle(focused=True)

    def on_blur(self) -> None:
        """The title says it."""
        self._entitle(focused=False)

    def _entitle(self, *, focused: bool) -> None:
        """The heading; with the focus it stands reversed, and so in one colour."""
        line = self.heading(self.shown) if self.shown is not None else ()
        self.border_title = (Content(plain(line)) if focused else content(line)) or self.TITLE

    def watch_state(self, before: ViewState | None, after: ViewState | None) -> None:
        """Paint, if what this pane shows is not what is on the screen."""
        if before is not None and after is not None and self.shown is not None:
            pairs = zip(self.inputs(before), self.inputs(after), strict=True)
            # Identity, not equality: comparing two histories costs as much as drawing one.
            if all(old is new for old, new in pairs):
                return
        self.update_model()

    def on_resize(self, _event: events.Resize) -> None:
        """A model may depend on the size."""
        self.update_model()

    def update_model(self) -> None:
        """Make the model anew and paint it where it differs; for panes whose own cursor moved, too."""
        if self.state is None or not self.size:
            return
        model = self.model(self.state, self.size)
        if model == self.shown:
            return
        before, self.shown = self.shown, model
        # A border text repaints the whole pane: set it only when it differs.
        if before is None or self.heading(model) != self.heading(before):
            self._entitle(focused=self.has_focus)
        if before is None or self.note(model) != self.note(before):
            self.border_subtitle = content(self.note(model))
        self.paint(model)


class LinePanel(Panel[M], Rows):
    """A pane that is nothing but lines."""

    pointed_at: tuple[str, ...] = ()
    """Words whose first row is marked."""
    row: int | None = None
    """The row that is pointed at; None until somebody does."""
    veiled: str = ""
    """Shown in place of the rows; empty: nothing is hidden."""

    rows: tuple[Line, ...] = ((Span(" waiting for the first reading", "dim"),),)

    def lines(self, model: M) -> tuple[Line, ...]:
        """The model as lines, already cut to the pane's width."""
        raise NotImplementedError

    def paint(self, model: M) -> None:
        """Send what differs."""
        if self.veiled:
            self.put(((Span(f" {self.veiled}", "dim"),),))
            return
        rows = marked(self.lines(model), self.pointed_at)
        self.put(cursored(rows, self.row) if self.has_focus else rows)

    def copies(self, model: M) -> Mapping[int, str]:  # noqa: ARG002
        """What is copied of rows whose own text would say too little, by their number."""
        return {}

    def choosable(self) -> tuple[int, ...]:
        """Numbers of the rows that hold words."""
        from kvtui.present.entries import row_text

        if self.shown is None or self.veiled:
            return ()
        lines = self.lines(self.shown)[: self.size.height]
        return tuple(number for number, line in enumerate(lines) if line and row_text(line))

    def move_row(self, step: int) -> None:
        """Point at the next row with words, from the first one on."""
        rows = self.choosable()
        if not rows or self.shown is None:
            return
        if self.row is None:
            self.row = rows[0] if step > 0 else rows[-1]
        elif step > 0:
            self.row = next((number for number in rows if number > self.row), rows[-1])
        else:
            self.row = next((number for number in reversed(rows) if number < self.row), rows[0])
        self.paint(self.shown)

    def row_copied(self) -> str:
        """The row that is pointed at, else the first one; empty where nothing is shown."""
        from kvtui.present.entries import row_text

        rows = self.choosable()
        if not rows or self.shown is None:
            return ""
        at = self.row if self.row in rows else rows[0]
        return self.copies(self.shown).get(at) or row_text(self.lines(self.shown)[at])

    def on_focus(self) -> None:
        """The row that is pointed at shows only where keys go."""
        if self.row is not None and self.shown is not None:
            self.paint(self.shown)

    def on_blur(self) -> None:
        """As above."""
        self.on_focus()

    def point_at(self, words: tuple[str, ...]) -> None:
        """Mark the first row that holds each of these words."""
        if words != self.pointed_at:
            self.pointed_at = words
            if self.shown is not None:
                self.paint(self.shown)

    def veil(self, sentence: str) -> None:
        """Show a sentence in place of the rows; empty: the rows again."""
        if sentence != self.veiled:
            self.veiled = sentence
            if self.shown is not None:
                self.paint(self.shown)


def cursored(lines: tuple[Line, ...], row: int | None) -> tuple[Line, ...]:
    """Lines with the first word of one of them reversed: no bar is hidden, and every palette shows it."""
    if row is None or row >= len(lines):
        return lines
    found, line = list(lines), lines[row]
    place = next((number for number, span in enumerate(line) if span.text.strip()), None)
    if place is not None:
        text = line[place].text
        head = text[: len(text) - len(text.lstrip())]
        word = text.strip()
        tail = text[len(head) + len(word) :]
        cut = (Span(head, line[place].tone), Span(word, "mark"), Span(tail, line[place].tone))
        found[row] = (*line[:place], *(span for span in cut if span.text), *line[place + 1 :])
    return tuple(found)


def marked(lines: tuple[Line, ...], words: tuple[str, ...]) -> tuple[Line, ...]:
    """Lines with each word reversed where it stands first."""
    found = list(lines)
    for word in words:
        for index, line in enumerate(found):
            place = next((number for number, span in enumerate(line) if type(span) is Span and word in span.text), None)
            if place is not None:
                head, _, tail = line[place].text.partition(word)
                cut = (Span(head, line[place].tone), Span(word, "mark"), Span(tail, line[place].tone))
                found[index] = (*line[:place], *(span for span in cut if span.text), *line[place + 1 :])
                break
    return tuple(found)
