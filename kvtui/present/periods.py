"""The verdicts over time in words: since when, and what it was before."""

from __future__ import annotations

from typing import Final

from kvtui.domain.finding import Confidence, Finding, VerdictId
from kvtui.domain.periods import Period, Periods, since
from kvtui.present import glyphs
from kvtui.present.figures import clock, stamp
from kvtui.present.line import Line, Span, Tone, clean

SHOWN: Final = 12
"""Newest periods that a page or a report names."""
DAY: Final = 86_400.0


def sign(verdict: VerdictId, confidence: Confidence) -> tuple[str, Tone]:
    """Sign and tone of a verdict that is past."""
    return glyphs.of_finding(Finding(verdict, "", "", "concurrency", confidence))


def times(period: Period, *, dated: bool = False) -> str:
    """``10:02–10:40``, ``10:02:10–10:02:45`` inside one minute, or ``since 10:40`` for what still holds; ``dated``: with the day."""
    if period.end is None:
        return f"since {_moment(period.begin, dated=dated)}"
    begin, end = (_moment(at, dated=dated) for at in (period.begin, period.end))
    return f"{begin}–{end}" if begin != end else f"{stamp(period.begin) if dated else clock(period.begin)}–{clock(period.end)}"


def _moment(at: float, *, dated: bool) -> str:
    return stamp(at)[:-3] if dated else clock(at, seconds=False)


def before(periods: Periods) -> Period | None:
    """What the verdict was before the newest one; None where nothing is known of that."""
    begun = since(periods)
    return next((period for period in reversed(periods) if begun is not None and period.begin < begun), None)


def _long(periods: Periods) -> bool:
    """True where a time of day alone would not tell the day."""
    ends = [period.end for period in periods if period.end is not None]
    return bool(periods) and max([*ends, periods[-1].begin]) - periods[0].begin >= DAY / 2


def sentence(periods: Periods) -> str:
    """All of them in one sentence, oldest first; empty where there is but one."""
    if len(periods) < 2:
        return ""
    shown, dated = periods[-SHOWN:], _long(periods[-SHOWN:])
    told = [f"{period.id} {times(period, dated=dated)}" for period in shown]
    more = f"{len(periods) - len(shown)} earlier; " if len(periods) > len(shown) else ""
    return f"Over time: {more}{'; '.join(told)}."


def lines(periods: Periods) -> tuple[Line, ...]:
    """A line a period, oldest first; none where there is but one."""
    if len(periods) < 2:
        return ()
    shown, dated = periods[-SHOWN:], _long(periods[-SHOWN:])
    found: list[Line] = []
    for period in shown:
        glyph, tone = sign(period.id, period.confidence)
        step = (Span(f"; step: {clean(period.step_title, 200)}", "dim"),) if period.step_title else ()
        found.append((Span(f"{times(period, dated=dated)}  ", "dim"), Span(f"{glyph} ", tone), Span(clean(period.title, 200)), *step))
    return tuple(found)
