"""A log that a program prints as it grows: journalctl, docker, podman, kubectl."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from kvtui.domain.frame import Frame
from kvtui.parse.carriage import lines_of
from kvtui.parse.logreader import LogReader
from kvtui.ports import Clock
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.streams import LineStream

PATIENCE = 1.0
"""Seconds that ``read`` waits for its thread: a flood of lines takes longer, and comes with the next frame."""


class StreamLogSource:
    """The lines of a ``LineStream`` as frames. ``read`` never raises."""

    name = "log"

    def __init__(self, stream: LineStream, clock: Clock, *, every: float = 1.0, reader: LogReader | None = None) -> None:
        self.every = every
        self._stream, self._clock = stream, clock
        self._reader = reader if reader is not None else LogReader()
        self._worker = DaemonWorker("kvtui-stream")
        self._chosen = -1
        self._begun = False
        self._pending: list[bytes] = []
        self._last = Frame(now=None, finished=False)

    def choose(self, boot: int) -> None:
        """Show another start from the next read on."""
        self._chosen = boot

    async def read(self) -> Frame:
        """What the lines say now."""
        if not self._begun:
            self._begun = True
            self._stream.start()
        self._pending += self._stream.drain()
        if not self._worker.hanging:
            lines, self._pending = self._pending, []
            # Given up waiting, not given up: the thread keeps the lines it has.
            with contextlib.suppress(StillHanging):
                await self._worker.run(lambda: self._take(lines), PATIENCE)
        notes = (f"{self._stream.dropped:,} lines of the log were lost: more came than could be read.",) if self._stream.dropped else ()
        return replace(self._last, sources=(self._stream.health,), notes=(*notes, *self._last.notes))

    def _take(self, lines: list[bytes]) -> None:
        if lines:
            self._reader.feed([part for line in lines for part in (lines_of(line) if b"\r" in line else (line,))])
        self._last = self._made()

    def _made(self) -> Frame:
        seen = self._reader.reading()
        if not seen.boots:
            return Frame(now=seen.now, finished=False, counts=seen.counts, notes=seen.notes)
        chosen = self._chosen if -len(seen.boots) <= self._chosen < len(seen.boots) else -1
        return Frame(
            now=seen.now,
            finished=False,
            boots=seen.boots,
            chosen=chosen,
            timeline=seen.timelines[chosen],
            timelines=seen.timelines,
            events=seen.events[chosen],
            counts=seen.counts,
            notes=seen.notes,
        )

    def stop(self) -> None:
        """Begin to end the program."""
        self._stream.stop()

    async def close(self) -> None:
        """End the program and the thread."""
        self._worker.close()
        await self._stream.close()
