"""Looks for servers until one is there, or something else is chosen; the console opens afterwards."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

from kvtui.views import style
from kvtui.views.commands import IN_SEARCH, bindings
from kvtui.views.dressed import DressedApp, FindPalettes, paint_on_terminal
from kvtui.views.keyed import KeyedApp
from kvtui.views.screens.search import Choice, SearchScreen
from kvtui.views.signals import leave_on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.binding import BindingType
    from textual.screen import Screen

    from kvtui.domain.process import Discovery
    from kvtui.domain.settings import Settings

    Find = Callable[[], Awaitable[Discovery]]
    """Looks for the servers of this machine; never raises."""

EVERY_S: Final = 3.0
"""Reading every command line of a machine takes tens of milliseconds in a thread."""


def run_search(
    seen: Discovery, find: Find, refused: Callable[[str], str], settings: Settings, *, palettes: FindPalettes = tuple
) -> tuple[Choice | None, int]:
    """Show what was found until something is chosen; gives the choice, or None, and the exit status of the app itself.

    ``refused``: why a target that was typed cannot be opened, or an empty text. The rest as for ``app.run_console``.
    """
    paint_on_terminal()
    gc.enable()
    app = SearchApp(seen, find, refused)
    app.find_palettes = palettes
    app.suit_terminal(settings.palette)
    if settings.ascii is not None:
        app.ascii_only = settings.ascii
    app.take_keys(settings.keys)
    app.run(mouse=settings.mouse)
    return app.choice, app.return_code or 0


class SearchApp(KeyedApp, DressedApp):
    """The search, before there is anything for a console to show."""

    TITLE = "kvtui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [one for one in bindings("app") if one.id in IN_SEARCH]

    def __init__(self, seen: Discovery, find: Find, refused: Callable[[str], str], *, theme: str = style.DEFAULT) -> None:
        super().__init__(css_path=[style.folder() / "base.tcss"])
        self._search = SearchScreen(seen, refused, EVERY_S)
        self._find = find
        self._hurry = asyncio.Event()
        self._unsigned: Callable[[], None] | None = None
        self.choice: Choice | None = None
        """What is to be opened; None where the person left."""
        self.dress(theme)
        self.animation_level = "none"

    def get_default_screen(self) -> Screen[None]:
        """The one screen."""
        return self._search

    def on_mount(self) -> None:
        """Signals, and the search that goes on."""
        with suppress(ValueError):  # outside the main thread there are no signals to take
            self._unsigned = leave_on((signal.SIGTERM, signal.SIGHUP), self.exit)
        self.run_worker(self._go_on(), name="search", group="search")

    def on_unmount(self) -> None:
        """Let go of the signals."""
        if self._unsigned is not None:
            self._unsigned()

    async def _go_on(self) -> None:
        while True:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), EVERY_S)
            self._hurry.clear()
            before = self._search.seen
            seen = await self._find()
            self._search.show(seen)
            # Where somebody types or chooses, what appears is only shown.
            if not before.servers and len(seen.servers) == 1 and self.screen is self._search:
                self._choose(Choice("server", server=seen.servers[0]))

    def on_search_screen_again(self) -> None:
        """Look at once."""
        self._hurry.set()

    def on_search_screen_chosen(self, message: SearchScreen.Chosen) -> None:
        """Leave with it."""
        self._choose(message.choice)

    def _choose(self, choice: Choice) -> None:
        self.choice = choice
        self.exit()
