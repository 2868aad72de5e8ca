"""The Textual app: moves analyses from the feed to the screens, and keys to the session."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import SystemCommand

from kvtui.lean import give_back
from kvtui.ports import RefusedError
from kvtui.views import style
from kvtui.views.commands import bindings
from kvtui.views.dressed import DressedApp, FindPalettes, paint_on_terminal
from kvtui.views.handover import HandoverApp
from kvtui.views.keyed import KeyedApp
from kvtui.views.later import levers, load_panes
from kvtui.views.looking_back import goes_further_back
from kvtui.views.messages import Choose
from kvtui.views.opening import OpeningApp
from kvtui.views.planning import PlanningApp
from kvtui.views.screens.base import StateScreen
from kvtui.views.screens.main import MainScreen
from kvtui.views.screens.text import TextScreen
from kvtui.views.signals import leave_on
from kvtui.views.telling import TellingApp

# Presenters, levers and the other screens are imported where they are used: the first paint does not wait for them.
if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.binding import BindingType
    from textual.screen import Screen

    from kvtui.domain.frame import Analysis
    from kvtui.domain.settings import Settings
    from kvtui.ports import Feed, PlanShelf
    from kvtui.present.state import ViewState
    from kvtui.views.session import Estimates, Session

UNREADABLE: Final = 3
"""Exit status where nothing could be read, as for ``kvtui report``."""
FAILED: Final = 70
"""Exit status after an error of kvtui's own (EX_SOFTWARE)."""
BLURRED: Final = 2
"""Analyses a paint in a terminal that does not have the focus, which come more slowly too."""
COLLECTED: Final = 5_000
"""New objects after which the collector looks for cycles: the few of a tick are not worth the seven looks that Python takes."""
GIVEN_BACK_S: Final = 60.0
"""Seconds between two times at which memory that is free is handed back: a log that was read leaves holes."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def run_console(
    feed: Feed,
    settings: Settings,
    *,
    palettes: FindPalettes = tuple,
    target: str = "",
    shelf: PlanShelf | None = None,
    write_report: Callable[[str, str], str] | None = None,
) -> int:
    """Open the console on a feed until it is left; gives the exit status.

    ``settings``: of palette, signs, mouse and keys. ``palettes``: reads those of the user.
    ``target``: what is read, secrets removed. ``shelf``: where plans are kept. ``write_report``: see ``HandoverApp.write_report``.
    """
    paint_on_terminal()
    app = KvtuiApp(feed, levers, target=target)
    app.plain_failure = app.paint_early = True
    app.settle(settings, palettes)
    app.shelf, app.write_report = shelf, write_report
    app.run(mouse=settings.mouse)
    # The collector would walk every module once more at exit: a third of the time that leaving takes.
    gc.freeze()
    if app.failure is not None:
        sys.stderr.write(f"kvtui: {app.failure}\n")
    return app.return_code or 0


class KvtuiApp(TellingApp, OpeningApp, PlanningApp, HandoverApp, KeyedApp, DressedApp):
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
        self._begun = False
        self._feed_end: asyncio.Task[None] | None = None
        self._unsigned: Callable[[], None] | None = None
        self._levers = levers
        self._made: Session | None = None
        self._target = target
        self.plain_failure = False
        """True: an error of kvtui's own ends the console with a sentence; False: it is raised, for tests."""
        self.paint_early = False
        """True: what is needed to show an analysis is loaded beside the wait for the first one."""
        self.failure: str | None = None
        self._blurred = False
        self._unpainted = 0
        """Analyses that came since the last paint."""
        self.dress(theme)
        self.animation_level = "none"

    def settle(self, settings: Settings, palettes: FindPalettes) -> None:
        """Before it runs: palette, signs and keys as a person wants them."""
        self.find_palettes = palettes
        self.suit_terminal(settings.palette)
        if settings.ascii is not None:
            self.ascii_only = settings.ascii
        self.take_keys(settings.keys)

    @property
    def _session(self) -> Session:
        if self._made is None:
            from kvtui.views.session import Session

            self._made = Session(self._levers)
            self._made.keys = self.moved_keys
        return self._made

    @property
    def target(self) -> str:
        """What is read, secrets removed."""
        return self._target

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

    def on_mount(self) -> None:
        """The main screen, signals, and the one worker."""
        self._signals(install=True)
        # Mounted before the worker starts, so that the first analysis finds its panes.
        self.call_after_refresh(self._begin)
        # A screen that a key opens before that holds back what waits for the main screen's refresh.
        self.set_timer(0.3, self._begin)

    def get_default_screen(self) -> Screen[None]:
        """The main screen at once: one pushed over an empty one would be a second full paint."""
        return self.first_screen()

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        # A group of its own: the command palette cancels the default one.
        self.run_worker(self._follow(), name="feed", group="feed")
        self.run_worker(self._remember(), name="plans", group="plans")

    def first_screen(self) -> MainScreen:
        """The screen below all others."""
        return MainScreen(self._target)

    async def on_unmount(self) -> None:
        """Let go of the source and of the signals."""
        self._signals(install=False)
        await self._close_feed()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; sources begin to close while the terminal is being restored."""
        self.workers.cancel_group(self, "feed")
        with suppress(RuntimeError):  # no loop: nothing to close yet
            self._close_feed()
        super().exit(result, return_code, message)

    def _close_feed(self) -> asyncio.Task[None]:
        if self._feed_end is None:
            self._feed_end = asyncio.get_running_loop().create_task(self._feed.close())
        return self._feed_end

    def _signals(self, *, install: bool) -> None:
        """Leave by the door: without this a terminal that hangs up stays in the alternate screen."""
        # Outside the main thread (an embedded run) there are no signals to take.
        with suppress(ValueError):
            if install:
                self._unsigned = leave_on(SIGNALS, self.exit)
            elif self._unsigned is not None:
                self._unsigned()

    async def _follow(self) -> None:
        loading = asyncio.to_thread(load_panes) if self.paint_early else asyncio.sleep(0)
        try:
            first, _ = await asyncio.gather(self._feed.next(), loading)
        except RefusedError as refusal:
            self.failure = str(refusal)
            self.exit(return_code=UNREADABLE)
            return
        self.show(first)
        if self.paint_early:
            # What was imported stays: the collector need not walk it again.
            gc.collect()
            gc.freeze()
            gc.set_threshold(COLLECTED)
            gc.enable()
            give_back()
            self.set_interval(GIVEN_BACK_S, give_back)
        while True:
            # The feed gives the newest analysis only, so a slow terminal never makes a queue of old ones.
            self.show(await self._feed.next())

    def on_app_blur(self) -> None:
        """Nobody looks at this terminal: read and paint less often."""
        self._blurred = True
        self._attend()

    def on_app_focus(self) -> None:
        """Somebody looks again: paint the newest at once."""
        self._blurred = False
        self._attend()
        if self._unpainted:
            self._paint()

    def action_pause(self) -> None:
        """Hold still and read less often, or go on."""
        super().action_pause()
        self._attend()

    def _attend(self) -> None:
        state = self._session.state
        self._feed.look(closely=not self._blurred and (state is None or state.paused_at is None))

    def show(self, analysis: Analysis) -> None:
        """Paint an analysis, unless the screen is paused; in a terminal without the focus only every other one."""
        before = self._session.state
        self._session.show(analysis)
        if goes_further_back(analysis):
            # Else the strip would take the edge of what the rules look at for the time since when it is so.
            self.look_back()
        if self._session.state is not before:
            self._unpainted += 1
            if not self._blurred or self._unpainted >= BLURRED:
                self._paint()

    def _paint(self) -> None:
        self._unpainted = 0
        state = self._session.state
        if state is None:
            return
        with self.batch_update():
            for screen in self.screen_stack:
                if isinstance(screen, (StateScreen, TextScreen)):
                    if screen.is_mounted:
                        screen.show(state)
                    else:
                        # It was made with the state of before, and nothing may come after this one.
                        screen.call_after_refresh(self._paint)

    # -- copying, boots -----------------------------------------------------------------------

    def on_choose(self, message: Choose) -> None:
        """Another boot: the feed answers with it."""
        self._feed.choose(message.boot)
        self.notify(f"showing boot {message.boot + 1}", markup=False, timeout=2)

    # -- commands ------------------------------------------------------------------------------

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every command that works on the screen, and the choice of a palette."""
        yield SystemCommand("theme", "choose a palette", self.action_change_theme)
        scopes = {"app", "main", *screen.before, *screen.beside} if isinstance(screen, MainScreen) else {"app"}
        for command in self.commands:
            if command.scope in scopes and command.id != "palette":
                yield SystemCommand(command.title, f"{command.shown} · {command.help}", partial(self._run, command.action, screen))

    async def _run(self, action: str, screen: Screen[object]) -> None:
        await self.run_action(action, screen)
