"""The history of a server: one sample a batch line (or a scrape), in columns.

Times are seconds on the source's own clock. A log prints local time without a zone; it is read as
if it were UTC, so that differences are right and the screen shows what the log shows. A log without
times has ``nan`` there, and its samples are ordered by line.
"""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PREFILL: Final = 0.0
DECODE: Final = 1.0

COLUMNS: Final = (
    "at",
    "line",
    "kind",
    "dp",
    "pp",
    "running",
    "queued",
    "tokens",
    "usage",
    "swa_tokens",
    "swa_usage",
    "mamba_slots",
    "mamba_usage",
    "gen_tput",
    "input_tput",
    "new_seq",
    "new_token",
    "cached_token",
    "pending_token",
    "graph",
    "accept_len",
    "accept_rate",
    "prealloc",
    "transfer",
    "inflight",
    "bootstrap",
    "retracted",
    "preallocated_usage",
    "occupancy",
)
"""Every column. ``nan``: that line does not say. ``usage`` is the full-attention pool's share in use;
``tokens`` its tokens; ``graph`` 1 or 0; throughputs in tokens a second; ``dp`` and ``pp`` are 0 where unnamed."""

_INDEX: Final = {name: number for number, name in enumerate(COLUMNS)}


class SampleStore:
    """Growing columns. Only the reader of a source appends; everybody else holds a ``Timeline``."""

    __slots__ = ("_columns",)

    def __init__(self) -> None:
        self._columns = tuple(array("d") for _ in COLUMNS)

    def append(self, values: Mapping[str, float]) -> None:
        """Add one sample; columns that ``values`` does not name become nan."""
        for name, column in zip(COLUMNS, self._columns, strict=True):
            column.append(values.get(name, math.nan))

    def extend(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Add many samples, column by column: several times faster than one ``append`` a row."""
        for name, column in zip(COLUMNS, self._columns, strict=True):
            column.extend([row.get(name, math.nan) for row in rows])

    def view(self) -> Timeline:
        """What is there now; later appends do not change it."""
        return Timeline(self._columns, 0, len(self._columns[0]))


@dataclass(frozen=True, slots=True)
class Timeline:
    """A fixed stretch of samples in order."""

    columns: tuple[array[float], ...]
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def column(self, name: str) -> Sequence[float]:
        """One column of the stretch, as a copy."""
        return self.columns[_INDEX[name]][self.start : self.stop]

    def value(self, name: str, index: int) -> float:
        """One cell; negative indices count from the end.

        Raises IndexError outside the stretch.
        """
        size = self.stop - self.start
        if not -size <= index < size:
            raise IndexError(index)
        return self.columns[_INDEX[name]][self.start + (index if index >= 0 else size + index)]

    def slice(self, start: int, stop: int) -> Timeline:
        """The samples ``start`` to ``stop`` of this stretch."""
        start, stop = max(0, start), max(0, min(stop, len(self)))
        return Timeline(self.columns, self.start + min(start, stop), self.start + stop)

    def between_lines(self, first: int, last: int) -> Timeline:
        """The samples from log line ``first`` to ``last``, both included."""
        lines = self.columns[_INDEX["line"]]
        low = bisect.bisect_left(lines, first, self.start, self.stop)
        high = bisect.bisect_right(lines, last, low, self.stop)
        return Timeline(self.columns, low, high)

    def since(self, at: float) -> Timeline:
        """The samples at or after a time; stamps that go back by a second are tolerated."""
        times = self.columns[_INDEX["at"]]
        low = self.stop
        while low > self.start and not times[low - 1] < at:
            low -= 1
        return Timeline(self.columns, low, self.stop)

    def where(self, kind: float) -> Iterator[int]:
        """Indices of the samples of one kind (``PREFILL`` or ``DECODE``)."""
        kinds = self.columns[_INDEX["kind"]]
        return (i - self.start for i in range(self.start, self.stop) if kinds[i] == kind)

    def last(self, name: str, kind: float | None = None) -> tuple[float, float] | None:
        """The newest known value of a column and its time, or None."""
        values, times, kinds = (self.columns[_INDEX[n]] for n in (name, "at", "kind"))
        for i in range(self.stop - 1, self.start - 1, -1):
            if not math.isnan(values[i]) and (kind is None or kinds[i] == kind):
                return values[i], times[i]
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """First and last time, or None where there are none."""
        times = [t for t in (self.columns[0][i] for i in (self.start, self.stop - 1)) if not math.isnan(t)] if len(self) else []
        return (times[0], times[-1]) if len(times) == 2 else None


EMPTY_TIMELINE: Final = SampleStore().view()
