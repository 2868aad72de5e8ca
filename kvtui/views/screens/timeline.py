"""The timeline screen: large charts, zoom and time cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.reactive import var

from kvtui.present.line import Line
from kvtui.present.server import SPAN
from kvtui.present.timeline import TimelineModel, timeline_model, zoomed
from kvtui.views.commands import bindings
from kvtui.views.messages import Scrub
from kvtui.views.screens.base import StateScreen
from kvtui.views.widgets.chart import chart
from kvtui.views.widgets.gpu_bars import BarsPanel

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from kvtui.present.state import ViewState


CLOSE: Final = "close"
"""The one action that is the screen's own."""


class TimelineView(BarsPanel[TimelineModel]):
    """Charts one below the other."""

    TITLE = "Timeline"
    HELP_TOPIC = "timeline"
    BINDINGS: ClassVar[list[BindingType]] = [binding for binding in bindings("timeline") if binding.action != CLOSE]

    span: float | None = SPAN
    """Seconds that are shown; None: everything."""
    first: int = 0
    """The uppermost chart."""

    def model(self, state: ViewState, size: Size) -> TimelineModel:
        """What to show in the view's inner size."""
        before = self.shown.charts if self.shown is not None else None
        return timeline_model(state, size.width, size.height, self.span, self.first, before=before)

    def lines(self, model: TimelineModel) -> tuple[Line, ...]:
        """The verdicts over time, then legends and charts."""
        rows: list[Line] = [*model.words, *model.band]
        for strip in model.strips:
            rows += [strip.legend, *chart(strip.plot, self.size.width, strip.rows)]
        return tuple(rows)

    def heading(self, model: TimelineModel) -> Line:
        """The stretch of time that is shown."""
        return model.heading

    def note(self, model: TimelineModel) -> Line:
        """Keys, and the time cursor where it is set."""
        return model.note

    def action_zoom(self, step: int) -> None:
        """Show less (below 0) or more of the history."""
        self.span = zoomed(self.span, step)
        self.update_model()

    def action_scroll_charts(self, step: int) -> None:
        """Show the charts that have no room."""
        before = self.shown
        self.first = max(0, self.first + step)
        self.update_model()
        if self.shown is before and step > 0:
            self.first = max(0, self.first - step)

    def action_scrub(self, share: float) -> None:
        """Move the time cursor by a share of what is shown; past the newest sample it is let go."""
        if self.shown is None or not self.shown.strips:
            return
        first, last = self.shown.ends
        at = self.shown.cursor + share * self.shown.length
        self.post_message(Scrub(None if at >= last else max(first, at)))

    def action_first_sample(self) -> None:
        """The cursor to the oldest sample that was kept."""
        if self.shown is not None and self.shown.strips:
            self.post_message(Scrub(self.shown.ends[0]))

    def action_newest_sample(self) -> None:
        """Let the cursor go: the newest values are shown."""
        self.post_message(Scrub(None))


class TimelineScreen(StateScreen):
    """The view alone."""

    BINDINGS: ClassVar[list[BindingType]] = [binding for binding in bindings("timeline") if binding.action == CLOSE]
    CSS = "TimelineView { width: 1fr; height: 1fr; border: round $panel; }"

    state: var[ViewState | None] = var(None, init=False)

    def compose(self) -> ComposeResult:
        """One view over the whole screen."""
        yield TimelineView()

    def show(self, state: ViewState) -> None:
        """Follow the state."""
        self.state = state

    def on_mount(self) -> None:
        """The state may have been set before there was a view."""
        self.query_one(TimelineView).focus()
        self.watch_state()

    def action_close(self) -> None:
        """Back to the main screen."""
        self.dismiss()

    def watch_state(self) -> None:
        """Hand the state on."""
        for view in self.query(TimelineView):
            view.state = self.state
