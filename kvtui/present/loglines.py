"""The lines of the log that matter: events and memory figures, each with its line number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot, RankMemory
from kvtui.domain.events import Event, EventKind
from kvtui.domain.frame import Frame
from kvtui.domain.rank import Rank
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import GIB
from kvtui.present import glyphs
from kvtui.present.figures import clock, gib, tokens
from kvtui.present.line import Line, Span, Tone, cells, clean, clip_line, line_cells, pad, pad_left, wrap
from kvtui.present.readings import finite

MOST: Final = 2_000
"""Lines that are shown; the newest ones where there are more."""
ROOMY: Final = 110
"""Columns from which the texts stand in a column of their own."""

GRAVE: Final[frozenset[EventKind]] = frozenset(
    {
        "out-of-memory",
        "not-enough-memory",
        "capture-failed",
        "host-memory",
        "state-too-small",
        "nccl",
        "exception",
        "killed",
        "watchdog",
        "leak",
    }
)
SERIOUS: Final[frozenset[EventKind]] = frozenset({"retract", "unbalanced", "exit", "health-failed", "forced-setting", "warning", "program"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that matters."""

    line: int
    at: float | None
    rank: str
    sign: str
    tone: Tone
    kind: str
    text: str


def entries(frame: Frame) -> tuple[Entry, ...]:
    """Events and memory lines of the chosen boot, in the order of the log."""
    boot = frame.boot
    found = [*(_of_event(event) for event in frame.events), *(_of_boot(boot) if boot is not None else ())]
    return tuple(sorted(found, key=lambda entry: entry.line))


def _of_event(event: Event) -> Entry:
    sign, tone = (glyphs.BAD, "bad") if event.kind in GRAVE else (glyphs.WARN, "warn") if event.kind in SERIOUS else (glyphs.BULLET, "text")
    shown: Tone = "bad" if tone == "bad" else "warn" if tone == "warn" else "text"
    times = f"  (×{event.count})" if event.count > 1 else ""
    return Entry(event.line, event.at, event.rank.label, sign, shown, event.kind, clean(event.text) + times)


def _of_boot(boot: Boot) -> Iterator[Entry]:
    for memory in boot.ranks:
        yield from _of_rank(memory)


def _of_rank(memory: RankMemory) -> Iterator[Entry]:
    rank = memory.rank
    yield from _figure(memory.init_usage_gib, rank, "CUDA context and NCCL took {}")
    for load in memory.loads:
        which = "draft weights" if load.draft else "weights"
        yield from _figure(load.begin_gib, rank, "free before " + which + ": {}")
        yield from _figure(load.end_gib, rank, "free after " + which + ": {}")
    for pool in memory.pools:
        if pool.where.line is not None:
            size = f", {gib(pool.size_gib)} GiB" if pool.size_gib is not None else ""
            count = f"{tokens(pool.tokens)} tokens" if pool.tokens is not None else "tokens not printed"
            yield _memory(pool.where.line, None, rank, f"{'draft ' if pool.draft else ''}{pool.kind} pool: {count}{size}")
    for end in memory.pool_ends_gib:
        yield from _figure(end, rank, "free after the pool: {}")
    for capture in memory.captures:
        yield from _figure(capture.usage_gib, rank, f"CUDA graphs, {clean(capture.label, 40)}: " + "{}")
    for host in memory.host_pools:
        if host.where.line is not None:
            yield _memory(
                host.where.line, None, rank, f"host pool: {host.size_gb * 1e9 / GIB:,.2f} GiB (printed as {host.size_gb:,.2f} GB)"
            )
    final = memory.final
    if final is not None and final.where.line is not None:
        left = f", {gib(final.available_gib)} GiB left" if final.available_gib is not None else ""
        yield _memory(final.where.line, final.at, rank, f"max_total_num_tokens = {tokens(final.max_total_num_tokens)}{left}")


def _figure(reading: Known[float] | Missing, rank: Rank, text: str) -> Iterator[Entry]:
    value = finite(reading)
    if value is not None and isinstance(reading, Known) and reading.where.line is not None:
        yield _memory(reading.where.line, reading.at, rank, text.format(f"{gib(value)} GiB"))


def _memory(line: int, at: float | None, rank: Rank, text: str) -> Entry:
    return Entry(line, at, rank.label, glyphs.BULLET, "label", "memory", text)


def lines(frame: Frame, width: int) -> tuple[Line, ...]:
    """The entries as lines of ``width`` columns, below what reading the log met."""
    counts = frame.counts
    kinds = f"{counts.memory_lines:,} about memory, {counts.prefill_lines:,} prefill, {counts.decode_lines:,} decode"
    unread = f", {counts.unreadable_lines:,} could not be read" if counts.unreadable_lines else ""
    thinned = f"; {counts.batch_lines_thinned:,} older batch lines are thinned" if counts.batch_lines_thinned else ""
    out: list[Line] = [(Span(f"{counts.lines:,} lines read: {kinds}{unread}{thinned}", "dim"),)]
    notes = [*frame.notes, *(frame.boot.notes if frame.boot is not None else ())]
    for note in notes:
        out += [
            (Span(f"{glyphs.WARN} " if number == 0 else "  ", "warn"), Span(part))
            for number, part in enumerate(wrap(clean(note), max(10, width - 2)))
        ]
    found = entries(frame)
    if not found:
        out.append((Span("No event and no memory line was read from this log.", "note"),))
    if len(found) > MOST:
        out.append((Span(f"{len(found) - MOST:,} older ones are not shown.", "note"),))
    number = max((cells(f"{entry.line:,}") for entry in found[-MOST:]), default=1)
    out += [line for entry in found[-MOST:] for line in _lines(entry, width, number)]
    return tuple(clip_line(line, width) for line in out)


def _lines(entry: Entry, width: int, number: int) -> list[Line]:
    """One entry; on a narrow screen its text begins below its kind and keeps the room that there is."""
    head: Line = (
        Span(f"{pad_left(f'{entry.line:,}', number)}  ", "dim"),
        Span(f"{pad(clock(entry.at), 8)}  ", "dim"),
        Span(f"{entry.sign} {pad(entry.kind, 17 if width >= ROOMY else cells(entry.kind))} ", entry.tone),
        Span(f"{entry.rank}  " if entry.rank else "", "dim"),
    )
    if width < ROOMY:
        beside = line_cells(head) + cells(entry.text) <= width
        below = () if beside else wrap(entry.text, max(20, width - number - 2))
        return [(*head, Span(entry.text)) if beside else head, *((Span(" " * (number + 2)), Span(part)) for part in below)]
    indent = line_cells(head)
    parts = wrap(entry.text, max(20, width - indent)) or ("",)
    return [(*head, Span(parts[0])), *((Span(" " * indent), Span(part)) for part in parts[1:])]
