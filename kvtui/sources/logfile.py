"""A log as a source: read once to its end, then followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from kvtui.domain.frame import Frame, SourceHealth, SourceState
from kvtui.domain.samples import EMPTY_TIMELINE
from kvtui.parse.carriage import lines_of, settled
from kvtui.parse.foreign import Head
from kvtui.parse.logreader import LINE_LIMIT, LogReader, LogReading
from kvtui.parse.redact import safe
from kvtui.ports import Clock
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.errors import NothingYet, Unreadable
from kvtui.sources.opening import PlainStream, Stream, open_log

_CHUNK: Final = 1 << 18
"""Bytes read at a time: a chunk and its lines stay in the processor's cache, which makes reading a fifth faster than 4 MiB."""
QUIET_SECONDS: Final = 60.0
"""A plain file that has not been written to for this long is taken as finished: a server that runs writes
at least a decode line or an access line a minute, or is stuck, which is judged over the log's span as well."""
ZONES: Final = 16 * 3600.0
"""No two time zones are further apart: a stamp older than that is old."""
DAYS_OF_CLOCK_ONLY: Final = 366 * 86_400.0
"""Stamps without a date count from zero."""
_PATIENCE: Final = 1.0
"""Seconds that ``read`` waits for its thread; after that it tells how far the thread has come."""
_GONE: Final = 2
"""Looks in a row at a file that is not there, after which it is called gone."""
_PIPE_WAIT: Final = 0.3
"""How long a read waits for more from a pipe that is still open, in seconds."""


class LogSource:
    """One log file or pipe. ``read`` never raises; ``read_all`` is for the report and raises Unreadable."""

    name = "log"

    def __init__(
        self, target: str, clock: Clock, *, every: float = 1.0, stdin: BinaryIO | None = None, reader: LogReader | None = None
    ) -> None:
        self.every = every
        self._target, self._clock, self._stdin = target, clock, stdin
        self._shown = "standard input" if target == "-" else safe(target, 200)
        self._reader = reader if reader is not None else LogReader()
        self._missed = 0
        """Looks in a row at which the file that is followed had no name any more."""
        self._next_target: str | None = None
        self._stream: Stream | None = None
        self._rest = b""
        self._tail_fed = False
        self._ended = False
        self._chosen = -1
        self._last: Frame | None = None
        self._lines = 0
        self._notes: list[str] = []
        self._stream_note = ""
        self._head = Head()
        self._reading: LogReading | None = None
        self._unread = False
        """True while lines came that ``_reading`` does not hold."""
        self._state: SourceState = "waiting"
        self._since: float | None = None
        self._worker = DaemonWorker("kvtui-log")

    def choose(self, boot: int) -> None:
        """Show another start from the next read on."""
        self._chosen = boot

    def follow(self, target: str) -> None:
        """Read on in another file from the next read on: a restarted server may write elsewhere. What was read stays."""
        self._next_target = target

    async def read(self) -> Frame:
        """What the log says now; the work is done in a thread of this source.

        A log that takes long to read, or a disk that hangs, gives what was read before, and says so.
        """
        try:
            frame = await self._worker.run(self.read_now, _PATIENCE)
        except StillHanging:
            begun = self._last is None
            reason = f"reading; {self._lines:,} lines so far" if begun else "the file does not answer; this is what it said before"
            return self._with_health(self._last or Frame(now=None, finished=False), "waiting", reason)
        self._last = frame
        return frame

    def stop(self) -> None:
        """Nothing that takes time."""

    async def close(self) -> None:
        """Close the file and end the thread."""
        if self._worker.hanging:
            # What is read just now may open the file yet.
            self._worker.close(self.release)
        else:
            self._worker.close()
            self.release()

    def read_now(self) -> Frame:
        """Read what has been added; a log that cannot be read says so in the frame's health."""
        try:
            self._advance(_PIPE_WAIT)
        except NothingYet as error:
            return self._failed(str(error), "waiting")
        except Unreadable as error:
            return self._failed(str(error))
        except OSError as error:
            return self._failed(f"{self._shown} cannot be read: {error.strerror or error}.")
        return self._frame()

    def read_all(self) -> Frame:
        """Read to the end, wait for the end of a pipe, and let go of the file.

        Raises Unreadable, with one sentence, where nothing of SGLang's could be read.
        """
        try:
            self._advance(None)
        except OSError as error:
            raise Unreadable(f"{self._shown} cannot be read: {error.strerror or error}.") from None
        self._feed_tail()
        frame = self._frame()
        self.release()
        if not frame.boots:
            raise Unreadable(self._foreign(frame))
        return frame

    def release(self) -> None:
        """Close the file; a later read opens it again."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _advance(self, wait: float | None) -> None:
        if self._next_target is not None:
            self._move(self._next_target)
        if self._ended:
            return
        if self._stream is None:
            self._stream = open_log(self._target, self._stdin)
        self._read_on(self._stream, wait)
        if isinstance(self._stream, PlainStream):
            self._look_for_rotation(self._stream)

    def _move(self, target: str) -> None:
        """To the end of the file that was read, then to the other one."""
        if self._stream is not None:
            self._read_on(self._stream, 0)
        self.release()
        before, self._target, self._next_target = self._shown, target, None
        self._shown, self._ended = safe(target, 200), False
        self._rotated(f"the server was started anew and left {before}: {self._shown} follows, and line numbers count on")

    def _read_on(self, stream: Stream, wait: float | None) -> None:
        while True:
            chunk = stream.read(_CHUNK, wait)
            if chunk is None:
                return
            if not chunk:
                break
            self._tail_fed = False
            self._take(chunk)
        grows = stream.kind == "plain" or stream.cut
        if not grows:
            self._ended = True
        if not grows or self._quiet():
            self._feed_tail()
        self._stream_note = stream.note

    def _take(self, chunk: bytes) -> None:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if b"\r" in chunk:
            lines = [part for line in lines for part in lines_of(line)]
        if b"\r" in self._rest:
            more, self._rest = settled(self._rest)
            lines += more
        # a line without an end: its start is enough
        self._rest = self._rest[:LINE_LIMIT]
        self._feed(lines)

    def _feed(self, lines: list[bytes]) -> None:
        self._reader.feed(lines)
        self._unread = True
        self._lines += len(lines)
        self._head.look(lines)

    def _feed_tail(self) -> None:
        if self._rest.strip():
            self._feed(lines_of(self._rest))
            self._rest = b""
        self._tail_fed = True

    def _look_for_rotation(self, stream: PlainStream) -> None:
        device, inode, size = stream.identity()
        if size < stream.tell():
            stream.rewind()
            self._rotated("the log was cut to a smaller size while it was read: what follows is the new content, and line numbers count on")
            self._read_on(stream, 0)
            return
        try:
            now = Path(self._target).stat()
        except FileNotFoundError:
            self._missed += 1
            return
        self._missed = 0
        if (now.st_dev, now.st_ino) != (device, inode) and now.st_size > 0:
            stream.close()
            self._stream = None
            self._rotated("the log was rotated while it was read: the new file follows, and line numbers count on")
            self._stream = open_log(self._target, self._stdin)
            self._read_on(self._stream, 0)

    def _rotated(self, sentence: str) -> None:
        self._feed_tail()
        if sentence not in self._notes:
            self._notes.append(sentence)

    def _quiet(self) -> bool:
        try:
            written = Path(self._target).stat().st_mtime
        except OSError:
            return True
        # A copy of an old log has a fresh time of change; its own stamps, in whatever zone, do not lie.
        newest = self._reader.newest
        dated = newest is not None and newest > DAYS_OF_CLOCK_ONLY
        old = dated and newest is not None and written - newest > ZONES
        return old or self._clock.now() - written > QUIET_SECONDS

    def _foreign(self, frame: Frame) -> str:
        return self._head.told(self._shown, frame.counts.lines, self._stream_note)

    def _frame(self) -> Frame:
        if self._reading is None or self._unread:
            self._reading, self._unread = self._reader.reading(), False
        reading = self._reading
        finished = self._ended or self._tail_fed
        chosen = self._chosen if -len(reading.boots) <= self._chosen < len(reading.boots) else -1
        shown = bool(reading.boots)
        frame = Frame(
            now=reading.now,
            finished=finished,
            boots=reading.boots,
            chosen=chosen,
            timeline=reading.timelines[chosen] if shown else EMPTY_TIMELINE,
            timelines=reading.timelines,
            events=reading.events[chosen] if shown else (),
            counts=reading.counts,
            notes=(*self._notes, *([self._stream_note] if self._stream_note else ()), *reading.notes),
        )
        if self._missed >= _GONE:
            return self._with_health(frame, "failed", f"{self._shown} is no longer there. A new file of that name is followed.")
        state: SourceState = "ended" if finished else "live"
        return self._with_health(frame, state if shown else "failed", "" if shown else self._foreign(frame))

    def _failed(self, reason: str, state: SourceState = "failed") -> Frame:
        if self._reading is None:
            return self._with_health(Frame(now=None, finished=False), state, reason)
        return self._with_health(self._frame(), state, reason)

    def _with_health(self, frame: Frame, state: SourceState, reason: str) -> Frame:
        if state != self._state or self._since is None:
            self._state, self._since = state, self._clock.now()
        health = SourceHealth("log", self._shown, state, reason, self._since, frame.now)
        return replace(frame, sources=(health,))
