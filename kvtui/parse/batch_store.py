"""Batch lines in bounded memory: the newest at full detail, older ones thinned evenly."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import Final

from kvtui.domain.samples import SampleStore, Timeline
from kvtui.parse.batch_lines import parse_batch
from kvtui.parse.framing import Framed, Framer
from kvtui.parse.packed_lines import PackedLines, RawLine

_SCATTER: Final = 2_654_435_769
_FULL: Final = 1 << 32
_ROWS: Final = 250
"""Samples that are gathered before they go into columns: enough to make that cheap, few enough to leave no hole in memory."""
_LINE_LIMIT: Final = 4_096


def _chance(line: int) -> int:
    # multiples of the golden ratio spread evenly, so no rank or kind of batch is favoured by its rhythm
    return line * _SCATTER % _FULL


def _below(limit: int, line: int) -> bool:
    return _chance(line) < limit


def _bounded(lines: list[RawLine]) -> list[RawLine]:
    return [(line, raw if len(raw) <= _LINE_LIMIT else raw[:_LINE_LIMIT]) for line, raw in lines]


class BatchStore:
    """Keeps raw lines until they are asked for, then parses what is kept."""

    def __init__(self, detail: int, coarse: int) -> None:
        self._detail, self._coarse = detail, coarse
        self._waiting, self._old = PackedLines(), PackedLines()
        self._limit = _FULL
        self._store = SampleStore()
        self._rows: list[dict[str, float]] = []
        self._speaker: dict[tuple[int, int], int | None] = {}
        self._at = math.nan
        self._parsed = 0
        self.thinned = 0
        self.unreadable = 0
        self.refused: Counter[str] = Counter()
        """Values that cannot be true and were left out, by column."""

    def extend(self, lines: list[RawLine]) -> None:
        """Take batch lines, in the order of the log."""
        # a hostile line may be as long as the file
        self._waiting.extend(lines if max((len(raw) for _, raw in lines), default=0) <= _LINE_LIMIT else _bounded(lines))
        surplus = len(self._waiting) - self._detail
        if surplus > self._detail // 4:
            for piece in self._waiting.take(surplus):
                self._thin(piece)

    def join(self, line: int, rest: bytes) -> bool:
        """Add the rest of the newest line, which a paste wrapped; False where it is not that line's neighbour."""
        newest = self._waiting.newest
        if newest is None or newest[0] < line - 3 or len(newest[1]) > 2_000:
            return False
        self._waiting.change_newest((newest[0], newest[1].rstrip() + b" " + rest.strip()))
        return True

    def newest(self) -> RawLine | None:
        """The newest raw line that waits to be parsed."""
        return self._waiting.newest

    def _thin(self, lines: list[RawLine]) -> None:
        kept = [item for item in lines if _chance(item[0]) < self._limit] if self._limit < _FULL else lines
        self._old.extend(kept)
        self.thinned += len(lines) - len(kept)
        while len(self._old) > self._coarse:
            self._limit //= 2
            self.thinned += self._old.keep(partial(_below, self._limit))

    def view(self, framer: Framer) -> Timeline:
        """All samples so far."""
        for part in (self._old, self._waiting):
            for piece in part.take_all():
                for line, raw in piece:
                    self._parse(framer, line, raw)
        self._write()
        if self._parsed > self._detail + 2 * self._coarse:
            self._rebuild()
        return self._store.view()

    def _parse(self, framer: Framer, line: int, raw: bytes) -> None:
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        records = (
            [framer.frame(text, line)] if raw[:1] == b"[" and b"[" not in raw[1:] and b"\r" not in raw[:-1] else framer.records(text, line)
        )
        good = False
        for framed in records:
            values = parse_batch(framed.message, self.refused)
            if values is not None:
                good = True
                self._add(framed, values)
        if not good:
            self.unreadable += 1

    def _add(self, framed: Framed, values: dict[str, float]) -> None:
        if framed.at is not None:
            self._at = framed.at
        dp, pp = framed.rank.dp or 0, framed.rank.pp or 0
        # with metrics for all schedulers every tensor rank prints the same batch: keep the first speaker's
        if self._speaker.setdefault((dp, pp), framed.rank.tp) != framed.rank.tp:
            return
        values["at"], values["line"], values["dp"], values["pp"] = self._at, float(framed.line), float(dp), float(pp)
        self._rows.append(values)
        if len(self._rows) >= _ROWS:
            self._write()

    def _write(self) -> None:
        self._store.extend(self._rows)
        self._parsed += len(self._rows)
        self._rows.clear()

    def _rebuild(self) -> None:
        """Thin what was read long ago; views that are held elsewhere keep the columns they have."""
        old = max(0, self._parsed - self._detail)
        lines = self._store.view().column("line")
        kept = [i for i in range(old) if _chance(int(lines[i])) < self._limit]
        while len(kept) > self._coarse:
            self._limit //= 2
            kept = [i for i in kept if _chance(int(lines[i])) < self._limit]
        self.thinned += old - len(kept)
        self._store.keep([*kept, *range(old, self._parsed)])
        self._parsed = len(kept) + self._parsed - old
