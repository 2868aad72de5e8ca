"""The starts in a log: choose one, compare two."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical, VerticalScroll

from kvtui.present.boots import Load, comparison, load_of, table
from kvtui.present.frame_bars import footer
from kvtui.present.line import Line, Span
from kvtui.views.commands import bindings, of
from kvtui.views.keyed import commands_of, key_of
from kvtui.views.messages import Choose
from kvtui.views.screens.base import StateScreen
from kvtui.views.widgets.lines import Bar, Page

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kvtui.domain.samples import Timeline
    from kvtui.present.state import ViewState


class BootsScreen(StateScreen):
    """A list with a pointer; below it what differs between the marked and the selected boot."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("boots")]

    def __init__(self, state: ViewState, timelines: dict[int, Timeline]) -> None:
        super().__init__()
        self._state = state
        self._timelines = timelines
        self._at = state.analysis.frame.chosen % max(1, len(state.analysis.frame.boots))
        self._marked: int | None = None
        self._loads: dict[int, Load | None] = {}

    def compose(self) -> ComposeResult:
        """The list and the comparison."""
        with Vertical(id="frame"):
            with VerticalScroll(id="list", classes="box", can_focus=False):
                yield Page(id="boots")
            with VerticalScroll(id="comparison", classes="box", can_focus=False):
                yield Page(id="differences")
            yield Bar(id="footer")

    def on_mount(self) -> None:
        """Frames and the first lines."""
        self.query_one("#list").border_title = "Boots in this log"
        self.query_one("#comparison").border_title = "What changed"
        keys = tuple((c.shown, c.title) for c in of("boots", commands=commands_of(self.app)) if c.footer)
        self.query_one("#footer", Bar).show(lambda width: (footer(keys, width),))
        self.show(self._state)

    def show(self, state: ViewState) -> None:
        """Follow the state: boots may be added, and the load of another one be read."""
        self._state = state
        frame = state.analysis.frame
        # Older starts are over: their load is counted once.
        for index, timeline in self._timelines.items() if not frame.timelines else enumerate(frame.timelines):
            if index not in self._loads or index == len(frame.boots) - 1:
                self._loads[index] = load_of(timeline)
        self._paint()

    def _paint(self) -> None:
        frame = self._state.analysis.frame
        marked = frozenset() if self._marked is None else frozenset({self._marked})
        self.query_one("#boots", Page).show(
            lambda width: (
                table(frame.boots, frame.chosen, marked, self._at, width) if frame.boots else _none("The log shows no start of a server.")
            )
        )
        self.query_one("#differences", Page).show(self._differences)

    def _differences(self, width: int) -> tuple[Line, ...]:
        boots = self._state.analysis.frame.boots
        if len(boots) < 2:
            return _none("There is one start at most in this log: nothing to compare it with.")
        # Without a mark, the boot before is what a person asks about: what changed since it was fast?
        other = self._marked if self._marked is not None else max(0, self._at - 1)
        if other == self._at:
            return _none(f"Point at another boot to compare it with this one; {key_of(self.app, 'boots-mark')} marks one side.")
        left, right = sorted((other, self._at))
        return comparison(boots[left], boots[right], self._loads, width)

    def action_move(self, step: int) -> None:
        """Point at another boot."""
        count = len(self._state.analysis.frame.boots)
        self._at = max(0, min(count - 1, self._at + step))
        self._paint()

    def action_mark(self) -> None:
        """Mark the boot for the comparison, or take the mark away."""
        self._marked = None if self._marked == self._at else self._at
        self._paint()

    def action_choose(self) -> None:
        """Show that boot."""
        if self._state.analysis.frame.boots:
            self.app.post_message(Choose(self._at))

    def action_close(self) -> None:
        """Back to the main screen."""
        self.dismiss()


def _none(text: str) -> tuple[Line, ...]:
    return ((Span(text, "note"),),)
