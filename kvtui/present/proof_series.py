"""Series that only the proof of a verdict needs: the step, prefill's share, retractions a minute, one rank beside another."""

from __future__ import annotations

import bisect
import math
from typing import Final

from kvtui.domain.buckets import Run, is_usable
from kvtui.domain.frame import Analysis
from kvtui.domain.reading import Known
from kvtui.domain.samples import DECODE
from kvtui.domain.workload import Workload, once_a_group
from kvtui.present.history import History

MINUTE: Final = 60.0
LEAST_S: Final = 15.0
"""Seconds that a rate a minute is told of at least: one event in the first second is no sixty."""
MANY: Final = 2_000
"""Events from which on older ones may have been let go."""

Points = tuple[list[float], list[float]]


def rank_points(told: History, name: str, rank: int) -> Points:
    """One column of one data-parallel rank, of the first pipeline stage."""
    values, ranks, stages = (told.timeline.column(column) for column in (name, "dp", "pp"))
    kept = [
        (x, y)
        for x, y, dp, stage in zip(told.places.at, values, ranks, stages, strict=True)
        if is_usable(x, y) and (dp == rank or (rank == 0 and math.isnan(dp))) and not stage > told.stage
    ]
    return [x for x, _ in kept], [y for _, y in kept]


def step_points(told: History) -> Points:
    """Milliseconds of a decode step, a point a decode line; lines that hold prefill only where there are hardly any others.

    ``running × accept length ÷ tokens a second`` (facts/diagnoses.md 0.3).
    """
    names = ("kind", "dp", "pp", "running", "gen_tput", "accept_len")
    pure: list[tuple[float, float]] = []
    every: list[tuple[float, float]] = []
    stalled: dict[float, bool] = {}
    for x, kind, dp, stage, running, rate, gain in zip(told.places.at, *(told.timeline.column(n) for n in names), strict=True):
        if stage > told.stage:
            continue
        if kind != DECODE:
            stalled[dp] = True
            continue
        if 0 < running < math.inf and 0 < rate < math.inf:
            point = (x, 1000 * running * (gain if gain >= 1 else 1.0) / rate)
            # The first line of all may hold the rest before it.
            if is_usable(*point) and dp in stalled:
                every.append(point)
                pure += [] if stalled[dp] else [point]
        stalled[dp] = False
    kept = pure if len(pure) >= max(3, len(every) // 10) else every
    return [x for x, _ in kept], [y for _, y in kept]


def prefill_points(told: History, load: Workload | None, rank: int) -> Points:
    """Percent of the time that prefill takes of one rank, a point a decode line: its measured share, told off by the tokens prefilled.

    The share of the judged window is the rules' own (``Workload.prefill_share``); that a token of prefill takes as long in one
    interval as in the next is what their fit assumes too. No points where the share is unknown.
    """
    share = next((one.prefill_share for one in load.ranks if one.dp == rank), None) if load is not None else None
    spent = _intervals(told, rank)
    begun = load.first_at.value if load is not None and isinstance(load.first_at, Known) and told.kind == "time" else -math.inf
    judged = [(work, seconds) for x, work, seconds in spent if x >= begun]
    work, seconds = math.fsum(w for w, _ in judged), math.fsum(s for _, s in judged)
    if not isinstance(share, Known) or not (work > 0 and seconds > 0):
        return [], []
    a_token = share.value * seconds / work
    return [x for x, _, _ in spent], [100 * min(1.0, a_token * tokens / took) for _, tokens, took in spent]


def _intervals(told: History, rank: int) -> list[tuple[float, float, float]]:
    """Position of each decode line of a rank, the tokens prefilled since the one before, and how long that took (in steps' seconds)."""
    names = ("kind", "dp", "pp", "new_token", "running", "gen_tput", "accept_len")
    found, tokens, first = [], 0.0, True
    for x, kind, dp, stage, new, running, rate, gain in zip(told.places.at, *(told.timeline.column(n) for n in names), strict=True):
        if (dp if dp >= 0 else 0.0) != rank or stage > told.stage:
            continue
        if kind != DECODE:
            tokens += new if 0 <= new < math.inf else 0.0
            continue
        if not first and 0 < running < math.inf and 0 < rate < math.inf and is_usable(x, tokens):
            found.append((x, tokens, running * (gain if gain >= 1 else 1.0) / rate))
        tokens, first = 0.0, False
    return found


def retractions_a_minute(analysis: Analysis, told: History) -> Run:
    """Retractions a minute, over the minute before each column's end, or what of it was watched; empty on an axis of log lines."""
    if told.kind != "time":
        return ()
    events = once_a_group([event for event in analysis.frame.events if event.kind == "retract" and event.at is not None])
    seen = sorted((event.at, event.count) for event in events if event.at is not None and math.isfinite(event.at))
    places, width = [at for at, _ in seen], (told.stop - told.start) / told.columns
    # Of many only the newest are kept: before the first of them nothing is known.
    first = max(told.ends[0], places[0]) if places and len(analysis.frame.events) >= MANY else told.ends[0]
    run = []
    for i in range(told.columns):
        end = told.start + width * (i + 1)
        if end < first:
            continue
        if end - width > told.ends[1]:
            break
        low, high = bisect.bisect_right(places, end - MINUTE), bisect.bisect_right(places, end)
        watched = min(MINUTE, max(LEAST_S, end - first))
        run.append((min(end, told.stop), sum(count for _, count in seen[low:high]) * MINUTE / watched))
    return tuple(run)
