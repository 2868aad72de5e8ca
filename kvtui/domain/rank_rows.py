"""The batch lines of one data-parallel rank, column by column: what its figures are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import itemgetter
from typing import Final

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.samples import DECODE, PREFILL, Timeline

NO_DECODE: Final = "the log has no decode lines"
_IDLE_FACTOR: Final = 200
"""A line that covers this many median steps more than its own holds idle time, not work."""

Steps = Sequence[tuple[int, float, bool]]
"""Row of a decode line, seconds of its mean step, and whether prefill came in between."""


@dataclass(frozen=True, slots=True)
class RankRows:
    """The rows of one rank in a window, in order; each column is taken out of the window once, for several figures are made of each."""

    window: Timeline
    rows: Sequence[int]
    _cells: dict[str, Sequence[float]] = field(default_factory=dict)
    _told: dict[tuple[str, float], list[float]] = field(default_factory=dict)

    def cells(self, name: str) -> Sequence[float]:
        """A column over all rows of the rank; nan where a line does not say."""
        found = self._cells.get(name)
        if found is None:
            column = self.window.column(name)
            # Asked for at each judgement, of each line of the window: nothing here is a call for each of them.
            whole = not self.rows or len(self.rows) == len(column)
            found = column[: len(self.rows)] if whole else itemgetter(*self.rows, self.rows[0])(column)[:-1]
            self._cells[name] = found
        return found

    def of_kind(self, name: str, kind: float) -> list[float]:
        """The known values of a column over the lines of one kind (``DECODE`` or ``PREFILL``)."""
        found = self._told.get((name, kind))
        if found is None:
            cells = compress(self.cells(name), map(kind.__eq__, self.cells("kind"))) if self.window.tells(name) else ()
            found = self._told[name, kind] = list(filter(math.isfinite, cells))
        return found

    def known(self, name: str) -> list[float]:
        """The known values of a column over the decode lines."""
        return self.of_kind(name, DECODE)

    def any_kind(self, name: str) -> list[float]:
        """The known values of a column over all lines."""
        return list(filter(math.isfinite, self.cells(name))) if self.window.tells(name) else []

    def count(self, kind: float) -> int:
        """Lines of one kind."""
        return self.cells("kind").count(kind)

    def reading(self, name: str, how: Callable[[Sequence[float]], float], label: str) -> Reading[float]:
        """A figure of one column over the decode lines."""
        values = self.known(name)
        if not values:
            return Missing(f"no decode line of the window tells {label}" if self.count(DECODE) else NO_DECODE)
        return self.made(how(values), f"{label} over {len(values)} decode lines")

    def reading_or_prefill(self, name: str, how: Callable[[Sequence[float]], float], label: str) -> Reading[float]:
        """A figure over decode lines, or over prefill lines where there are none: prefill-bound servers hardly decode."""
        if self.known(name):
            return self.reading(name, how, label)
        values = self.of_kind(name, PREFILL)
        if not values:
            return Missing(f"no line of the window tells {label}")
        return self.made(how(values), f"{label} over {len(values)} prefill lines")

    def made(self, value: float, detail: str) -> Reading[float]:
        """A figure of this rank, with its newest line; a line may claim anything, so it may not be finite."""
        if not math.isfinite(value):
            return Missing(f"{detail}: a line tells an impossible number")
        i = self.rows[-1]
        at, line = self.window.value("at", i), self.window.value("line", i)
        where = Where("metric", detail.replace(" lines", " samples")) if math.isnan(line) else Where("log", detail, int(line))
        return Known(value, None if math.isnan(at) else at, where)

    def steps(self) -> Steps:
        """For each decode line that tells a throughput: its row, mean step seconds, and whether prefill came in between.

        ``gen throughput`` is tokens over the wall time since the line before, so tokens a step over it is the mean step
        (facts/diagnoses.md 0.3). Lines that hold idle time are left out.
        """
        found: list[tuple[int, float, bool]] = []
        stalled, idle, first = False, False, True
        columns = (self.cells(name) for name in ("kind", "running", "gen_tput", "accept_len"))
        for i, kind, running, tput, accept in zip(self.rows, *columns, strict=True):
            if kind != DECODE:
                stalled, idle = True, idle or running == 0
                continue
            if not idle and not first and 0 < running < math.inf and 0 < tput < math.inf:
                found.append((i, running * (accept if accept >= 1 else 1.0) / tput, stalled))
            stalled, idle, first = False, False, False
        if not found:
            return found
        most = _IDLE_FACTOR * quantile([step for _, step, _ in found], 0.5)
        return [entry for entry in found if entry[1] <= most]

    def prefilled(self) -> dict[int, float]:
        """Uncached tokens prefilled between each decode line and the one before, by the line's row."""
        found: dict[int, float] = {}
        tokens = 0.0
        for i, kind, new in zip(self.rows, self.cells("kind"), self.cells("new_token"), strict=True):
            if kind == DECODE:
                found[i], tokens = tokens, 0.0
            elif math.isfinite(new):
                tokens += new
        return found


def split_ranks(window: Timeline) -> list[tuple[int, Sequence[int]]]:
    """Rows of each data-parallel rank, lowest rank first; of pipeline stages only the first, which sees every batch."""
    dps, pps = window.column("dp"), window.column("pp")
    stage = min((0.0 if math.isnan(pp) else pp for pp in set(pps)), default=0.0)
    unnamed = stage == 0.0
    rows: dict[float, list[int]] = {}
    # A number that differs from itself is none; this runs for each sample of the window.
    for i, (dp, pp) in enumerate(zip(dps, pps, strict=True)):
        if pp == stage or (unnamed and pp != pp):  # noqa: PLR0124
            rows.setdefault(dp if dp == dp else 0.0, []).append(i)  # noqa: PLR0124
    return sorted((int(dp), found) for dp, found in rows.items())


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of a sequence that is not empty."""
    return sum(values) / len(values)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of a sequence that is not empty does not exceed; no interpolation."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
