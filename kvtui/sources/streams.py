"""Logs that a program must be asked for: ``journalctl``, ``docker``, ``podman``, ``kubectl``."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, Protocol

from kvtui.domain.frame import SourceHealth
from kvtui.domain.process import LogTarget
from kvtui.parse.follow import LineCutter, follow_command
from kvtui.parse.redact import safe
from kvtui.ports import Clock
from kvtui.sources.child import CannotStart, Child, NotInstalled

LINES_LIMIT: Final = 250_000
"""Lines held between two drains."""
BYTES_LIMIT: Final = 64 << 20
"""Bytes held between two drains."""
_BACK_OFF: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_STEADY: Final = 60.0
"""Seconds a stream must have run for a new failure to count as the first."""
_TRIAL: Final = 2.0
"""Seconds for which the first few lines of a run are held back: they may be the program's own complaint."""
_COMPLAINT: Final = 50
"""Lines from which on it is a log whatever its age."""
_OVERLAP: Final = 1.0
"""Seconds asked for again after a break: a line seen twice is better than one lost."""

HELP: Final = {
    "journalctl": "give the log file as the target, or read the unit's output where systemd runs",
    "docker": "run kvtui on the machine where the container runs, or give the log file as the target",
    "podman": "run kvtui on the machine where the container runs, or give the log file as the target",
    "kubectl": "install kubectl, or pipe the log in: kubectl logs -f POD | kvtui -",
}


class LineStream(Protocol):
    """Raw lines as they come."""

    def start(self) -> None:
        """Begin; a failure is told by ``health``."""
        ...

    def drain(self) -> list[bytes]:
        """The lines since the last call, without line ends; begins again after a break when it is time."""
        ...

    @property
    def dropped(self) -> int:
        """Lines lost so far because more came than is held."""
        ...

    @property
    def health(self) -> SourceHealth:
        """How it does."""
        ...

    def stop(self) -> None:
        """Begin to end it."""
        ...

    async def close(self) -> None:
        """End it; no process is left."""
        ...


class LineQueue:
    """Lines from the reader's thread to the event loop: bounded, oldest dropped first and counted."""

    def __init__(self, lines: int = LINES_LIMIT, size: int = BYTES_LIMIT) -> None:
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._most = lines
        self._size = size
        self._cutter = LineCutter()
        self.dropped = 0
        self.taken = 0

    def push(self, chunk: bytes) -> None:
        """Take what was read; called in the reader's thread."""
        with self._lock:
            for line in self._cutter.feed(chunk):
                self._add(line)

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        self._held += len(line)
        self.taken += 1
        while len(self._lines) > self._most or self._held > self._size:
            self._held -= len(self._lines.popleft())
            self.dropped += 1

    def finish(self) -> None:
        """The last line may have no end."""
        with self._lock:
            if rest := self._cutter.rest():
                self._add(rest)

    def drain(self) -> list[bytes]:
        """All lines held."""
        with self._lock:
            lines = list(self._lines)
            self._lines.clear()
            self._held = 0
            return lines


class ProgramStream:
    """``LineStream`` over a following program, begun again with growing pauses when it ends."""

    def __init__(self, target: LogTarget, clock: Clock, queue: LineQueue | None = None) -> None:
        self._target = target
        self._clock = clock
        self._queue = queue or LineQueue()
        self._child: Child | None = None
        self._failures = 0
        self._retry_at: float | None = None
        self._begun = 0.0
        self._last_at: float | None = None
        self._last_line = b""
        self._trial: list[bytes] | None = None
        self._label = f"{target.kind} {safe(target.name, 80)}"
        self._health = SourceHealth("log", self._label, "waiting", "not begun", clock.now())

    @property
    def dropped(self) -> int:
        """Lines lost so far because more came than is held."""
        return self._queue.dropped

    @property
    def health(self) -> SourceHealth:
        """How it does; ``last_at`` is the wall-clock time at which lines last came."""
        return self._health

    def start(self) -> None:
        """Run the program; a failure is told by ``health`` and tried again by ``drain``."""
        command = follow_command(self._target, None if self._last_at is None else self._last_at - _OVERLAP)
        if command is None:
            self._tell("failed", f"there is no program that follows {self._label}; give a log file as the target")
            return
        program, arguments = command
        self._begun = self._clock.now()
        self._retry_at = None
        try:
            self._child = Child(program, arguments, self._queue.push)
        except NotInstalled:
            self._break(f"{program} is not installed here: {HELP[program]}")
        except CannotStart as error:
            self._break(f"{error}: {HELP[program]}")
        else:
            self._trial = []
            self._tell("waiting", f"{program} has printed nothing yet")

    def drain(self) -> list[bytes]:
        """The lines since the last call."""
        now = self._clock.now()
        if self._child is None:
            if self._retry_at is not None and now >= self._retry_at:
                self.start()
            return []
        ended = self._child.drained and not self._child.alive
        if ended:
            self._queue.finish()
        lines = self._settled(self._queue.drain(), now, self._child.exit_code if ended else None)
        if lines:
            self._last_at, self._last_line = now, lines[-1]
            self._tell("live", "")
        if ended:
            self._after_end(self._child.exit_code)
        return lines

    def _settled(self, lines: list[bytes], now: float, code: int | None) -> list[bytes]:
        """``lines``, with those held back before; nothing while they may not belong to the log."""
        if self._trial is None:
            return lines
        self._trial += lines
        if code:
            self._last_line = self._trial[-1] if self._trial else b""
            held, self._trial = self._trial, None
            return held if len(held) >= _COMPLAINT else []
        if code is None and len(self._trial) < _COMPLAINT and 0 <= now - self._begun < _TRIAL:
            return []
        held, self._trial = self._trial, None
        return held

    def _after_end(self, code: int | None) -> None:
        self._child = None
        if self._clock.now() - self._begun >= _STEADY:
            self._failures = 0
        last = safe(self._last_line.decode("utf-8", "replace"), 160)
        how = f"ended with status {code}" if code else "ended: the unit or container has stopped, or its log was rotated away"
        # A program that failed says why in its last line; one that ended well has only log lines.
        self._break(f"{self._label} {how}{f': {last}' if code and last else ''}")

    def _break(self, reason: str) -> None:
        pause = _BACK_OFF[min(self._failures, len(_BACK_OFF) - 1)]
        self._failures += 1
        self._retry_at = self._clock.now() + pause
        self._tell("failed", f"{reason}; tried again in {pause:.0f} s")

    def _tell(self, state: str, reason: str) -> None:
        old = self._health
        since = old.since if old.state == state else self._clock.now()
        self._health = SourceHealth("log", self._label, state, reason, since, self._last_at)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Ask the program to end."""
        if self._child is not None:
            self._child.stop()

    async def close(self) -> None:
        """End the program; it gets 0.2 s before it is killed."""
        child, self._child, self._retry_at = self._child, None, None
        if child is not None:
            await child.close()
