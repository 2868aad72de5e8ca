"""A terminal driver that outlives its terminal, and sleeps while nobody types.

Textual writes in a thread, through a queue of thirty texts. A write to a terminal that is gone raises, the thread ends, and
the thirty-first text then holds up the event loop for ever: neither a signal nor a timer ends the console any more.

It reads in another, which looks up ten times a second, all day long.
"""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import selectors
import threading
from typing import IO, TYPE_CHECKING, Final

from textual import constants
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

_READ: Final = 4096
_TICK_S: Final = 0.1
"""Seconds between two looks at whether an escape stands alone, or is the beginning of a key that takes long to arrive."""
_TICKS: Final = 10 + math.ceil(constants.ESCAPE_DELAY / _TICK_S)
"""Looks after the newest input; then nothing is pending."""


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


class Bell(threading.Event):
    """An event that ends a wait for input: while it is set, ``heard`` can be read from."""

    def __init__(self) -> None:
        super().__init__()
        self.heard, self._rung = os.pipe()
        os.set_blocking(self.heard, False)
        os.set_blocking(self._rung, False)

    def set(self) -> None:
        """Set it."""
        super().set()
        # A full pipe can be read from as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._rung, b".")

    def clear(self) -> None:
        """Set it back."""
        super().clear()
        with contextlib.suppress(BlockingIOError):
            # To the last: what stays would end every wait from now on.
            while os.read(self.heard, _READ):
                pass


class LastingDriver(LinuxDriver):
    """Textual's own, on a ``Lasting`` terminal."""

    def __init__(self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            # Its thread calls these four methods alone.
            self._file = Lasting(self._file)  # type: ignore[assignment]
        self.exit_event: Bell = Bell()

    def run_input_thread(self) -> None:
        """Read what is typed until the bell rings, asleep in between."""
        parser = XTermParser(self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self.exit_event.heard, selectors.EVENT_READ)
            self._read_keys(parser, selector)
        # What was begun is not finished any more.
        with contextlib.suppress(EOFError, ParseError):
            list(parser.feed(""))

    def _read_keys(self, parser: XTermParser, selector: selectors.SelectSelector) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        ticks = 0
        while not self.exit_event.is_set():
            found = selector.select(_TICK_S if ticks else None)
            ticks = max(0, ticks - 1)
            if any(key.fd == self.fileno for key, _ in found):
                data = os.read(self.fileno, _READ)
                ticks = _TICKS
                if not data:
                    # Nobody types there any more; left where it is it would be ready for ever.
                    selector.unregister(self.fileno)
                # Part of a character is no text yet, and the parser takes an empty one for the end.
                text = decoder.decode(data)
                for event in parser.feed(text) if text else ():
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
        # An answer of the terminal that is still under way is not to reach the shell.
        selector.unregister(self.exit_event.heard)
        if selector.get_map() and selector.select(_TICK_S):
            os.read(self.fileno, _READ)
