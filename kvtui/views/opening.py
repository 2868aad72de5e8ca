"""What opens over the main screen: the pages of text, the boots, the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.views.commands import help_sections
from kvtui.views.keyed import commands_of
from kvtui.views.looking_back import LookingBackApp
from kvtui.views.screens.main import MainScreen
from kvtui.views.screens.text import TextScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.present.line import Line
    from kvtui.present.state import ViewState
    from kvtui.views.messages import Detail
    from kvtui.views.session import Session


class OpeningApp(LookingBackApp):
    """The part of the console that opens screens; the rest is ``kvtui.app``."""

    @property
    def _session(self) -> Session:
        raise NotImplementedError

    def _open(self, title: str, make: Callable[[ViewState, int], tuple[Line, ...]], *, copied: str = "", whole: bool = False) -> None:
        if not isinstance(self.screen, TextScreen):
            self.push_screen(TextScreen(title, make, self._session.state, copied=copied, whole=whole))

    def action_why(self) -> None:
        """The proof of the verdicts."""
        from kvtui.present.pictures import Pictures
        from kvtui.present.why import why
        from kvtui.views.widgets.chart import chart

        self.look_back()
        pictures = Pictures(chart)
        self._open("Why", lambda state, width: why(state, width, pictures))

    def action_where(self) -> None:
        """The origin of every number."""
        from kvtui.present import where

        self._open("Where each number comes from", where.where)

    def action_machine(self) -> None:
        """GPUs, host, processes and sources."""
        from kvtui.present.machine import machine_lines

        self._open("Machine", machine_lines, whole=True)

    def action_log_lines(self) -> None:
        """The lines that matter."""
        from kvtui.present.loglines import lines as log_lines

        self._open("Log: the lines that matter", lambda state, width: log_lines(state.analysis.frame, width), whole=True)

    def action_help(self) -> None:
        """Keys and words."""
        from kvtui.present.help import help_lines

        self._open("Help", lambda _state, width: help_lines(help_sections(commands_of(self)), width), whole=True)

    def on_detail(self, message: Detail) -> None:
        """All about one option; it follows the what-if."""
        from kvtui.present import options

        wanted = message.estimate

        def make(state: ViewState, width: int) -> tuple[Line, ...]:
            found = next((e for e in state.estimates if e.id == wanted.id), wanted)
            return options.detail(found, width, state)

        self._open("Option", make, copied=options.copied(wanted))

    def action_boots(self) -> None:
        """The starts in this log."""
        from kvtui.views.screens.boots import BootsScreen

        if self._session.state is not None and isinstance(self.screen, MainScreen):
            self.push_screen(BootsScreen(self._session.state, self._session.timelines))

    def action_timeline(self) -> None:
        """Large charts."""
        if self._session.state is not None and isinstance(self.screen, MainScreen):
            from kvtui.views.screens.timeline import TimelineScreen

            self.look_back()
            screen = TimelineScreen()
            screen.state = self._session.state
            self.push_screen(screen)
