"""A terminal driver that outlives its terminal.

Textual writes in a thread, through a queue of thirty texts. A write to a terminal that is gone raises, the thread ends, and
the thirty-first text then holds up the event loop for ever: neither a signal nor a timer ends the console any more.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App


class Lasting:
    """What is written on a terminal; nothing once it is gone."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.gone = False

    def write(self, text: str) -> int:
        """Write, unless a write has failed before."""
        if not self.gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self.gone = True
        return len(text)

    def flush(self) -> None:
        """Send what was written, where there is somebody to send it to."""
        if not self.gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self.gone = True

    def isatty(self) -> bool:
        """As the terminal says."""
        return self._file.isatty()

    def fileno(self) -> int:
        """The terminal's descriptor."""
        return self._file.fileno()


class LastingDriver(LinuxDriver):
    """Textual's own, on a ``Lasting`` terminal."""

    def __init__(self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            # Its thread calls these four methods alone.
            self._file = Lasting(self._file)  # type: ignore[assignment]
