"""What the verdicts were over time: since when it is so, and what it was before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.finding import Confidence, Finding, VerdictId

LONGEST: Final = 400
"""Periods that are kept: more than a chart has columns. The oldest are forgotten first."""
TOUCHING_S: Final = 60.0
"""Seconds between two periods of one verdict that are one all the same: a pause of the samples, not of the situation."""
_RANK: Final[dict[Confidence, int]] = {"low": 0, "medium": 1, "high": 2}


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time with one primary verdict, and one of the step beside it. Seconds on the source's clock."""

    begin: float
    end: float | None
    """None: it still holds."""
    id: VerdictId
    title: str
    confidence: Confidence
    """The highest that it had."""
    step: VerdictId | None = None
    step_title: str = ""
    step_confidence: Confidence = "low"

    def holds(self, at: float) -> bool:
        """True at a time inside it."""
        return self.begin <= at and (self.end is None or at <= self.end)


Periods = tuple[Period, ...]
"""In order, none over another; nothing is known of the time between two that do not touch."""


def period_of(findings: Sequence[Finding], begin: float, end: float | None) -> Period | None:
    """The period in which these are the verdicts; None where there are none."""
    if not findings:
        return None
    first = findings[0]
    step = next((finding for finding in findings[1:] if finding.axis == "step"), None)
    bare = Period(begin, end, first.id, first.title, first.confidence)
    return bare if step is None else replace(bare, step=step.id, step_title=step.title, step_confidence=step.confidence)


def joined(periods: Iterable[Period]) -> Periods:
    """Neighbours of the same verdicts as one, and no gap between others that touch; ``periods`` in the order of time."""
    found: list[Period] = []
    for period in periods:
        last = found[-1] if found else None
        touches = last is not None and last.end is not None and period.begin - last.end <= TOUCHING_S
        if last is not None and touches and (last.id, last.step) == (period.id, period.step):
            found[-1] = replace(_surer(last, period), begin=last.begin, end=period.end)
            continue
        if last is not None and touches:
            found[-1] = replace(last, end=period.begin)
        found.append(period)
    return tuple(found[-LONGEST:])


def _surer(one: Period, other: Period) -> Period:
    """The one with the higher confidence, the first where they are equal."""
    return max(one, other, key=lambda period: _RANK[period.confidence])


def extended(periods: Periods, findings: Sequence[Finding], at: float) -> Periods:
    """The periods with what is found at ``at``; the same object where nothing has changed. A clock that goes back starts anew."""
    now = period_of(findings, at, None)
    if now is None:
        return periods
    last, told = (periods[-1] if periods else None), findings[0].since
    if last is None or at < last.begin:
        return (now if told is None else replace(now, begin=min(at, told)),)
    if (now.id, now.step) == (last.id, last.step):
        surer = replace(_surer(last, now), begin=last.begin)
        return periods if surer == last else (*periods[:-1], surer)
    if last.id == "not-enough-data" and now.id != last.id and told is not None and told <= last.begin:
        # What could not be told then is told now.
        held = periods[-2].end if len(periods) > 1 else None
        return (*periods[:-1], replace(now, begin=told if held is None else max(held, told)))
    # A verdict is shown once it has lasted: its own begin is nearer to the truth, where it lies in the period that it ends.
    begin = told if told is not None and now.id != last.id and last.begin < told <= at else at
    return (*periods[:-1], replace(last, end=begin), replace(now, begin=begin))[-LONGEST:]


def with_earlier(earlier: Periods, periods: Periods) -> Periods:
    """``periods`` with what is known of the time before the first of them."""
    if not periods:
        return earlier
    edge = periods[0].begin
    kept = (replace(p, end=min(edge, p.end if p.end is not None else edge)) for p in earlier if p.begin < edge)
    return joined((*kept, *periods))


def at_time(periods: Periods, at: float) -> Period | None:
    """The period of a time, or None where nothing is known of it."""
    return next((period for period in reversed(periods) if period.holds(at)), None)


def since(periods: Periods) -> float | None:
    """From when on the newest primary verdict holds, whatever limited a step meanwhile; None without any."""
    begin: float | None = None
    last: Period | None = None
    for period in periods:
        goes_on = last is not None and last.id == period.id and last.end is not None and period.begin - last.end <= TOUCHING_S
        begin, last = begin if goes_on else period.begin, period
    return begin


def dated(findings: tuple[Finding, ...], periods: Periods) -> tuple[Finding, ...]:
    """The findings, the primary one from when on its periods say: rules look back ten minutes, periods further."""
    begun = since(periods)
    if not findings or begun is None or findings[0].id != periods[-1].id:
        return findings
    told = findings[0].since
    return findings if told is None or told <= begun else (replace(findings[0], since=begun), *findings[1:])
