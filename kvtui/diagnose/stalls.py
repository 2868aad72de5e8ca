"""A stretch without any batch although requests were running: at the end, or with the same requests going on after it.

An idle server is silent too. What tells the two apart is the next batch line: after idle time it starts with nothing running,
after a stall with what ran before.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final

from kvtui.diagnose.context import ENOUGH_S, Context
from kvtui.domain.reading import Known
from kvtui.domain.samples import DECODE, Timeline

_SHORTEST_S: Final = 10.0
_TIMES_USUAL: Final = 5.0
_KEPT: Final = 0.5
"""Share of the requests running before that must still run after it."""
_GROWN: Final = 1.25
"""More than this share run where new ones have come, as after idle time."""
_FEWEST: Final = 2.0
"""A line on one request may be its last."""
_STEADY: Final = 0.8
"""Share of the batches before that the last one must have: else it drained."""
_LOOK_BACK: Final = 10
_PREFILLS_S: Final = 300.0
"""Prompt tokens a second from which on a large prefill pass explains the gap."""


@dataclass(frozen=True, slots=True)
class Stall:
    """One such stretch, on the clock of the samples."""

    since: float
    seconds: float
    running: float
    line: int | None
    """Log line of the first batch after it."""
    share: float
    """Of the window that is judged, 0 to 1."""


def stall_of(context: Context) -> Stall | None:
    """The longest stall of the window, or None. Pages prove none: kvtui itself may have stood still."""
    if context.sampled:
        return None
    first, last = context.workload.first_at, context.workload.last_at
    if not isinstance(first, Known) or not isinstance(last, Known):
        return None
    window = context.frame.timeline.since(first.value)
    found = _longest(window)
    if found is None:
        return None
    index, seconds, running = found
    line, span = window.value("line", index), max(seconds, last.value - first.value)
    return Stall(
        window.value("at", index) - seconds, seconds, running, None if math.isnan(line) else int(line), seconds / span if span else 0.0
    )


def unsettled(context: Context) -> bool:
    """True where a stall says that not all was well: in a finished log any, on a server that runs one that has just ended."""
    stall = stall_of(context)
    if stall is None or context.frame.finished:
        return stall is not None
    last = context.workload.last_at
    return not isinstance(last, Known) or last.value - (stall.since + stall.seconds) < ENOUGH_S


def _longest(window: Timeline) -> tuple[int, float, float] | None:
    """Row after the longest stall, its seconds, and the requests that ran before it."""
    at, kind, running, new = (window.column(name) for name in ("at", "kind", "running", "new_token"))
    steps = [later - earlier for earlier, later in itertools.pairwise(at)]
    gaps = sorted(step for step in steps if step >= 0)
    usual = gaps[int(0.95 * len(gaps))] if gaps else math.inf
    least = max(_SHORTEST_S, _TIMES_USUAL * usual)
    best: tuple[int, float, float] | None = None
    for i, gap in [(i, gap) for i, gap in enumerate(steps, 1) if gap >= least]:
        if new[i - 1] >= _PREFILLS_S * gap or new[i] >= _PREFILLS_S * gap or (best is not None and gap <= best[1]):
            continue
        before = next((running[j] for j in range(i - 1, -1, -1) if kind[j] == DECODE and math.isfinite(running[j])), math.nan)
        if _KEPT * before <= running[i] <= _GROWN * before and before >= _FEWEST:
            best = i, gap, before
    return best


def silence_of(context: Context) -> tuple[float, float] | None:
    """Seconds without a batch line and the requests that ran then, where that is unlike the time before."""
    silent, line = context.silent_s, context.frame.timeline
    if silent is None or silent < _SHORTEST_S or any(context.events("exit")):
        return None
    rows = list(line.where(DECODE))[-_LOOK_BACK:]
    recent = [value for i in rows if not math.isnan(value := line.value("running", i))]
    times = [time for time in line.column("at") if not math.isnan(time)]
    if len(recent) < 3 or recent[-1] < 2 or recent[-1] < _STEADY * sum(recent) / len(recent):
        return None
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    # The first gap is the wait for the first client; it says nothing of the pace under load.
    usual = max(gaps[len(gaps) // 2 :], default=0.0)
    return (silent, recent[-1]) if silent >= _TIMES_USUAL * usual else None
