"""The verdicts over time as a band below one another with the charts: sign, word and colour a period."""

from __future__ import annotations

import itertools
from typing import Final

from kvtui.domain.finding import Confidence, VerdictId
from kvtui.domain.periods import Period, Periods, at_time, since
from kvtui.present.figures import clock
from kvtui.present.line import Line, Span, Tone, cells, clean, clip, clip_line, pad_left
from kvtui.present.periods import before, sign, times

FILL: Final = "━"
UNKNOWN: Final = " "
NARROW: Final = 4
"""Cells of a word below which it says nothing."""
CURSOR: Final = "│"

Verdict = tuple[VerdictId, str, Confidence]
Cell = tuple[str, Tone]


def band(periods: Periods, ends: tuple[float, float], columns: int, cursor: float | None, gutter: int) -> tuple[Line, ...]:
    """A line that names the verdict at the cursor, else the newest; a row of primary verdicts; one of the step's where there are any.

    ``ends``: the first and last position of the charts' time axis, which ``columns`` columns show behind ``gutter`` cells.
    Empty where nothing is known.
    """
    if not periods or columns < 2 or not ends[0] < ends[1]:
        return ()
    width = (ends[1] - ends[0]) / (columns - 1)
    held = [at_time(periods, ends[0] + number * width) for number in range(columns)]
    at = None if cursor is None else round((cursor - ends[0]) / width)
    rows = [_row("main", [None if period is None else (period.id, period.title, period.confidence) for period in held], at, gutter)]
    steps = [_step(period) for period in held]
    if any(steps):
        rows.append(_row("step", steps, at, gutter))
    return (clip_line(_legend(periods, cursor), gutter + columns), *rows)


def _step(period: Period | None) -> Verdict | None:
    return None if period is None or period.step is None else (period.step, period.step_title, period.step_confidence)


def _row(label: str, held: list[Verdict | None], cursor: int | None, gutter: int) -> Line:
    row: list[Cell] = []
    for verdict, group in itertools.groupby(held):
        row += _cells(verdict, sum(1 for _ in group))
    if cursor is not None and 0 <= cursor < len(row):
        row[cursor] = (CURSOR, "changed")
    runs = (Span("".join(char for char, _ in group), tone) for tone, group in itertools.groupby(row, key=lambda cell: cell[1]))
    return (Span(f"{pad_left(label, gutter - 1)}│", "dim"), *runs)


def _cells(verdict: Verdict | None, size: int) -> list[Cell]:
    """One verdict over ``size`` cells: its sign first, so that where one ends another is seen to begin."""
    if verdict is None:
        return [(UNKNOWN, "dim")] * size
    name, title, confidence = verdict
    glyph, tone = sign(name, confidence)
    room = size - 3
    told = clean(title, 200)
    word = told if cells(told) <= room else clip(name, room) if room >= NARROW else ""
    # A wide character would move everything behind it.
    text = f"{glyph} {word} " if word and cells(word) == len(word) else glyph
    return [*((char, tone) for char in text[:size]), *[(FILL, tone)] * (size - len(text))]


def _legend(periods: Periods, cursor: float | None) -> Line:
    if cursor is None:
        last, earlier = periods[-1], before(periods)
        past: Line = () if earlier is None else (Span(f"; before, {times(earlier)}: ", "dim"), *_title(earlier))
        return (Span("verdict  ", "label"), *_title(last), Span(f" since {clock(since(periods), seconds=False)}", "dim"), *past)
    held = at_time(periods, cursor)
    if held is None:
        return (Span("verdict at the cursor  ", "changed"), Span("not judged: no samples there", "dim"))
    step: Line = () if not held.step_title else (Span("; step: ", "dim"), Span(clean(held.step_title, 200)))
    return (Span("verdict at the cursor  ", "changed"), *_title(held), Span(f" {times(held)}", "dim"), *step)


def _title(period: Period) -> Line:
    glyph, tone = sign(period.id, period.confidence)
    return (Span(f"{glyph} ", tone), Span(clean(period.title, 200)))
