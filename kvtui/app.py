"""The Textual app: moves analyses from the feed to the screens, and keys to the session."""

from __future__ import annotations

import asyncio
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App, SystemCommand

from kvtui.engine.analyse import estimates
from kvtui.present import options, where, why
from kvtui.present.figures import fraction
from kvtui.present.help import help_lines
from kvtui.present.line import Line
from kvtui.present.loglines import lines as log_lines
from kvtui.present.plan_pane import proposed
from kvtui.present.state import ViewState
from kvtui.views import style
from kvtui.views.commands import COMMANDS, bindings, help_sections
from kvtui.views.messages import Choose, Copy, Detail, Mark, Scrub
from kvtui.views.screens.base import StateScreen
from kvtui.views.screens.boots import BootsScreen
from kvtui.views.screens.fraction import FractionScreen
from kvtui.views.screens.main import MainScreen
from kvtui.views.screens.text import TextScreen
from kvtui.views.screens.timeline import TimelineScreen
from kvtui.views.session import Estimates, Session

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.screen import Screen

    from kvtui.domain.frame import Analysis
    from kvtui.ports import Feed

FAILED: Final = 70
"""Exit status after an error of kvtui's own (EX_SOFTWARE)."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def run_console(feed: Feed, *, theme: str | None = None, mouse: bool = True, target: str = "") -> int:
    """Open the console on a feed until it is left; gives the exit status.

    ``theme``: dark, light or ansi. ``target``: what is read, secrets removed.
    """
    app = KvtuiApp(feed, estimates, target=target, theme=f"kvtui-{theme}" if theme else style.DEFAULT)
    app.plain_failure = True
    app.run(mouse=mouse)
    if app.failure is not None:
        sys.stderr.write(f"kvtui: {app.failure}\n")
    return app.return_code or 0


class KvtuiApp(App[None]):
    """The console on one feed."""

    TITLE = "kvtui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app")]

    def __init__(self, feed: Feed, levers: Estimates, *, target: str = "", theme: str = style.DEFAULT) -> None:
        """Show what ``feed`` gives.

        ``levers``: the options at another fraction. ``target``: what is read, secrets removed.
        ``theme``: name of a palette; an unknown one gives the default.
        """
        super().__init__(css_path=[style.folder() / "base.tcss"])
        self._feed = feed
        self._session = Session(levers)
        self._target = target
        self.plain_failure = False
        """True: an error of kvtui's own ends the console with a sentence; False: it is raised, for tests."""
        self.failure: str | None = None
        self._wanted_theme = theme
        self.animation_level = "none"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Named colours for themes that are not ours."""
        return style.meanings()

    @property
    def view_state(self) -> ViewState | None:
        """What the screens show; None until the first analysis."""
        return self._session.state

    def _handle_exception(self, error: Exception) -> None:
        """An error of ours ends the console with one sentence: a dump would show what was read, over a screenful of lines."""
        if not self.plain_failure:
            super()._handle_exception(error)
            return
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f" at {Path(last[0].filename).name}:{last[0].lineno}" if last else ""
        self.failure = f"an error of kvtui's own ended the console: {type(error).__name__}{place}. kvtui report may still read the log."
        self.exit(return_code=FAILED)

    # -- life ---------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        """Palettes, the main screen, signals, and the one worker."""
        for palette in style.palettes():
            self.register_theme(palette)
        self.theme = self._wanted_theme if self._wanted_theme in self.available_themes else style.DEFAULT
        # Mounted before the worker starts, so that the first analysis finds its panes.
        await self.push_screen(MainScreen(self._target))
        self._signals(install=True)
        # A group of its own: the command palette cancels the default one.
        self.run_worker(self._follow(), name="feed", group="feed")

    async def on_unmount(self) -> None:
        """Let go of the source and of the signals."""
        self._signals(install=False)
        await self._feed.close()

    def _signals(self, *, install: bool) -> None:
        """Leave by the door: without this a terminal that hangs up stays in the alternate screen."""
        loop = asyncio.get_running_loop()
        # Outside the main thread (an embedded run) there are no signals to take.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number in SIGNALS:
                if install:
                    loop.add_signal_handler(number, self.exit)
                else:
                    loop.remove_signal_handler(number)

    async def _follow(self) -> None:
        while True:
            # The feed gives the newest analysis only, so a slow terminal never makes a queue of old ones.
            self.show(await self._feed.next())

    def show(self, analysis: Analysis) -> None:
        """Paint an analysis, unless the screen is paused."""
        before = self._session.state
        self._session.show(analysis)
        if self._session.state is not before:
            self._paint()

    def _paint(self) -> None:
        state = self._session.state
        if state is None:
            return
        with self.batch_update():
            for screen in self.screen_stack:
                if isinstance(screen, (StateScreen, TextScreen)) and screen.is_mounted:
                    screen.show(state)
                elif isinstance(screen, TimelineScreen):
                    screen.state = state

    # -- what-if, plan, time ------------------------------------------------------------------

    def _tell(self, problem: str) -> None:
        if problem:
            self.notify(problem, severity="warning", markup=False, timeout=4)

    def action_nudge(self, change: float) -> None:
        """Move the fraction of the what-if."""
        self._tell(self._session.nudge(change))
        self._paint()

    def action_type_fraction(self) -> None:
        """Ask for a fraction."""
        state = self._session.state
        start = fraction(state.fraction) if state is not None and state.fraction is not None else "0."
        self.push_screen(FractionScreen(start), self._typed)

    def _typed(self, wanted: float | None) -> None:
        if wanted is not None:
            self._session.set_fraction(wanted)
            self._paint()

    def action_today(self) -> None:
        """Back to today's fraction and to the newest sample."""
        self._session.today()
        self._paint()

    def action_best_plan(self) -> None:
        """Mark what is proposed as the best safe plan; a second time takes it out again."""
        state = self._session.state
        if state is not None and state.plan:
            self._session.clear_plan()
        else:
            self._tell(self._session.adopt(proposed(state) if state is not None else None))
        self._paint()

    def action_scrub(self, share: float) -> None:
        """Move the time cursor by a share of what a chart shows."""
        self._tell(self._session.scrub_by(share))
        self._paint()

    def on_scrub(self, message: Scrub) -> None:
        """A chart asks for a time."""
        self._session.scrub(message.at)
        self._paint()

    def on_mark(self, message: Mark) -> None:
        """An option goes into the plan or out of it."""
        if message.estimate.applies:
            self._session.toggle(message.estimate.id)
            self._paint()
        else:
            self._tell("this option does nothing here; it cannot be planned")

    def on_copy(self, message: Copy) -> None:
        """To the terminal's clipboard."""
        self.copy_to_clipboard(message.text)
        self.notify(message.text, title="copied", markup=False, timeout=3)

    def on_choose(self, message: Choose) -> None:
        """Another boot: the feed answers with it."""
        self._feed.choose(message.boot)
        self.notify(f"showing boot {message.boot + 1}", markup=False, timeout=2)

    def action_pause(self) -> None:
        """Hold still, or go on."""
        self._session.pause()
        self._paint()

    # -- screens ------------------------------------------------------------------------------

    def _open(self, title: str, make: Callable[[ViewState, int], tuple[Line, ...]], *, copied: str = "", whole: bool = False) -> None:
        if not isinstance(self.screen, TextScreen):
            self.push_screen(TextScreen(title, make, self._session.state, copied=copied, whole=whole))

    def action_why(self) -> None:
        """The proof of the verdicts."""
        self._open("Why", why.why)

    def action_where(self) -> None:
        """The origin of every number."""
        self._open("Where each number comes from", where.where)

    def action_log_lines(self) -> None:
        """The lines that matter."""
        self._open("Log: the lines that matter", lambda state, width: log_lines(state.analysis.frame, width), whole=True)

    def action_help(self) -> None:
        """Keys and words."""
        self._open("Help", lambda _state, width: help_lines(help_sections(), width), whole=True)

    def on_detail(self, message: Detail) -> None:
        """All about one option; it follows the what-if."""
        wanted = message.estimate

        def make(state: ViewState, width: int) -> tuple[Line, ...]:
            found = next((e for e in state.estimates if e.id == wanted.id), wanted)
            return options.detail(found, width, state)

        self._open("Option", make, copied=options.copied(wanted))

    def action_boots(self) -> None:
        """The starts in this log."""
        if self._session.state is not None and isinstance(self.screen, MainScreen):
            self.push_screen(BootsScreen(self._session.state, self._session.timelines))

    def action_timeline(self) -> None:
        """Large charts."""
        if self._session.state is not None and isinstance(self.screen, MainScreen):
            screen = TimelineScreen()
            screen.state = self._session.state
            self.push_screen(screen)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every command that works on the screen, and the choice of a palette."""
        yield SystemCommand("theme", "choose a palette", self.action_change_theme)
        scopes = {"app", "main"} if isinstance(screen, MainScreen) else {"app"}
        for command in COMMANDS:
            if command.scope in scopes and command.id != "palette":
                yield SystemCommand(command.title, command.help, partial(self._run, command.action, screen))

    async def _run(self, action: str, screen: Screen[object]) -> None:
        await self.run_action(action, screen)
