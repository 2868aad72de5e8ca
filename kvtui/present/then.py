"""The verdict strip while a person looks at an earlier time: what is of now, and what the verdict was then."""

from __future__ import annotations

import math
from typing import Final

from kvtui.domain.buckets import AxisKind
from kvtui.domain.periods import at_time
from kvtui.present import glyphs
from kvtui.present.line import BLANK, Line, Span, clean, clip_line, wrap
from kvtui.present.periods import sign, times
from kvtui.present.plot import position
from kvtui.present.state import ViewState

NOW: Final = "now: "
INDENT: Final = "  "
"""What a proof stands behind, below the sign of its verdict."""


def scrubbed(lines: tuple[Line, ...], state: ViewState, cursor: float, width: int) -> tuple[Line, ...]:
    """The strip's lines, each of which says that it is of now, and below the first what the verdict was at ``cursor``.

    ``lines``: made for ``len(NOW)`` columns less than ``width``.
    """
    first, *more = (clip_line(_now(line), width) for line in lines)
    return (first, clip_line(_then(state, cursor), width), *more)


def looking_back(state: ViewState, width: int) -> tuple[Line, ...]:
    """What must be said above the proof of a verdict of now while the time cursor stands elsewhere; nothing where it does not."""
    if state.cursor is None:
        return ()
    said = "What follows is of now, not of the time cursor; the line in the pictures shows where that stands."
    return (clip_line(_then(state, state.cursor), width), *((Span(f"   {part}", "changed"),) for part in wrap(said, width - 3)), BLANK)


def _now(line: Line) -> Line:
    """A line with a word behind its bar and its sign, or behind the indent of a proof."""
    bar, *rest = line
    if not rest:
        return line
    word = Span(NOW, "changed")
    if bar.text.endswith(" "):
        return (bar, word, *rest)
    sign, *more = rest
    if sign.text.startswith(INDENT):
        return (bar, Span(INDENT, sign.tone), word, Span(sign.text[len(INDENT) :], sign.tone), *more) if sign.text.strip() else line
    return (bar, sign, word, *more) if sign.text.endswith(" ") else (bar, word, *rest)


def _then(state: ViewState, cursor: float) -> Line:
    timed = state.analysis.frame.timeline.last("at")
    kind: AxisKind = "time" if timed is not None and math.isfinite(timed[1]) else "line"
    head = (Span(glyphs.BAR, "changed"), Span(f"  at {position(kind, cursor)}: ", "changed"))
    held = at_time(state.analysis.periods, cursor) if kind == "time" else None
    if held is None:
        gap = "there were no samples then" if state.analysis.periods else "what limited it then is not known"
        why = gap if kind == "time" else "the log carries no times: what limited it then is not known"
        return (*head, Span(why, "dim"))
    glyph, tone = sign(held.id, held.confidence)
    step = (Span(f"; step: {clean(held.step_title, 200)}"),) if held.step_title else ()
    return (*head, Span(f"{glyph} ", tone), Span(clean(held.title, 200)), Span(f" {times(held)}", "dim"), *step)
