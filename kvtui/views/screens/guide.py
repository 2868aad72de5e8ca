"""A lesson on the real console: the lesson pane beside it, below it on a low screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Static

from kvtui.guide.card import card
from kvtui.guide.facts import Facts
from kvtui.guide.play import Play, again, answer, back, forward, hint
from kvtui.present.line import Line, Span, clip_line
from kvtui.views.commands import bindings
from kvtui.views.keyed import key_of
from kvtui.views.screens.main import PANES, SMALLEST, MainScreen
from kvtui.views.widgets.lesson_pane import LessonPane
from kvtui.views.widgets.lines import Bar
from kvtui.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kvtui.domain.frame import Analysis
    from kvtui.guide.play import Reply
    from kvtui.present.state import ViewState

_AFTER: Final = "Shown after your answer."
BESIDE: Final = 108
"""From this width on the lesson stands beside the console."""
_HIDDEN: Final[Line] = (Span("▌◌ ", "note"), Span("What limits this server? ", "strong"), Span("kvtui says so after your answer.", "dim"))


def lesson_size(size: Size) -> Size:
    """Columns and rows of the lesson pane on a screen of that size."""
    if size.width >= BESIDE:
        return Size(max(40, min(60, size.width - 112)), size.height)
    return Size(size.width, max(12, size.height * 2 // 5))


class GuideScreen(MainScreen):
    """Follows one lesson. The app is asked for the stage, for what to hide, and to keep the progress."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("lesson")]
    before = ("lesson",)
    least = Size(SMALLEST.width, 20)
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (least.height, "-high")]  # noqa: RUF012 (Textual declares it so)

    class Turned(Message):
        """The lesson is at another place."""

        def __init__(self, play: Play) -> None:
            super().__init__()
            self.play = play

    class Ended(Message):
        """Enter on the last card: the next lesson."""

    def __init__(self, play: Play, truth: Callable[[], Analysis | None]) -> None:
        super().__init__(f"lesson {play.lesson.number}: {play.lesson.title}")
        self.play = play
        self._truth = truth
        self._facts: Facts | None = None
        """Of the moment at which the step began: a text whose numbers run cannot be read."""

    def compose(self) -> ComposeResult:
        """The console, and the lesson."""
        with Vertical(id="frame"):
            yield from self.console()
        yield LessonPane()
        yield Static("", id="small", markup=False)

    @property
    def pane(self) -> LessonPane:
        """The lesson pane."""
        return self.query_one(LessonPane)

    def on_mount(self) -> None:
        """Begin where the lesson stands, once the console below has taken its own first pane."""
        self.call_after_refresh(self._enter)

    def room(self, size: Size) -> Size:
        """What the lesson leaves."""
        if self.has_class("-alone"):
            return size
        taken = lesson_size(size)
        return Size(size.width - taken.width, size.height) if size.width >= BESIDE else Size(size.width, size.height - taken.height)

    def on_resize(self, event: events.Resize) -> None:
        """Beside or below."""
        self._arrange(event.size)

    def _arrange(self, size: Size) -> None:
        taken = lesson_size(size)
        self.set_class(size.width >= BESIDE, "-beside")
        self.set_class(self.room(size).height < 22, "-cramped")
        self.pane.styles.width, self.pane.styles.height = taken.width, taken.height

    # -- what is shown ------------------------------------------------------------------------

    def show(self, state: ViewState) -> None:
        """The console, and the numbers of a step that began before anything was read."""
        super().show(state)
        if self._facts is None:
            self._facts = self._now()
            self._card()

    def verdicts(self, state: ViewState, width: int) -> tuple[Line, ...]:
        """The verdicts, once the learner has found them."""
        return (clip_line(_HIDDEN, width),) if "verdict" in self.play.hidden else super().verdicts(state, width)

    def stage(self) -> None:
        """Another server is on its way."""
        self._facts = None
        self.query_one("#strip", Bar).show(lambda width: (clip_line((Span("▌◌ A server is being set up …", "note"),), width),))
        self._card()

    def begin(self, play: Play) -> None:
        """Another lesson."""
        self._turn(play)

    def _now(self) -> Facts | None:
        analysis = self._truth()
        return Facts(analysis, self._state.fraction if self._state is not None else None) if analysis is not None else None

    def _card(self) -> None:
        for name in ("formula", "options"):
            self.query_one(f"#{name}", Panel).veil(_AFTER if name in self.play.hidden else "")
        self.pane.show(card(self.play, self._facts, pointed=self.pane.pointed, entry=self.pane.entry))

    def _turn(self, play: Play) -> None:
        """Take another state of the lesson."""
        moved = play.at != self.play.at or play.lesson is not self.play.lesson
        self.play = play
        self.post_message(self.Turned(play))
        if moved:
            self._enter()
        else:
            self._card()

    def _enter(self) -> None:
        """A step begins: its numbers, the places to look at, and the pane that matters."""
        self._facts = self._now()
        self.pane.fresh()
        step = self.play.step
        look = step.look if step is not None else ()
        places = {one.place for one in look}
        for name in PANES:
            pane = self.query_one(f"#{name}", Panel)
            pane.set_class(name in places, "-look")
            pane.point_at(tuple(one.word for one in look if one.place == name and one.word))
        self.query_one("#strip").set_class("strip" in places, "-look")
        first = next((one.place for one in look if one.place in PANES), None)
        if first is not None:
            self.turn_to(PANES.index(first))
        self.pane.focus()
        self._card()

    # -- keys ---------------------------------------------------------------------------------

    def on_lesson_pane_replied(self, message: LessonPane.Replied) -> None:
        """An answer, or on to the next card."""
        if self.play.step is None:
            self.post_message(self.Ended())
        elif self.play.waits:
            self._reply(message.reply)
        else:
            self._turn(forward(self.play))

    def _reply(self, reply: Reply) -> None:
        ask = self.play.step.ask if self.play.step is not None else None
        # What was done at the console counts now; what a text says, as of when it was shown.
        facts = self._now() if ask is not None and ask.kind in {"move", "do"} else self._facts
        self.pane.entry = ""
        self._turn(answer(self.play, reply, facts))

    def on_lesson_pane_back(self) -> None:
        """To the step before."""
        self._turn(back(self.play))

    def on_lesson_pane_touched(self) -> None:
        """The pointer moved; what was said to the reply before is over."""
        self.play = replace(self.play, feedback=None) if self.play.waits else self.play
        self._card()

    def action_hint(self) -> None:
        """A hint; after the last one, the answer."""
        self._turn(hint(self.play, self._facts))

    def action_again(self) -> None:
        """The lesson from its start, from its last card."""
        if self.play.step is None:
            self._turn(again(self.play))

    def action_next_pane(self, step: int) -> None:
        """The lesson lies between the last pane and the first, before the strip."""
        if self.pane.has_focus:
            self.turn_to(0 if step > 0 else len(PANES) - 1)
            self.query_one(f"#{PANES[0 if step > 0 else -1]}").focus()
        elif self._current == (len(PANES) - 1 if step > 0 else 0) and self.focused is not self.query_one("#strip"):
            self.pane.focus()
        else:
            super().action_next_pane(step)

    def action_to_lesson(self) -> None:
        """Enter anywhere else comes back to the lesson."""
        if self.has_class("-alone"):
            self.action_lesson()
        self.pane.focus()

    def action_lesson(self) -> None:
        """Come back to the lesson; from the lesson, hide it for a look at the whole console."""
        if not self.has_class("-alone") and not self.pane.has_focus:
            self.pane.focus()
            return
        self.toggle_class("-alone")
        self.pane.display = not self.has_class("-alone")
        self._arrange(self.size)
        self.fit(self.size)
        if self.has_class("-alone"):
            # A card that is not seen must not take the answers.
            self.query_one(f"#{PANES[self._current]}").focus()
            self.notify(f"{key_of(self.app, 'lesson')} brings the lesson back", timeout=4)
        else:
            self.pane.focus()
