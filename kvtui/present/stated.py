"""What a stated load would take: for the options pane in one line, and as a page."""

from __future__ import annotations

import math
import re

from kvtui.domain.plan import Plan
from kvtui.options.stated import Stated
from kvtui.options.stated_text import EXAMPLE, stated_text
from kvtui.present import glyphs
from kvtui.present.figures import fraction, gib, tokens
from kvtui.present.line import BLANK, Line, Span, clean, clip_line, wrap
from kvtui.present.option_names import option_name
from kvtui.present.plan_pane import labelled
from kvtui.present.state import ViewState


def stated_foot(state: ViewState, width: int) -> list[Line]:
    """Below the options: for which load they answer, and what it would take; nothing where none is stated."""
    if state.stated is None:
        return []
    lines: list[Line] = [(Span(" for ", "dim"), Span(_written(state.stated), "changed"), Span(" (stated): w", "dim"))]
    if state.answer is not None:
        parts = wrap(clean(state.answer.sentence), max(10, width - 3))
        lines += [(Span(f" {part}{'…' if number == 1 and len(parts) > 2 else ''}"),) for number, part in enumerate(parts[:2])]
    return [clip_line(line, width) for line in lines]


def stated_lines(state: ViewState, width: int) -> tuple[Line, ...]:
    """The page: the answer, the plans that reach the goal, and who said which figure."""
    if state.stated is None or state.answer is None:
        return ((Span(f"No load is stated. w states one, such as: {EXAMPLE}", "note"),),)
    answer = state.answer
    lines: list[Line] = [(Span("For ", "dim"), Span(_written(state.stated), "strong")), BLANK]
    lines += [(Span(part, "strong"),) for part in wrap(clean(answer.sentence), max(10, width))]
    lines.append(BLANK)
    if answer.needed_tokens is not None:
        lines += labelled(
            "pool needed", [f"{tokens(answer.needed_tokens)} tokens of one data-parallel rank, all of the load at once"], width
        )
    if answer.fraction is not None and math.isfinite(answer.fraction):
        lines += labelled("fraction", [_fraction(answer.fraction)], width)
    for number, plan in enumerate(answer.meets):
        lines += [BLANK, (Span(f"{glyphs.POINTER} way {number + 1}, risk {plan.risk}", "label"),), *_plan(plan, width)]
    lines += [BLANK, *labelled("basis", [*answer.basis, *_goal(state.stated)], width)]
    return tuple(clip_line(line, width) for line in lines)


def _written(stated: Stated) -> str:
    """The load as it is typed, its figures as they are written everywhere else."""
    return re.sub(r"\d{4,}", lambda found: tokens(int(found[0])), stated_text(stated))


def _fraction(value: float) -> str:
    return f"{fraction(value)} by itself" if value < 1 else "no fraction gives it by itself"


def _plan(plan: Plan, width: int) -> list[Line]:
    lines = labelled("options", [option_name(option) for option in plan.options], width)
    lines += labelled("flags", [" ".join(plan.flags) or "none"], width)
    if plan.tokens is not None:
        lines += labelled("pool", [f"{tokens(plan.tokens)} tokens"], width)
    if plan.running is not None:
        lines += labelled("running", [f"{plan.running[0]:,.0f} → {plan.running[1]:,.0f}"], width)
    if plan.tok_s is not None:
        lines += labelled("tok/s", [f"{tokens(plan.tok_s.low)}…{tokens(plan.tok_s.high)}; basis: {plan.tok_s.basis}"], width)
    if plan.wait_s is not None:
        lines += labelled("in the queue", [f"{plan.wait_s[0]:,.0f} → {plan.wait_s[1]:,.0f} s (Little's law)"], width)
    if plan.headroom_gib is not None:
        lines += labelled("headroom", [f"{gib(plan.headroom_gib)} GiB a GPU".replace("-", "−")], width)
    return [*lines, *labelled("risk", [plan.risk_text], width)] if plan.risk_text else lines


def _goal(stated: Stated) -> list[str]:
    if stated.target_tok_s is not None:
        return [f"goal: {stated.target_tok_s:,.0f} tok/s, stated"]
    if stated.target_wait_s is not None:
        return [f"goal: {stated.target_wait_s:g} s in the queue, stated"]
    return ["goal: all of the load running at once"]
