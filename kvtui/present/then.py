"""The verdict strip while a person looks at an earlier time: what is of now, and what the verdict was then."""

from __future__ import annotations

import math
from typing import Final

from kvtui.domain.buckets import AxisKind
from kvtui.domain.periods import at_time
from kvtui.present import glyphs
from kvtui.present.line import Line, Span, clean, clip_line
from kvtui.present.periods import sign, times
from kvtui.present.plot import position
from kvtui.present.state import ViewState

NOW: Final = "now: "


def scrubbed(lines: tuple[Line, ...], state: ViewState, cursor: float, width: int) -> tuple[Line, ...]:
    """The strip's lines, of which the first says that it is of now, and below it what the verdict was at ``cursor``."""
    return (clip_line(_now(lines[0]), width), clip_line(_then(state, cursor), width), *lines[1:])


def _now(line: Line) -> Line:
    """A verdict's line with a word before the title; the room between its two ends gives way."""
    if len(line) < 3:
        return line
    wide = next((number for number, span in enumerate(line) if len(span.text) > len(NOW) and not span.text.strip()), None)
    spans = [Span(s.text[len(NOW) :], s.tone) if number == wide else s for number, s in enumerate(line)]
    return (*spans[:2], Span(NOW, "changed"), *spans[2:])


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
