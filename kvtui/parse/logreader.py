"""Reads a whole log, however large, line by line and once: what ``sources`` feeds and everything else looks at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.frame import ReadCounts
from kvtui.domain.samples import Timeline
from kvtui.parse.assembly import Assembler
from kvtui.parse.batch_lines import CONTINUATION
from kvtui.parse.batch_store import BatchStore
from kvtui.parse.boot_builder import BootBuilder
from kvtui.parse.boots import Place
from kvtui.parse.dispatch import Dispatcher
from kvtui.parse.envelopes import Envelopes
from kvtui.parse.framing import Framed, Framer
from kvtui.parse.packed_lines import RawLine
from kvtui.parse.redact import safe
from kvtui.parse.stamps import clock_seconds
from kvtui.parse.wording import bounds

LINE_LIMIT: Final = 262_144
"""Bytes kept of one line; the rest cannot hold anything that is read."""
_BATCH_LIMIT: Final = 4_096
_CLOCK_LINES: Final = 20_000
"""Lines that are looked at for a stamp, to see whether it has a date."""
_WORDED_BATCHES: Final = 40
"""Batch lines of a start that are looked at for the version."""
_REQUEST: Final = re.compile(
    rb"(?:^|\s|\])(?:Receive|Finish)(?: OpenAI)?: obj=|\"event\":\s?\"request\.|GenerateReqInput\(|ChatCompletionRequest\("
)
_INTERESTING: Final = re.compile(
    rb"\"MESSAGE\"|mem|Mem|GB|rror|xception|glang|server_args|atchdog|SIG|igquit|raceback|set|Set|"
    rb"isabl|nabl|max_|etract|apture|KV|ailed|illed|exit|fired up|startup complete|verrid|just|"
    rb"distributed|parallel|eight|llocat|NCCL|nccl|Xid|ECC|hermal|orcing|educ|alling|--|dump|"
    rb"cache|rocess|bort|fault|space left|longer"
)
"""A line without any of these cannot be one that is read. Plain words only, which keeps the search fast."""
_TIME_ONLY: Final = re.compile(rb"\[(\d\d):(\d\d):(\d\d)(?:[ .\]])")
_BYTES_MESSAGE: Final = re.compile(rb"^\{.*\"MESSAGE\"\s?:\s?\[")
"""journald prints a message with control characters as a list of bytes."""
_OPENERS: Final = ("server_args", "Load", "Init", "Memory", "KV", "max_total")
"""How a record begins that may open a start, so that the line before it ends another."""
_DATED: Final = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class LogReading:
    """What was read so far."""

    boots: tuple[Boot, ...]
    timelines: tuple[Timeline, ...]
    """Samples of each start."""
    events: tuple[tuple[Event, ...], ...]
    """Events of each start."""
    now: float | None
    """The newest stamp."""
    counts: ReadCounts
    notes: tuple[str, ...]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


class LogReader:
    """Takes complete lines, in order; can be asked for what they say at any time and fed on.

    ``detail``: newest batch lines kept whole; ``coarse``: older ones kept, spread evenly.
    """

    def __init__(self, detail: int = 50_000, coarse: int = 20_000) -> None:
        self._framer = Framer()
        self._assembler = Assembler()
        self._dispatcher = Dispatcher()
        self._batches = BatchStore(detail, coarse)
        self._line = 0
        self._bytes = 0
        self._prefill = self._decode = self._requests = self._worded = 0
        self._worded_boot: BootBuilder | None = None
        self._at: float | None = None
        self._at_line = 0
        self._clock_only: bool | None = None
        self._last: RawLine = (0, b"")
        self._before: RawLine = (0, b"")

    def feed(self, lines: list[bytes]) -> None:
        """Read complete lines, without their line ends."""
        if self._clock_only is None:
            self._look_at_clock(lines)
        first = self._line + 1
        batches: list[RawLine] = []
        add = batches.append
        prefill = 0
        for number, raw in enumerate(lines, first):
            if b"Decode batch" in raw:
                add((number, raw))
            elif b"Prefill batch" in raw:
                prefill += 1
                add((number, raw))
            elif b" HTTP/1." in raw:
                continue
            elif self._assembler.busy or self._framer.pending or _INTERESTING.search(raw, 0, LINE_LIMIT) or CONTINUATION.match(raw):
                if batches:
                    self._take(batches, prefill)
                    batches.clear()
                    prefill = 0
                self._rare(number, raw[:LINE_LIMIT], lines[number - first - 1] if number > first else self._last[1])
        self._take(batches, prefill)
        if lines:
            self._bytes += sum(map(len, lines)) + len(lines)
            self._line += len(lines)
            self._last = (self._line, next((raw[:LINE_LIMIT] for raw in reversed(lines[-64:]) if raw.strip()), b""))

    def _take(self, batches: list[RawLine], prefill: int) -> None:
        if not batches:
            return
        self._prefill += prefill
        self._decode += len(batches) - prefill
        if self._clock_only:
            for number, raw in batches:
                self._note_clock(number, raw)
        self._flush()
        if self._dispatcher.boots.current is not self._worded_boot or self._worded < _WORDED_BATCHES:
            self._word(batches[:_WORDED_BATCHES])
        self._batches.extend(batches)

    def _word(self, batches: list[RawLine]) -> None:
        builder = self._dispatcher.boots.batches(self._framer.stamp(_text(batches[0][1]), batches[0][0]))
        if builder is not self._worded_boot:
            self._worded_boot, self._worded = builder, 0
        self._worded += len(batches)
        for number, raw in batches:
            builder.narrow(bounds(self._framer.frame(_text(raw), number).message))

    def _flush(self) -> None:
        for piece in self._assembler.flush():
            self._dispatcher.take(piece, self._place(piece.framed))

    def _look_at_clock(self, lines: list[bytes]) -> None:
        if self._line > _CLOCK_LINES:
            self._clock_only = False
        for raw in lines:
            head = raw[:200]
            if _DATED.search(head):
                self._clock_only = False
                return
            if _TIME_ONLY.search(head):
                self._clock_only = True
                return

    def _note_clock(self, number: int, raw: bytes) -> None:
        match = _TIME_ONLY.search(raw, 0, 200)
        if match is not None:
            seconds = clock_seconds(match[1].decode(), match[2].decode(), match[3].decode())
            if seconds is not None:
                self._framer.midnights.note(number, seconds)

    def _rare(self, number: int, raw: bytes, before: bytes) -> None:
        if _REQUEST.search(raw, 0, 2_000):
            # what clients sent is nobody's business here
            self._requests += 1
            return
        if _BYTES_MESSAGE.search(raw, 0, 4_096):
            raw = self._plain(raw)
            if b"Decode batch" in raw or b"Prefill batch" in raw:
                self._take([(number, raw)], int(b"Prefill batch" in raw))
                return
            if b" HTTP/1." in raw:
                return
        if CONTINUATION.match(raw) and self._batches.join(number, raw):
            return
        if self._clock_only:
            self._note_clock(number, raw)
        self._before = (number - 1, before)
        for framed in self._framer.records(_text(raw), number):
            for piece in self._assembler.feed(framed):
                self._dispatcher.take(piece, self._place(piece.framed))

    @staticmethod
    def _plain(raw: bytes) -> bytes:
        opened = Envelopes().open(_text(raw))
        return raw if opened is None else opened.text.encode("utf-8", "replace")

    def _place(self, framed: Framed) -> Place:
        earlier = self._at
        ends = framed.message.startswith(_OPENERS)
        before = self._framer.stamp(_text(self._before[1]), self._before[0]) if ends and self._before[1] else None
        return Place(
            line=framed.line,
            at=self._recent(framed),
            rank=framed.rank,
            batches=self._prefill + self._decode,
            before_at=before if before is not None else earlier,
        )

    def _recent(self, framed: Framed) -> float | None:
        """The record's time, else that of the newest line before it that has one."""
        if framed.at is not None:
            self._at, self._at_line = framed.at, framed.line
            return framed.at
        newest = self._batches.newest()
        if newest is not None and newest[0] > self._at_line:
            at = self._framer.stamp(_text(newest[1]), newest[0])
            if at is not None:
                self._at, self._at_line = at, newest[0]
        return self._at

    @property
    def newest(self) -> float | None:
        """The newest stamp so far, on the log's clock; None where no line carries one."""
        batch = self._batches.newest()
        if batch is not None and batch[0] > self._at_line:
            at = self._framer.stamp(_text(batch[1]), batch[0])
            return at if at is not None else self._at
        return self._at

    def reading(self) -> LogReading:
        """What the lines so far say."""
        self._flush()
        for framed in self._framer.rest(self._line):
            for piece in self._assembler.feed(framed):
                self._dispatcher.take(piece, self._place(piece.framed))
            self._flush()
        timeline = self._batches.view(self._framer)
        now = self._now(timeline)
        found = self._dispatcher.boots.finish(self._line, now, self._prefill + self._decode)
        boots = tuple(boot for boot, _ in found)
        return LogReading(
            boots=boots,
            timelines=tuple(timeline.between_lines(boot.first_line, boot.last_line) for boot in boots),
            events=tuple(events for _, events in found),
            now=now,
            counts=ReadCounts(
                lines=self._line,
                memory_lines=self._dispatcher.memory_lines,
                prefill_lines=self._prefill,
                decode_lines=self._decode,
                batch_lines_thinned=self._batches.thinned,
                unreadable_lines=self._dispatcher.unreadable + self._batches.unreadable,
                bytes=self._bytes,
            ),
            notes=self._notes(),
        )

    def _now(self, timeline: Timeline) -> float | None:
        last = self._framer.stamp(_text(self._last[1]), self._last[0]) if self._last[1] else None
        stamps = [] if last is None else [last]
        if self._at is not None:
            stamps.append(self._at)
        span = timeline.span
        if span is not None:
            stamps.append(span[1])
        return max(stamps) if stamps else None

    def _notes(self) -> tuple[str, ...]:
        notes = []
        unreadable = self._dispatcher.unreadable + self._batches.unreadable
        if self._batches.thinned:
            notes.append(f"{self._batches.thinned:,} older batch lines are thinned out; the newest are kept whole")
        if self._dispatcher.boots.dropped:
            notes.append(f"the log holds {self._dispatcher.boots.dropped:,} more starts before the first one shown")
        if unreadable:
            notes.append(f"{unreadable:,} lines look like SGLang's but could not be read")
        if self._batches.refused:
            notes.append(f"{self._batches.refused.total():,} values of batch lines that cannot be true were left out")
        if len(self._framer.services) > 1:
            names = safe(", ".join(sorted(self._framer.services)), 120)
            notes.append(f"lines of {len(self._framer.services)} containers are mixed ({names}): their starts cannot be told apart")
        if self._requests:
            notes.append(f"{self._requests:,} request-log lines hold what clients sent and were not read")
        return tuple(notes)
