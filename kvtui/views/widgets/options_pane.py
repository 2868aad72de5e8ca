"""The options pane: a list with a pointer, marks for the plan, and copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kvtui.present.line import Line, Span
from kvtui.views.commands import bindings
from kvtui.views.keyed import key_of
from kvtui.views.messages import Copy, Detail, Mark, Simulate
from kvtui.views.widgets.panel import LinePanel

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.geometry import Size

    from kvtui.domain.estimate import Estimate
    from kvtui.present.options import Options
    from kvtui.present.state import ViewState


class OptionsPane(LinePanel["Options"]):
    """Levers, best first; the pointer stays on its option when the order changes."""

    TITLE = "Options"
    HELP_TOPIC = "options"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("options")]

    pointed: str | None = None
    """Id of the option under the pointer."""

    def inputs(self, state: ViewState) -> tuple[object, ...]:
        """The options; where there are none, the notes that say why."""
        return (*self.judgement(state), None if state.estimates else state.analysis.frame)

    def model(self, state: ViewState, size: Size) -> Options:
        """The list for the pane's inner size, with a pointer where there is anything to point at."""
        from kvtui.present.options import ids, options

        known = ids(state)
        if self.pointed not in known:
            self.pointed = known[0] if known else None
        return options(state, size.width, size.height, self.pointed)

    def lines(self, model: Options) -> tuple[Line, ...]:
        """The list."""
        return model.lines

    def note(self, model: Options) -> Line:
        """The keys that work here."""
        if not model.rows:
            return ()
        words = {"mark": "plan", "detail": "detail", "simulate-option": "simulate", "copy": "copy"}
        return (Span(" · ".join(f"{key_of(self.app, name)} {word}" for name, word in words.items()), "dim"),)

    @property
    def estimate(self) -> Estimate | None:
        """The option under the pointer."""
        if self.state is None:
            return None
        return next((e for e in self.state.estimates if e.id == self.pointed), None)

    def action_move(self, step: int) -> None:
        """Point at another option."""
        from kvtui.present.options import ids

        known = ids(self.state) if self.state is not None else ()
        if known and self.pointed in known:
            self.pointed = known[max(0, min(len(known) - 1, known.index(self.pointed) + step))]
            self.update_model()

    def action_mark(self) -> None:
        """Put the option into the plan, or take it out."""
        if self.estimate is not None:
            self.post_message(Mark(self.estimate))

    def action_detail(self) -> None:
        """Open what there is to know about it."""
        if self.estimate is not None:
            self.post_message(Detail(self.estimate))

    def action_simulate(self) -> None:
        """Play it on the twin."""
        self.post_message(Simulate(self.pointed))

    def action_copy(self) -> None:
        """Copy its flags."""
        if self.estimate is not None:
            from kvtui.present.options import copied

            self.post_message(Copy(copied(self.estimate)))

    def action_copy_plan(self) -> None:
        """Copy the flags of the plan; of the option, where nothing is marked."""
        from kvtui.present.options import plan_copied

        if self.state is not None and plan_copied(self.state):
            self.post_message(Copy(plan_copied(self.state)))
        else:
            self.action_copy()

    def on_click(self, event: events.Click) -> None:
        """Point at the option that was clicked."""
        if self.shown is None:
            return
        y = event.y - self.content_offset.y
        above = [option for line, option in self.shown.rows if line <= y]
        if above:
            self.pointed = above[-1]
            self.update_model()
