"""A program of this machine run for its output, and never left behind."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import sh

CHUNK: Final = 65_536
_GRACE: Final = 0.2
"""Seconds between asking a child to end and killing it."""
_POLL: Final = 0.01


class NotInstalled(Exception):  # noqa: N818 (the sentence for the user is made of it)
    """The program is not on PATH."""


class CannotStart(Exception):  # noqa: N818
    """The program is there but cannot be run; the text says why."""


class _Process(Protocol):
    def is_alive(self) -> tuple[bool, int | None]: ...


class _Running(Protocol):
    """What is used of sh's RunningCommand."""

    pid: int
    process: _Process

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


def _spawn(command: Callable[..., Any], arguments: Sequence[str], output: int) -> _Running:
    """Run ``command`` in the background, from a thread without an event loop.

    Where sh sees a running loop it tells it of the end, from a thread that then prints a traceback if the loop is closed.
    Raises what sh raises.
    """
    outcome: list[_Running | Exception] = []

    def start() -> None:
        try:
            outcome.append(
                command(
                    *arguments,
                    _bg=True,
                    _bg_exc=False,
                    _out=output,
                    _err_to_out=True,
                    _tty_in=False,
                    _tty_out=False,
                    _ok_code=[*range(256), *range(-64, 0)],
                )
            )
        except Exception as error:  # noqa: BLE001 (raised again below)
            outcome.append(error)

    thread = threading.Thread(target=start, name="start", daemon=True)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, Exception):
        raise result
    return result


class Child:
    """One run of a program: its output in chunks of bytes, standard error among it.

    The pipe is our own: ``sh`` would keep a line of any length whole until its end comes.
    """

    def __init__(self, program: str, arguments: Sequence[str], on_chunk: Callable[[bytes], None]) -> None:
        """Start it.

        ``on_chunk`` is called in a daemon thread, must not block and must not raise.
        Raises NotInstalled, CannotStart.
        """
        try:
            command = sh.Command(program)
        except sh.CommandNotFound as error:
            raise NotInstalled(program) from error
        self._on_chunk = on_chunk
        self._drained = threading.Event()
        self._asked_at: float | None = None
        self._reader, writer = os.pipe()
        try:
            self._running = _spawn(command, arguments, writer)
        except (OSError, sh.ForkException) as error:
            os.close(self._reader)
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it could not be started"
            raise CannotStart(f"{program}: {reason}") from error
        finally:
            os.close(writer)
        atexit.register(self.kill)
        threading.Thread(target=self._read, name=f"read {program}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id."""
        return int(self._running.pid)

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return bool(self._running.process.is_alive()[0])

    @property
    def exit_code(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        alive, code = self._running.process.is_alive()
        return None if alive else code

    @property
    def drained(self) -> bool:
        """True once all its output was handed over."""
        return self._drained.is_set()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._reader, CHUNK):
                self._on_chunk(chunk)
        except OSError:
            return
        finally:
            self._drained.set()
            os.close(self._reader)

    async def finish(self, timeout: float) -> bool:
        """Wait until it has ended and its output is here; False where ``timeout`` seconds were not enough."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended(), timeout)
        return not self.alive and self.drained

    async def _ended(self) -> None:
        while self.alive or not self.drained:  # noqa: ASYNC110 (sh tells no event)
            await asyncio.sleep(_POLL)

    def stop(self) -> None:
        """Ask it to end."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            self._signal(self._running.terminate)

    async def close(self) -> None:
        """Ask it to end, where nobody has, and kill it 0.2 s later."""
        self.stop()
        since = time.monotonic() - (self._asked_at or 0.0)
        if not await self._gone(max(0.0, _GRACE - since)):
            self.kill()
            await self._gone(_GRACE)
        atexit.unregister(self.kill)

    async def _gone(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.alive and loop.time() < end:  # noqa: ASYNC110 (sh tells no event)
            await asyncio.sleep(_POLL)
        return not self.alive

    def kill(self) -> None:
        """End it at once; for the exit of the interpreter."""
        if self.alive:
            self._signal(self._running.kill)

    @staticmethod
    def _signal(send: Callable[[], None]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send()
