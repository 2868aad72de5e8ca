"""Series that only the proof of a verdict needs: the step, prefill's share, retractions a minute, one rank beside another."""

from __future__ import annotations

import bisect
import math
from typing import Final

from kvtui.domain.buckets import Run, is_usable
from kvtui.domain.frame import Analysis
from kvtui.domain.rank_rows import RankRows, split_ranks
from kvtui.domain.reading import Known
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
    values, rows = told.timeline.column(name), dict(split_ranks(told.timeline)).get(rank, ())
    kept = [(told.places.at[i], values[i]) for i in rows if is_usable(told.places.at[i], values[i])]
    return [x for x, _ in kept], [y for _, y in kept]


def step_points(told: History) -> Points:
    """Milliseconds of a decode step, a point a decode line; lines that hold prefill only where there are hardly any others."""
    every = [step for _, rows in split_ranks(told.timeline) for step in RankRows(told.timeline, rows).steps()]
    pure = [step for step in every if not step[2]]
    kept = pure if len(pure) >= max(3, len(every) // 10) else every
    points = [(told.places.at[i], 1000 * seconds) for i, seconds, _ in kept if is_usable(told.places.at[i], 1000 * seconds)]
    return [x for x, _ in points], [y for _, y in points]


def prefill_points(told: History, load: Workload | None, rank: int) -> Points:
    """Percent of the time that prefill takes of one rank, a point a decode line: its measured share, told off by the tokens prefilled.

    The share of the judged window is the rules' own (``Workload.prefill_share``); that a token of prefill takes as long in one
    interval as in the next is what their fit assumes too. No points where the share is unknown.
    """
    share = next((one.prefill_share for one in load.ranks if one.dp == rank), None) if load is not None else None
    rows = dict(split_ranks(told.timeline)).get(rank, ())
    of = RankRows(told.timeline, rows)
    work = of.prefilled()
    spent = [(told.places.at[i], work[i], seconds) for i, seconds, _ in of.steps() if is_usable(told.places.at[i], work[i])]
    begun = load.first_at.value if load is not None and isinstance(load.first_at, Known) and told.kind == "time" else -math.inf
    judged = [(tokens, seconds) for x, tokens, seconds in spent if x >= begun]
    tokens, seconds = math.fsum(t for t, _ in judged), math.fsum(s for _, s in judged)
    if not isinstance(share, Known) or not (tokens > 0 and seconds > 0):
        return [], []
    a_token = share.value * seconds / tokens
    return [x for x, _, _ in spent], [100 * min(1.0, a_token * one / took) for _, one, took in spent]


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
