"""A terminal that is gone ends the console, also where no signal tells it."""

from __future__ import annotations

import errno
import sys
import termios
from typing import Final

from textual.app import App

_EVERY_S: Final = 2.0


def gone(fd: int) -> bool:
    """True for a terminal whose other end was closed; False for one that is there, and for what is no terminal."""
    try:
        termios.tcgetattr(fd)
    except termios.error as error:
        return bool(error.args) and error.args[0] == errno.EIO
    return False


class HangupApp(App[None]):
    """The part of the console that leaves when its terminal does: a session's end does not always reach it as a signal."""

    def on_mount(self) -> None:
        """Look at the terminal now and then; tests have none."""
        if not self.is_headless and sys.__stderr__ is not None and sys.__stderr__.isatty():
            self.set_interval(_EVERY_S, self._look)

    def _look(self) -> None:
        if sys.__stderr__ is not None and gone(sys.__stderr__.fileno()):
            self.exit(return_code=129)
