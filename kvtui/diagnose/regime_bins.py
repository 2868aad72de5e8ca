"""A window of decode lines in equal stretches of time: what a step of the load is looked for in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.domain.samples import DECODE, PREFILL, Timeline

_BIN_S: Final = 5.0
_MOST_BINS: Final = 200
_FEWEST_BINS: Final = 4
_MOST_RUNNING: Final = 1e9
"""More than this no line can mean."""
_FEWEST_TICKS: Final = 6


@dataclass(frozen=True, slots=True)
class Signal:
    """One figure by bin, and from which size on a step of it matters."""

    values: tuple[float, ...]
    matters: float
    noise: float
    """Least spread that is assumed."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins in order. Times in seconds on the clock of the samples."""

    times: tuple[float, ...]
    ends: tuple[float, ...]
    """Time of the last tick of each bin."""
    ticks: tuple[int, ...]
    signals: tuple[Signal, ...]
    running: tuple[float, ...]
    starts: tuple[float, ...]
    """Requests that started in each bin, as prefill lines tell."""
    lines: tuple[tuple[tuple[float, float, bool], ...], ...]
    """Time, running and whether a queue stands, of each decode line of each bin."""


def bins_of(window: Timeline) -> Bins | None:
    """Means over equal stretches of time; those without a decode line are left out."""
    names = ("at", "kind", "dp", "running", "queued", "usage", "gen_tput", "accept_len", "new_seq")
    columns = tuple(window.column(name) for name in names)
    rows = [row for row in zip(*columns, strict=True) if math.isfinite(row[0])]
    decode = [row for row in rows if row[1] == DECODE and math.isfinite(row[3])]
    if len(decode) < _FEWEST_TICKS:
        return None
    first, last = rows[0][0], max(row[0] for row in rows)
    width = max(_BIN_S, 2 * _usual_gap(decode), (last - first) / _MOST_BINS)
    groups: dict[int, list[tuple[float, ...]]] = {}
    for row in decode:
        groups.setdefault(int((row[0] - first) // width), []).append(row)
    started: dict[int, float] = {}
    for row in rows:
        if row[1] == PREFILL and row[8] > 0 and math.isfinite(row[8]):
            number = int((row[0] - first) // width)
            started[number] = started.get(number, 0.0) + row[8]
    order = sorted(groups)
    if len(order) < _FEWEST_BINS:
        return None
    running = tuple(_summed(groups[n]) for n in order)
    return Bins(
        times=tuple(groups[n][0][0] for n in order),
        ends=tuple(groups[n][-1][0] for n in order),
        ticks=tuple(len(groups[n]) for n in order),
        signals=_signals([groups[n] for n in order], running),
        running=running,
        starts=tuple(started.get(n, 0.0) for n in order),
        lines=tuple(tuple((row[0], row[3], row[4] > 0) for row in groups[n]) for n in order),
    )


def _usual_gap(decode: Sequence[tuple[float, ...]]) -> float:
    """Median seconds between two decode lines of one rank."""
    newest: dict[float, float] = {}
    gaps = []
    for row in decode:
        at, rank = row[0], row[2] if row[2] == row[2] else 0.0
        if rank in newest:
            gaps.append(at - newest[rank])
        newest[rank] = at
    return max(0.0, sorted(gaps)[len(gaps) // 2]) if gaps else 0.0


def _signals(groups: Sequence[Sequence[tuple[float, ...]]], running: tuple[float, ...]) -> tuple[Signal, ...]:
    most = max(running)
    queue = tuple(sum(row[4] > 0 for row in rows) / len(rows) for rows in groups)
    usage = _filled([mean([min(2.0, max(0.0, row[5])) for row in rows if math.isfinite(row[5])]) for rows in groups])
    pace = _filled([mean([math.log2(step) for row in rows if (step := _step(row)) is not None]) for rows in groups])
    found = [Signal(queue, 0.6, 0.1)]
    if most > 1:
        found.append(Signal(tuple(value / most for value in running), 0.35, 0.05))
    found.append(Signal(usage, 0.25, 0.03))
    found.append(Signal(pace, 0.8, 0.12))
    return tuple(found)


def _summed(rows: Sequence[tuple[float, ...]]) -> float:
    """Running requests of the server: the means of its ranks, added up."""
    ranks: dict[float, list[float]] = {}
    for row in rows:
        dp, running = row[2], row[3]
        # A rank that differs from itself is no number; this runs for each line of the window.
        ranks.setdefault(dp if dp == dp else 0.0, []).append(running if 0.0 <= running <= _MOST_RUNNING else _bounded(running))  # noqa: PLR0124
    return sum(sum(values) / len(values) for values in ranks.values())


def _bounded(running: float) -> float:
    return min(_MOST_RUNNING, max(0.0, running))


def _step(row: tuple[float, ...]) -> float | None:
    """Seconds of a decode step, by what one line says."""
    running, tput = row[3], row[6]
    gain = row[7] if row[7] >= 1 and math.isfinite(row[7]) else 1.0
    step = running * gain / tput if 0 < running < math.inf and 0 < tput < math.inf else 0.0
    return step if 1e-6 < step < 1e3 else None


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; nan of nothing."""
    return sum(values) / len(values) if values else math.nan


def _filled(values: Sequence[float]) -> tuple[float, ...]:
    """A bin that does not tell repeats the one before."""
    known = next((value for value in values if math.isfinite(value)), 0.0)
    filled = []
    for value in values:
        known = value if math.isfinite(value) else known
        filled.append(known)
    return tuple(filled)
