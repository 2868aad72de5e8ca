"""The plan: what the marked options come to together, the command that does it, and the one proposed as best and safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Plan, Word
from kvtui.domain.units import gb_to_gib
from kvtui.options.context import OptionContext
from kvtui.options.of_analysis import context_of
from kvtui.options.plan import best_safe, combine
from kvtui.options.registry import estimates as levers
from kvtui.options.stated import with_stated
from kvtui.present import glyphs
from kvtui.present.aside import headroom_judgement
from kvtui.present.clauses import fitted
from kvtui.present.figures import NONE, gib, signed_pct, tokens
from kvtui.present.line import BLANK, ELLIPSIS, Begin, Line, Span, cells, clean, clip, line_cells, pad, wrap
from kvtui.present.option_names import option_name
from kvtui.present.readings import finite
from kvtui.present.state import ViewState

_LONGEST: Final = 20_000
"""Characters of a command that are copied."""


def context_at(state: ViewState, fraction: float | None) -> OptionContext:
    """What the levers look at: under the stated load where one is stated."""
    context = context_of(state.analysis, fraction)
    return context if state.stated is None else with_stated(context, state.stated)


def combined(state: ViewState) -> Plan | None:
    """The marked options that apply, combined; None where there are none."""
    if not any(e.id in state.plan and e.applies for e in state.estimates):
        return None
    return combine(context_at(state, state.fraction), state.estimates, state.plan)


def planned(state: ViewState) -> Plan | None:
    """The same, as the session made it; made here where the state does not hold it."""
    return state.planned if state.planned is not None or not state.plan else combined(state)


def proposed(state: ViewState) -> Plan | None:
    """The best safe plan at today's fraction; None where nothing safe is known to gain."""
    context = context_at(state, None)
    if state.stated is None:
        return best_safe(context, state.analysis.estimates)
    return best_safe(context, state.estimates if state.fraction is None else levers(context))


def plan_foot(plan: Plan, state: ViewState, width: int, rows: int = 1) -> list[Line]:
    """Below the options: the flags in at most ``rows`` lines, and what they come to together in one."""
    lines = _flag_lines(f" plan of {len(plan.options)}: ", plan.flags or ("no flags",), width, rows)
    if plan.conflicts:
        first = plan.conflicts[0]
        told = f" {option_name(first.left)} and {option_name(first.right)} do not go together: {first.why}"
        parts = fitted(told.strip(), width - 3, 2) or (clip(told.strip(), width - 3),)
        return [*lines, *((Span(" " if number else glyphs.WARN, "warn"), Span(f" {part}")) for number, part in enumerate(parts))]
    return [*lines, _effect(" together: ", plan, state, width)]


def proposal_foot(plan: Plan, state: ViewState, width: int, rows: int = 1) -> list[Line]:
    """The best safe plan below the options: what it gives, and its flags in at most ``rows`` lines."""
    flags = plan.flags or (", ".join(option_name(option) for option in plan.options),)
    return [_effect(" best safe plan: ", plan, state, width), *_flag_lines(" ", flags, width, rows)]


def _flag_lines(head: str, flags: Sequence[str], width: int, rows: int) -> list[Line]:
    """The flags behind a heading, each with its value where that fits; an ellipsis where not all have room."""
    units = [clean(flag, 200) for flag in flags]
    indent = " " * min(len(head), 2)
    room = width - len(indent)
    words = " ".join(units).split(" ")
    told = next((lines for lines in (_filled(units, cells(head), width), _filled(words, cells(head), width)) if len(lines) <= rows), None)
    if told is None or any(cells(text) > room for text in told[1:]):
        told = _filled(words, cells(head), width)
        cut = told[:rows]
        cut[-1] = clip(f"{cut[-1]} {ELLIPSIS}" if len(told) > rows else cut[-1], room if rows > 1 else width - cells(head))
        told = cut
    first: Line = (Span(head, "changed"), Span(told[0], "changed"))
    return [first, *((Span(indent), Span(text, "changed")) for text in told[1:])]


def _filled(units: Sequence[str], used: int, width: int) -> list[str]:
    """Lines of whole units; the first is ``used`` columns shorter, the others begin two columns in."""
    texts = [""]
    for unit in units:
        if texts[-1] and used + 1 + cells(unit) > width:
            texts.append("")
            used = 2
        used += cells(unit) + bool(texts[-1])
        texts[-1] += f" {unit}" if texts[-1] else unit
    return texts


def _effect(head: str, plan: Plan, state: ViewState, width: int) -> Line:
    """Tokens, requests, throughput and headroom in one line; on a narrow pane the first of them, each whole."""
    fits = (Span(f"fits {plan.fits:,.0f}"),) if plan.fits is not None and math.isfinite(plan.fits) else ()
    left: Line = ()
    brief: Line = ()
    if plan.headroom_gib is not None and math.isfinite(plan.headroom_gib):
        judged = headroom_judgement(plan.headroom_gib)
        size = gib(plan.headroom_gib).replace("-", "−")
        left, brief = ((Span(f"headroom {size}{unit} "), *judged.spans) for unit in (" GiB", ""))
    pool, speed, short = (Span(_pool(plan, state), "strong"),), (Span(_speed(plan, state)),), (Span(_speed(plan, state, short=True)),)
    whole = ((pool, fits, told, room) for told in (speed, short) for room in (left, brief))
    shown = (*whole, (pool, fits, short), (pool, short), (pool,))
    rows = [(Span(head, "dim"), *_joined(parts)) for parts in shown]
    return next((row for row in rows if line_cells(row) <= width), rows[-1])


def _joined(parts: Sequence[Line]) -> Line:
    spans: list[Span] = []
    for part in parts:
        spans += [Span(f" {glyphs.BULLET} ", "dim"), *part] if spans and part else part
    return tuple(spans)


def _pool(plan: Plan, state: ViewState) -> str:
    if plan.tokens is None:
        return f"pool unknown ({clean(plan.tokens_why)})" if plan.tokens_why else "pool unknown"
    now = finite(state.analysis.account.tokens_reported)
    change = f" ({signed_pct(now, plan.tokens)})" if now else ""
    return f"{tokens(plan.tokens)} tokens{change}"


def _speed(plan: Plan, state: ViewState, *, short: bool = False) -> str:
    found = plan.tok_s
    if found is None or not (math.isfinite(found.low) and math.isfinite(found.high) and math.isfinite(found.mid)):
        return "tok/s: measure"
    workload = state.analysis.workload
    now = finite(workload.gen_tput) if workload is not None else None
    change = f", {signed_pct(now, found.mid)}" if now else ""
    told = f"{tokens(found.low)}…{tokens(found.high)} tok/s"
    return told if short else f"{told} (about {tokens(found.mid)}{change})"


def command_text(plan: Plan) -> str:
    """The launch command as one line, safe to paste; the flags where no command is known."""
    words = [word.text for word in plan.command]
    return clean(" ".join(words or plan.flags), _LONGEST)


def command_lines(words: Sequence[Word], width: int) -> list[Line]:
    """The command wrapped to ``width`` columns, what is changed marked by tone and by a sign before it."""
    lines: list[Line] = []
    spans: list[Span] = []
    used, before = 0, False
    for word in words:
        text = clean(word.text, 400)
        sign = f"{glyphs.MARKED} " if word.changed and not before else ""
        before = word.changed
        room = cells(sign) + cells(text)
        if spans and used + 1 + room > width:
            lines.append(tuple(spans))
            spans, used = [], 0
        if spans:
            spans.append(Span(" "))
            used += 1
        spans.append(Span(f"{sign}{text}", "changed" if word.changed else "text"))
        used += room
    return [*lines, tuple(spans)] if spans else lines


def plan_block(estimate: Estimate, state: ViewState, width: int) -> list[Line]:
    """Below one option: the plan it is part of, else the command with this option alone."""
    marked = planned(state)
    if marked is not None:
        return [BLANK, *plan_lines(marked, state, width)]
    if not estimate.applies:
        return []
    alone = combine(context_at(state, state.fraction), state.estimates, {estimate.id})
    return [BLANK, *_command(alone, width)] if alone.command else []


def plan_lines(plan: Plan, state: ViewState, width: int, title: str = "plan") -> list[Line]:
    """A plan in full: parts, effect, how they work on each other, and the command."""
    lines: list[Line] = [(Span(title, "strong"), Span(f" of {len(plan.options)}", "dim"))]
    named = [clean(e.title, 200) for e in state.estimates if e.id in plan.options]
    lines += labelled("options", named or [option_name(option) for option in plan.options], width)
    for conflict in plan.conflicts:
        told = f"{glyphs.WARN} {option_name(conflict.left)} and {option_name(conflict.right)}: {conflict.why}"
        lines += labelled("conflict", [told], width)
    lines += labelled("pool", [_pool(plan, state)], width)
    lines += labelled("fits", [f"{plan.fits:,.0f} requests ({plan.fits_basis})" if plan.fits is not None else NONE], width)
    if plan.running is not None:
        lines += labelled("running", [f"{plan.running[0]:,.0f} → {plan.running[1]:,.0f}"], width)
    basis = f"; basis: {plan.tok_s.basis}" if plan.tok_s is not None else f": {plan.tok_s_why}" if plan.tok_s_why else ""
    lines += labelled("tok/s", [f"{_speed(plan, state)}{basis}"], width)
    if plan.stream_tok_s is not None:
        lines += labelled("one stream", [f"{plan.stream_tok_s[0]:,.1f} → {plan.stream_tok_s[1]:,.1f} tok/s"], width)
    if plan.wait_s is not None:
        lines += labelled("in the queue", [f"{plan.wait_s[0]:,.0f} → {plan.wait_s[1]:,.0f} s (Little's law, the same demand)"], width)
    if plan.headroom_gib is not None and math.isfinite(plan.headroom_gib):
        judged = headroom_judgement(plan.headroom_gib)
        lines += labelled("headroom", [f"{gib(plan.headroom_gib)} GiB a GPU, {judged.sign} {judged.word}".replace("-", "−")], width)
    if plan.host_gb is not None:
        lines += labelled("host memory", [f"{gb_to_gib(plan.host_gb):,.1f} GiB over all ranks ({plan.host_gb:,.1f} decimal GB)"], width)
    lines += labelled("risk", [f"{plan.risk}: {plan.risk_text}"], width)
    lines += labelled("restart", ["yes" if plan.restart else "no"], width)
    if plan.notes:
        lines += labelled("together", plan.notes, width)
    return [*lines, *_command(plan, width)]


def _command(plan: Plan, width: int) -> list[Line]:
    lines = labelled("command", [f"{plan.command_basis}; {glyphs.MARKED} is changed"] if plan.command else [plan.command_basis], width)
    told = command_lines(plan.command, max(10, width - 16))
    lines += [(Span(pad("", 15)) if number else Begin(pad("", 15), "label"), *line) for number, line in enumerate(told)]
    if plan.removed:
        lines += labelled("taken out", [" ".join(plan.removed)], width)
    if plan.beside:
        lines += labelled("besides", plan.beside, width)
    return lines


def labelled(label: str, texts: Sequence[str], width: int) -> list[Line]:
    """A label and its texts, wrapped beside it."""
    lines: list[Line] = []
    for text in texts:
        for part in wrap(clean(text), max(10, width - 16)):
            lines.append((Span(pad("" if lines else label, 15), "label"), Span(part)))
    return lines
