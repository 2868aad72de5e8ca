"""A window of decode lines in equal stretches of time: what a step of the load is looked for in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from math import isfinite
from operator import sub
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


Row = tuple[float, float, float, float, float, float, float, float]
"""Time, kind, rank, running, queued, usage, tokens a second and accept length of a batch line."""


def bins_of(window: Timeline) -> Bins | None:
    """Means over equal stretches of time; those without a decode line are left out."""
    columns = [window.column(name) for name in ("at", "kind", "dp", "running", "queued", "usage", "gen_tput", "accept_len")]
    at, kinds = columns[:2]
    # This and what follows runs for each line of the window at each judgement: no call for each.
    decode: list[Row] = [row for row in zip(*columns, strict=True) if row[1] == DECODE and isfinite(row[3]) and isfinite(row[0])]
    if len(decode) < _FEWEST_TICKS:
        return None
    known = list(filter(isfinite, at))
    first, last = known[0], max(known)
    width = max(_BIN_S, 2 * _usual_gap(decode), (last - first) / _MOST_BINS)
    groups: dict[int, list[Row]] = {}
    for row in decode:
        groups.setdefault(int((row[0] - first) // width), []).append(row)
    started: dict[int, float] = {}
    for x, size in compress(zip(at, window.column("new_seq"), strict=True), map(PREFILL.__eq__, kinds)):
        if size > 0 and isfinite(size) and isfinite(x):
            number = int((x - first) // width)
            started[number] = started.get(number, 0.0) + size
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


def _usual_gap(decode: Sequence[Row]) -> float:
    """Median seconds between two decode lines of one rank."""
    times: dict[float, list[float]] = {}
    for row in decode:
        rank = row[2]
        # A rank that differs from itself is no number.
        times.setdefault(rank if rank == rank else 0.0, []).append(row[0])  # noqa: PLR0124
    gaps = sorted(chain.from_iterable(map(sub, of_rank[1:], of_rank) for of_rank in times.values()))
    return max(0.0, gaps[len(gaps) // 2]) if gaps else 0.0


def _signals(groups: Sequence[Sequence[Row]], running: tuple[float, ...]) -> tuple[Signal, ...]:
    most = max(running)
    queue = tuple(sum([row[4] > 0 for row in rows]) / len(rows) for rows in groups)
    usage = _filled([mean([min(2.0, max(0.0, row[5])) for row in rows if isfinite(row[5])]) for rows in groups])
    pace = _filled([_pace(rows) for rows in groups])
    found = [Signal(queue, 0.6, 0.1)]
    if most > 1:
        found.append(Signal(tuple(value / most for value in running), 0.35, 0.05))
    found.append(Signal(usage, 0.25, 0.03))
    found.append(Signal(pace, 0.8, 0.12))
    return tuple(found)


def _summed(rows: Sequence[Row]) -> float:
    """Running requests of the server: the means of its ranks, added up."""
    ranks: dict[float, list[float]] = {}
    for row in rows:
        dp, running = row[2], row[3]
        ranks.setdefault(dp if dp == dp else 0.0, []).append(running if 0.0 <= running <= _MOST_RUNNING else _bounded(running))  # noqa: PLR0124
    return sum(sum(values) / len(values) for values in ranks.values())


def _bounded(running: float) -> float:
    return min(_MOST_RUNNING, max(0.0, running))


def _pace(rows: Sequence[Row]) -> float:
    """Mean binary logarithm of the seconds of a decode step, by what each line says; nan where none tells."""
    steps = [
        running * (gain if 1 <= gain < math.inf else 1.0) / tput
        for _, _, _, running, _, _, tput, gain in rows
        if 0 < running < math.inf and 0 < tput < math.inf
    ]
    return mean([math.log2(step) for step in steps if 1e-6 < step < 1e3])


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; nan of nothing."""
    return sum(values) / len(values) if values else math.nan


def _filled(values: Sequence[float]) -> tuple[float, ...]:
    """A bin that does not tell repeats the one before."""
    known = next((value for value in values if isfinite(value)), 0.0)
    filled = []
    for value in values:
        known = value if isfinite(value) else known
        filled.append(known)
    return tuple(filled)
