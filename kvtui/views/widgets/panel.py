"""The frame of a pane: a border with a title and a note, and painting only what changed.

A pane makes its own model from the view state and is painted when that model differs from the one
on the screen; nothing is laid out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual.geometry import Region, Size
from textual.reactive import var
from textual.widget import Widget

from kvtui.present.line import Line, Span
from kvtui.present.state import ViewState
from kvtui.views.paint import block, content

if TYPE_CHECKING:
    from textual import events
    from textual.visual import VisualType

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

    def inputs(self, state: ViewState) -> tuple[object, ...]:
        """What the model is made from; a pane that needs only a part of the state names it, and is left alone while that is the same."""
        return (state,)

    def heading(self, model: M) -> Line:  # noqa: ARG002
        """Left of the upper border."""
        return ()

    def note(self, model: M) -> Line:  # noqa: ARG002
        """Right of the lower border."""
        return ()

    def on_mount(self) -> None:
        """A frame with a title from the first paint on."""
        self.border_title = self.TITLE

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
            self.border_title = content(self.heading(model)) or self.TITLE
        if before is None or self.note(model) != self.note(before):
            self.border_subtitle = content(self.note(model))
        self.paint(model)


class LinePanel(Panel[M]):
    """A pane that is nothing but lines; only the rows that differ are sent to the terminal."""

    rows: tuple[Line, ...] = ((Span(" waiting for the first reading", "dim"),),)

    def lines(self, model: M) -> tuple[Line, ...]:
        """The model as lines, already cut to the pane's width."""
        raise NotImplementedError

    def paint(self, model: M) -> None:
        """Mark the rows that differ."""
        before, self.rows = self.rows, self.lines(model)
        width, height = self.size
        longest = min(max(len(before), len(self.rows)), height)
        changed = [
            Region(0, y, width, 1)
            for y in range(longest)
            if (before[y] if y < len(before) else None) != (self.rows[y] if y < len(self.rows) else None)
        ]
        if changed:
            self.refresh(*changed)

    def render(self) -> VisualType:
        """The rows that there are."""
        return block(self.rows)
