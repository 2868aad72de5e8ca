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
    """Growing columns. Only the reader of a source appends; everybody else holds a ``Timeline``.

    A column takes no room before its first value: no server tells them all.
    """

    __slots__ = ("_columns", "_rows")

    def __init__(self) -> None:
        self._columns = tuple(array("d") for _ in COLUMNS)
        self._rows = 0

    def append(self, values: Mapping[str, float]) -> None:
        """Add one sample; columns that ``values`` does not name become nan."""
        self.extend((values,))

    def extend(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Add many samples, column by column: several times faster than one by one."""
        columns = list(self._columns)
        for index, name in enumerate(COLUMNS):
            told = [row.get(name, math.nan) for row in rows]
            if columns[index]:
                columns[index].extend(told)
            elif not all(map(math.isnan, told)):
                # A new array: views that were taken before hold the empty one.
                columns[index] = _unknown(self._rows)
                columns[index].extend(told)
        self._rows += len(rows)
        if any(new is not old for new, old in zip(columns, self._columns, strict=True)):
            self._columns = tuple(columns)

    def view(self) -> Timeline:
        """What is there now; later appends do not change it."""
        return Timeline(self._columns, 0, self._rows)

    def keep(self, rows: Sequence[int]) -> None:
        """Forget all samples but these, in this order; views that were taken before stay what they are."""
        self._columns = tuple(array("d", [column[i] for i in rows] if column else ()) for column in self._columns)
        self._rows = len(rows)


def _unknown(size: int) -> array[float]:
    return array("d", (math.nan,)) * size


@dataclass(frozen=True, slots=True)
class Timeline:
    """A fixed stretch of samples in order."""

    columns: tuple[array[float], ...]
    """Empty where no sample of the store tells it."""
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def tells(self, name: str) -> bool:
        """False where no sample of the store has the column."""
        return bool(self.columns[_INDEX[name]])

    def column(self, name: str) -> Sequence[float]:
        """One column of the stretch, as a copy."""
        column = self.columns[_INDEX[name]]
        return column[self.start : self.stop] if column else _unknown(len(self))

    def value(self, name: str, index: int) -> float:
        """One cell; negative indices count from the end.

        Raises IndexError outside the stretch.
        """
        size = self.stop - self.start
        if not -size <= index < size:
            raise IndexError(index)
        column = self.columns[_INDEX[name]]
        return column[self.start + (index if index >= 0 else size + index)] if column else math.nan

    def slice(self, start: int, stop: int) -> Timeline:
        """The samples ``start`` to ``stop`` of this stretch."""
        start, stop = max(0, start), max(0, min(stop, len(self)))
        return Timeline(self.columns, self.start + min(start, stop), self.start + stop)

    def between_lines(self, first: int, last: int) -> Timeline:
        """The samples from log line ``first`` to ``last``, both included."""
        lines = self.columns[_INDEX["line"]]
        if not lines:
            return self
        low = bisect.bisect_left(lines, first, self.start, self.stop)
        high = bisect.bisect_right(lines, last, low, self.stop)
        return Timeline(self.columns, low, high)

    def since(self, at: float) -> Timeline:
        """The samples at or after a time; stamps that go back by a second are tolerated."""
        times = self.columns[_INDEX["at"]]
        low = self.stop if times else self.start
        while low > self.start and not times[low - 1] < at:
            low -= 1
        return Timeline(self.columns, low, self.stop)

    def where(self, kind: float) -> Iterator[int]:
        """Indices of the samples of one kind (``PREFILL`` or ``DECODE``)."""
        return (i for i, own in enumerate(self.column("kind")) if own == kind)

    def last(self, name: str, kind: float | None = None) -> tuple[float, float] | None:
        """The newest known value of a column and its time, or None."""
        values, times, kinds = (self.columns[_INDEX[n]] for n in (name, "at", "kind"))
        if not values or (kind is not None and not kinds):
            return None
        for i in range(self.stop - 1, self.start - 1, -1):
            if not math.isnan(values[i]) and (kind is None or kinds[i] == kind):
                return values[i], times[i] if times else math.nan
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """First and last time, or None where there are none."""
        times = [t for t in (self.value("at", i) for i in (0, -1)) if not math.isnan(t)] if len(self) else []
        return (times[0], times[-1]) if len(times) == 2 else None


EMPTY_TIMELINE: Final = SampleStore().view()
