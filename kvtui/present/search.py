"""The screen of a machine on which no server was found, or several: what was looked for, and what can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtui.domain.process import Discovery, FoundServer
from kvtui.domain.reading import Known
from kvtui.present import glyphs
from kvtui.present.found import NOTHING
from kvtui.present.line import BLANK, Line, Span, Tone, between, cells, clean, clip, clip_line, pad, wrap

GAP: Final = 2
MODEL: Final = 12
"""Columns of a model's name at least: it gives way to the others."""


def search_header(seen: Discovery, looks: int, every_s: float, width: int) -> Line:
    """What was found, and that it goes on looking. ``every_s``: seconds."""
    count = len(seen.servers)
    said = NOTHING.rstrip(".") if not count else "one server runs on this machine" if count == 1 else f"{count} servers run on this machine"
    left: Line = (Span(" kvtui ", "key"), Span(f" {said[0].upper()}{said[1:]}", "strong"))
    times = "once" if looks == 1 else f"{looks} times"
    right: Line = (Span(f"{glyphs.WAITING} looked {times}, every {every_s:g} s ", "dim"),)
    return clip_line(between(left, right, width), width)


def looked_for(seen: Discovery, width: int) -> tuple[Line, ...]:
    """What was looked for in vain, each with its result."""
    lines: list[Line] = []
    for said in seen.looked_for:
        for number, part in enumerate(wrap(clean(said), max(10, width - 2))):
            lines.append((Span(f"{glyphs.NOT} " if number == 0 else "  ", "dim"), Span(part)))
    return tuple(lines)


def servers(seen: Discovery, at: int, width: int) -> tuple[Line, ...]:
    """A row a server below a heading; ``at`` is the one that is pointed at."""
    rows = [_facts(server) for server in seen.servers]
    table = [("address", "model", "log", "process"), *rows]
    columns = [max(cells(row[number]) for row in table) + GAP for number in range(4)]
    others = sum(columns) - columns[1] - GAP
    columns[1] = max(MODEL, min(columns[1], width - 2 - others))
    lines: list[Line] = []
    for number, row in enumerate(table, -1):
        said = "".join(pad(clip(text, column - GAP), column) for text, column in zip(row, columns, strict=True)).rstrip()
        tone: Tone = "dim" if number < 0 else "strong" if number == at else "text"
        lines.append(clip_line((Span(f"{glyphs.POINTER} " if number == at else "  ", "key"), Span(said, tone)), width))
    for note in seen.servers[at].notes if at < len(seen.servers) else ():
        lines += [BLANK, *((Span(f"  {part}", "note"),) for part in wrap(clean(note), max(10, width - 2)))]
    return tuple(lines)


def choices(keys: Sequence[tuple[str, str, str]], width: int) -> tuple[Line, ...]:
    """What can be done: (key, title, help), a row each."""
    key = max((cells(one) for one, _, _ in keys), default=0) + GAP
    title = max((cells(one) for _, one, _ in keys), default=0) + GAP
    return tuple(clip_line((Span(pad(one, key), "key"), Span(pad(name, title), "label"), Span(told)), width) for one, name, told in keys)


def _facts(server: FoundServer) -> tuple[str, str, str, str]:
    model = clean(server.model.value.rstrip("/").rsplit("/", 1)[-1], 200) if isinstance(server.model, Known) else "unknown"
    log = {"none": "none", "unknown": "not found", "terminal": "a terminal"}.get(server.log.kind, server.log.kind)
    main = f"pid {server.main.value}" if isinstance(server.main, Known) else "gone"
    return server.url or "port unknown", model, log, main
