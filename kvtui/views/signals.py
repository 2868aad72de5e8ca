"""Signals that end the console, also while its terminal takes nothing.

A terminal that nobody reads (a stalled connection, a paused multiplexer) stops Textual's event loop as soon as thirty texts
wait to be written. The loop's own signal handlers do not run then; Python's do, between two tries to take a lock.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable
from typing import Final

GIVE_UP_S: Final = 2.0
"""Seconds that an orderly end may take after a signal: measured are 0.1 to 0.5."""


def leave_on(numbers: Iterable[signal.Signals], leave: Callable[[], object]) -> Callable[[], None]:
    """Call ``leave`` in the running loop at one of these signals; where that does not end the process, end it. Gives what undoes it.

    Raises ValueError outside the main thread, where there are no signals to take.
    """
    loop = asyncio.get_running_loop()

    def took(number: int, _frame: object) -> None:
        watch = threading.Timer(GIVE_UP_S, _end, (number,))
        watch.daemon = True
        watch.start()
        with contextlib.suppress(RuntimeError):  # a closed loop: it is leaving
            loop.call_soon_threadsafe(leave)

    before = {number: signal.signal(number, took) for number in numbers}

    def undo() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return undo


def _end(number: int) -> None:
    """End at once, after what must not be left undone: programs that were started are killed."""
    atexit._run_exitfuncs()  # noqa: SLF001 (the interpreter's own way out is barred: it joins the thread that writes)
    os._exit(128 + number)
