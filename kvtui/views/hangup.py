"""A terminal that is gone ends the console, also where no signal tells it; one that comes back is painted anew."""

from __future__ import annotations

import errno
import os
import sys
import termios
from typing import TYPE_CHECKING, Final

from textual.app import App

if TYPE_CHECKING:
    from textual.driver import Driver

_EVERY_S: Final = 5.0


def gone(fd: int) -> bool:
    """True for a terminal whose other end was closed; False for one that is there, and for what is no terminal."""
    try:
        termios.tcgetattr(fd)
    except termios.error as error:
        return bool(error.args) and error.args[0] == errno.EIO
    return False


class HangupApp(App[None]):
    """The part of the console that leaves when its terminal does: a session's end does not always reach it as a signal."""

    _server = 0
    """Pid of what serves the page, where there is one."""

    def get_driver_class(self) -> type[Driver]:
        """The driver of this platform; on a terminal one that outlives it."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from kvtui.views.lasting import LastingDriver

        return LastingDriver

    def on_mount(self) -> None:
        """Look at the terminal now and then; tests have none. On a page the terminal is the process that serves it."""
        # After fg Textual paints only what changes: on a terminal that the shell has cleared.
        self.app_resume_signal.subscribe(self, lambda _app: self.refresh())
        if self.is_web:
            self._server = os.getppid()
            self.set_interval(_EVERY_S, self._look_for_server)
        elif not self.is_headless and sys.__stderr__ is not None and sys.__stderr__.isatty():
            self.set_interval(_EVERY_S, self._look)

    def _look(self) -> None:
        if sys.__stderr__ is not None and gone(sys.__stderr__.fileno()):
            self.exit(return_code=129)

    def _look_for_server(self) -> None:
        if os.getppid() != self._server:
            self.exit(return_code=129)
