"""Where the newest load of a running server begins: after the last pause in which it had nothing to do.

What came before such a pause is another load, of other clients. Loads shorter than what a verdict needs are bursts of one load.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from kvtui.domain.resting import PROBE_TOKENS
from kvtui.domain.samples import DECODE, PREFILL, Timeline

PAUSE_S: Final = 15.0
"""Seconds without work that end a load: as long as a verdict has to last (facts/diagnoses.md 0.5)."""


def newest_load(timeline: Timeline, window_s: float) -> float | None:
    """First time of the newest load of the newest ``window_s`` seconds, on the clock of the samples; None without a pause.

    ``timeline`` is in order. A stretch without samples is a pause only where a sample beside it shows that nothing ran.
    """
    last = timeline.last("at")
    if last is None or not math.isfinite(last[0]):
        return None
    window = timeline.since(last[0] - window_s)
    loads = _loads(window)
    chosen = len(loads) - 1
    while chosen > 0 and _short(loads[-1]) and _short(loads[chosen - 1]):
        chosen -= 1
    if not loads or (chosen == 0 and loads[0][0] - window.value("at", 0) < PAUSE_S):
        return None
    return loads[chosen][0]


def _short(load: tuple[float, float]) -> bool:
    return load[1] - load[0] < PAUSE_S


def _loads(window: Timeline) -> list[tuple[float, float]]:
    """First and last time of work of each load."""
    # Nearly always something ran in every line: then no sample shows a server at rest, and nothing ends a load.
    if all(map((0.0).__lt__, window.column("running"))):
        times = list(filter(math.isfinite, window.column("at")))
        return [(times[0], times[-1])] if times else []
    names = ("at", "kind", "running", "queued", "new_token", "cached_token")
    rows = [row for row in zip(*(window.column(name) for name in names), strict=True) if math.isfinite(row[0])]
    busy = [i for i, row in enumerate(rows) if _works(row)]
    if not busy:
        return []
    edges = [
        (rows[before][0], rows[after][0])
        for before, after in itertools.pairwise(busy)
        if rows[after][0] - rows[before][0] >= PAUSE_S and _rested(rows[before + 1 : after + 1])
    ]
    begins = [rows[busy[0]][0], *(after for _, after in edges)]
    ends = [*(before for before, _ in edges), rows[busy[-1]][0]]
    return list(zip(begins, ends, strict=True))


def _works(row: Sequence[float]) -> bool:
    _, kind, running, queued, new, cached = row
    if running > 0 or queued > 0 or kind != PREFILL:
        return running > 0 or queued > 0
    return sum(value for value in (new, cached) if math.isfinite(value)) > PROBE_TOKENS


def _rested(between: Sequence[Sequence[float]]) -> bool:
    """True where a sample shows a server at rest, or the first batch after the pause finds nothing running."""
    *within, after = between
    at_rest = any(row[1] == DECODE and row[2] == 0 and not row[3] > 0 for row in within)
    return at_rest or (after[1] == PREFILL and after[2] == 0)
