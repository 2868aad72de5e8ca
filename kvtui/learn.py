"""The console on a simulated server, alone or with a lesson beside it.

Here a plan can be applied, and time has a speed. With a lesson, what is to be found stays hidden until it is found.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, ClassVar, Final

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates
from kvtui.guide.progress import following, keep, resume
from kvtui.options.applied import changes_of
from kvtui.views import style
from kvtui.views.commands import bindings
from kvtui.views.keyed import key_of
from kvtui.views.screens.guide import GuideScreen

if TYPE_CHECKING:
    from textual.binding import BindingType

    from kvtui.domain.settings import Settings
    from kvtui.guide.shelf import Shelf
    from kvtui.ports import DemoFeed
    from kvtui.views.dressed import FindPalettes
    from kvtui.views.handover import WriteReport
    from kvtui.views.screens.main import MainScreen

SPEEDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
STEP_S: Final = 10.0
"""Seconds that one step of the demo lets go by."""


def run_demo(
    feed: DemoFeed, settings: Settings, *, palettes: FindPalettes = tuple, target: str = "demo", write_report: WriteReport | None = None
) -> int:
    """Open the console on a simulated server until it is left; gives the exit status. The rest as for ``app.run_console``."""
    return _run(DemoApp(feed, target=target), settings, palettes, write_report)


def run_guide(shelf: Shelf, settings: Settings, *, palettes: FindPalettes = tuple, write_report: WriteReport | None = None) -> int:
    """Play lessons until the person leaves; gives the exit status. The rest as for ``app.run_console``."""
    # The first stage is set before the screen opens: a learner sees a server at once.
    feed = shelf.open_stage(shelf.play.scenario, shelf.play.speed)
    return _run(GuideApp(feed, shelf), settings, palettes, write_report)


def _run(app: DemoApp, settings: Settings, palettes: FindPalettes, write_report: WriteReport | None) -> int:
    app.settle(settings, palettes)
    app.write_report = write_report
    app.plain_failure = app.paint_early = True
    app.run(mouse=settings.mouse)
    if app.failure is not None:
        sys.stderr.write(f"kvtui: {app.failure}\n")
    return app.return_code or 0


class DemoApp(KvtuiApp):
    """The console, with the controls of a simulated server."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("demo")]

    def __init__(self, feed: DemoFeed, *, target: str = "demo", theme: str = style.DEFAULT) -> None:
        super().__init__(feed, estimates, target=target, theme=theme)
        self._demo = feed

    def first_screen(self) -> MainScreen:
        """The console, with the demo's keys in its footer."""
        screen = super().first_screen()
        screen.beside = ("demo",)
        return screen

    def action_save_plan(self) -> None:
        """No plan of a simulated server is kept: its next start is a key away."""
        apply, boots = key_of(self, "apply"), key_of(self, "boots")
        self._tell(f"a plan of a simulated server is not saved: {apply} applies it, and {boots} compares the starts")

    def action_apply(self) -> None:
        """Restart the simulated server with the plan and the what-if's fraction."""
        state = self._session.state
        if state is None:
            return
        changes = changes_of(state.analysis, state.estimates, state.plan, state.fraction)
        if not changes:
            self._tell(f"nothing is planned: mark an option with {key_of(self, 'mark')}, or move the fraction")
            return
        try:
            left = self._demo.apply(changes)
        except ValueError as error:
            self._tell(str(error))
            return
        self._session.clear_plan()
        self._session.today()
        told = ", ".join(f"{name} {value}" for name, value in changes.items() if name not in left)
        self.notify(f"the simulated server restarts with {told}", markup=False, timeout=4)
        if left:
            self.notify(f"left out of the plan: {' '.join(left.values())}", severity="warning", markup=False, timeout=8)
        self._paint()

    def action_speed(self, step: int) -> None:
        """Let time run faster or slower."""
        here = max(index for index, speed in enumerate(SPEEDS) if speed <= self._demo.speed + 1e-9)
        self._demo.run_at(SPEEDS[max(0, min(len(SPEEDS) - 1, here + step))])
        self.notify(f"time runs at {self._demo.speed:g}×", markup=False, timeout=2)

    def action_hold(self) -> None:
        """Let the simulated time stand, or run again."""
        self._demo.hold(still=not self._demo.paused)
        self.notify("time stands" if self._demo.paused else f"time runs at {self._demo.speed:g}×", markup=False, timeout=2)

    def action_forward(self) -> None:
        """Let ten seconds go by at once."""
        self._demo.step(STEP_S)


class GuideApp(DemoApp):
    """One lesson after the other, each on its stage."""

    def __init__(self, feed: DemoFeed, shelf: Shelf, *, theme: str = style.DEFAULT) -> None:
        super().__init__(feed, target="guide", theme=theme)
        self._shelf = shelf
        self._progress = shelf.progress
        self._play = shelf.play
        self._staged = (shelf.play.scenario, shelf.play.speed)
        self._unkept = ""
        self._session.hide(frozenset(self._play.hidden))

    def first_screen(self) -> MainScreen:
        """The console with its lesson."""
        return GuideScreen(self._play, lambda: self._session.truth)

    @property
    def _guide(self) -> GuideScreen:
        return next(screen for screen in self.screen_stack if isinstance(screen, GuideScreen))

    def on_guide_screen_turned(self, message: GuideScreen.Turned) -> None:
        """The lesson moved on: what is hidden, where it is kept, and which server plays."""
        self._play = message.play
        self._session.hide(frozenset(self._play.hidden))
        self._progress = keep(self._progress, self._play)
        problem = self._shelf.keep(self._progress)
        if problem != self._unkept:
            self._tell(problem)
        self._unkept = problem
        before, self._staged = self._staged, (self._play.scenario, self._play.speed)
        if self._staged[0] == before[0]:
            if self._staged != before:
                self._demo.run_at(self._staged[1])
            self._paint()
            return
        self._guide.stage()
        # Exclusive: whoever leafs through a lesson leaves a stage before it is set.
        self.run_worker(self._play_on(*self._staged), name="feed", group="feed", exclusive=True)

    def on_guide_screen_ended(self) -> None:
        """The next lesson; after the last, the first that was not ended."""
        lessons = self._shelf.lessons
        here = next(i for i, lesson in enumerate(lessons) if lesson.id == self._play.lesson.id)
        wanted = lessons[here + 1] if here + 1 < len(lessons) else following(lessons, self._progress)
        self._guide.begin(resume(wanted, self._progress))

    async def _play_on(self, scenario: str, speed: float) -> None:
        await self._feed.close()
        self._session.forget()
        self._feed = self._demo = await asyncio.to_thread(self._shelf.open_stage, scenario, speed)
        await self._follow()
