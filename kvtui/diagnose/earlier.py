"""The verdicts of the time before: the rules asked again about each earlier stretch of the samples, at a bounded cost.

The samples before what the newest verdict stands on are cut into windows, the newest window first, and each is judged as
a finished log of its own. Where the load changed inside a window, what came before the change is judged once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kvtui.diagnose.context import context_of
from kvtui.diagnose.registry import diagnose
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Analysis
from kvtui.domain.periods import Period, Periods, dated, joined, period_of, with_earlier
from kvtui.domain.reading import Known
from kvtui.domain.samples import Timeline
from kvtui.domain.workload import WINDOW_S

WINDOWS: Final = 24
"""Windows that a long log is cut into; shorter ones have windows of ``WINDOW_S``."""
MOST: Final = 40
"""Times that the rules are asked in all."""
ROWS: Final = 800
"""Samples of one window that are looked at, the newest: enough for ten minutes of a line a second."""
SHORTEST_S: Final = 15.0
"""Seconds below which a stretch is no period of its own (facts/diagnoses.md 0.5)."""
MIXED_S: Final = 60.0
"""Seconds that half of a window must have to be asked about alone, where the whole tells nothing."""


def periods_of(analysis: Analysis) -> Periods:
    """What the verdicts were from the first sample of the boot on; empty where samples carry no times."""
    frame = analysis.frame
    span = _times(frame.timeline)
    if span is None:
        return ()
    begun = _begun(analysis, span)
    newest = period_of(analysis.findings, begun, frame.now if frame.finished else None)
    periods = [*_earlier(analysis, span[0], begun)]
    return joined((*reversed(periods), *((newest,) if newest is not None else ())))


def looked_back(analysis: Analysis, earlier: Periods | None = None) -> Analysis:
    """The analysis with what the verdicts were before it was watched; ``earlier``: where that has been worked out already."""
    periods = with_earlier(periods_of(analysis) if earlier is None else earlier, analysis.periods)
    return replace(analysis, findings=dated(analysis.findings, periods), periods=periods)


def _times(timeline: Timeline) -> tuple[float, float] | None:
    """First and last time of any sample."""
    times = [at for at in timeline.column("at") if math.isfinite(at)]
    return (min(times), max(times)) if times else None


def _begun(analysis: Analysis, span: tuple[float, float]) -> float:
    """From when on the newest verdict holds: as it says itself, else from its window's first sample."""
    told = analysis.findings[0].since if analysis.findings else None
    window = analysis.workload.first_at if analysis.workload is not None else None
    begun = told if told is not None else window.value if isinstance(window, Known) else span[1]
    return min(max(begun, span[0]), span[1])


def _earlier(analysis: Analysis, first: float, begun: float) -> Iterator[Period]:
    """Periods before ``begun``, the newest first."""
    line, length = analysis.frame.timeline, begun - first
    if length < SHORTEST_S:
        return
    count = max(1, min(WINDOWS, math.ceil(length / WINDOW_S)))
    spare = MOST - count
    rest = line.slice(0, len(line) - len(line.since(begun)))
    for number in range(count - 1, -1, -1):
        window = rest.since(first + number * length / count) if number else rest
        rest = rest.slice(0, len(rest) - len(window))
        asked, periods = _window(analysis, window, spare)
        spare -= max(0, asked - 1)
        yield from periods


def _window(analysis: Analysis, window: Timeline, spare: int) -> tuple[int, list[Period]]:
    """How often the rules were asked, and the periods of one window, the newest first; ``spare``: times more than once."""
    periods: list[Period] = []
    left, asked = [window], 0
    while left and asked <= spare:
        rest = left.pop()
        part = rest.slice(len(rest) - ROWS, len(rest))
        span, whole = _times(part), _times(rest)
        if span is None or whole is None or span[1] - span[0] < SHORTEST_S:
            continue
        asked += 1
        changed, findings = _judged(analysis, part)
        if changed is not None:
            left.append(rest.slice(0, len(rest) - len(part.since(changed))))
        elif findings[0].id == "not-enough-data" and span[1] - span[0] >= 2 * MIXED_S and asked < spare:
            # Several short loads in one window look like none: each half may hold one.
            later = part.since((span[0] + span[1]) / 2)
            left += [rest.slice(0, len(rest) - len(later)), later]
            continue
        # Samples that are not looked at are taken for like those after them.
        found = period_of(findings, whole[0] if changed is None else changed, span[1])
        periods += [found] if found is not None else []
    return asked, periods


def _judged(analysis: Analysis, part: Timeline) -> tuple[float | None, Sequence[Finding]]:
    """When the load changed, if it did, and what the rules say of a stretch of samples alone.

    Answers, drivers and the host tell of now, and are left out.
    """
    frame, (first, last) = analysis.frame, _times(part) or (0.0, 0.0)
    events = tuple(event for event in frame.events if event.at is not None and first <= event.at <= last)
    boots = tuple(replace(boot, state="up", ended_at=None) if boot is frame.boot else boot for boot in frame.boots)
    then = replace(
        frame, now=last, finished=True, boots=boots, timeline=part, events=events, http=None, gpus=None, host=None, notices=(), notes=()
    )
    context = context_of(then, analysis.account, window_s=math.inf, thresholds=analysis.thresholds)
    return context.changed_at, diagnose(context)
