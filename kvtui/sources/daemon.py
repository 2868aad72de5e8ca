"""Blocking calls off the event loop, in a thread that never holds up the exit."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Optional, TypeVar, Union

T = TypeVar("T")
_Job = Optional[Callable[[], None]]


class StillHanging(Exception):  # noqa: N818 (a state of the worker, told to the caller)
    """The call did not end in time, or an earlier one still has not: ask again later."""


class DaemonWorker:
    """One daemon thread that runs one call at a time.

    A ThreadPoolExecutor is joined when the interpreter exits, so one hung driver call would hold the exit; a
    daemon thread is not.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy = threading.Event()

    @property
    def hanging(self) -> bool:
        """True while a call has not come back."""
        return self._busy.is_set()

    async def run(self, call: Callable[[], T], timeout: float) -> T:
        """The result of ``call``, run in the thread; ``timeout`` in seconds.

        Raises StillHanging where it, or the call before it, has not come back; else what ``call`` raises.
        """
        if self._busy.is_set():
            raise StillHanging
        if self._thread is None:
            self._thread = threading.Thread(target=_serve, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(outcome: Union[Exception, tuple[T]]) -> None:
            if future.done():
                return
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome[0])

        def job() -> None:
            outcome: Union[Exception, tuple[T]]
            try:
                outcome = (call(),)
            except Exception as error:  # noqa: BLE001 (it is raised again where it was asked for)
                outcome = error
            # Before the result is told: whoever gets it may ask again at once.
            self._busy.clear()
            # A closed loop means that nobody waits any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome)

        self._busy.set()
        self._jobs.put(job)
        try:
            return await asyncio.wait_for(future, timeout)
        except asyncio.TimeoutError as error:
            if future.cancelled():
                raise StillHanging from error
            raise

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Let the thread end once it is idle, after ``last``, where there is one; a hung one is left to die with the process."""
        if last is not None:
            self._jobs.put(last)
        self._jobs.put(None)
        self._thread = None


def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
    while (job := jobs.get()) is not None:
        job()
