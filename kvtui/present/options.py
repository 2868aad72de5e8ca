"""The options pane: every lever with its price, and the plan that marked ones make."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvtui.domain.estimate import Estimate
from kvtui.domain.reading import Known
from kvtui.domain.units import gb_to_gib
from kvtui.present import glyphs
from kvtui.present.aside import headroom_judgement
from kvtui.present.figures import NONE, gib, tokens
from kvtui.present.line import BLANK, Line, Span, Tone, cells, clean, clip_line, line_cells, pad, pad_left, wrap
from kvtui.present.plan_pane import command_text, labelled, plan_block, plan_foot, planned, proposal_foot, proposed
from kvtui.present.state import ViewState
from kvtui.present.stated import stated_foot

RISKS: dict[str, tuple[str, Tone]] = {
    "none": (glyphs.GOOD, "good"),
    "low": (glyphs.GOOD, "good"),
    "medium": (glyphs.WARN, "warn"),
    "high": (glyphs.BAD, "bad"),
}


_ROOMY = 12
"""Lines of the pane from which a proposal has room below the options."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns, just as wide as the figures ask for."""

    name: int
    tokens: int
    fits: int
    tok_s: int


@dataclass(frozen=True, slots=True)
class Options:
    """The pane's lines, and which of them is which option."""

    lines: tuple[Line, ...]
    rows: tuple[tuple[int, str], ...]
    """(line number, option id) of each option that is on the screen."""


def ids(state: ViewState) -> tuple[str, ...]:
    """Option ids in the order of the pane."""
    return tuple(estimate.id for estimate in state.estimates)


def options(state: ViewState, width: int, height: int, selected: str | None) -> Options:
    """The options in ``height`` lines of ``width`` columns, ``selected`` (an option id) unfolded by a line and always in sight."""
    if not state.estimates:
        return Options(_nothing(state, width), ())
    foot = _foot(state, width, height)
    room = max(1, height - 1 - len(foot))
    columns = _columns(state, width)
    blocks = [(e.id, _block(e, state, columns, width, selected=e.id == selected)) for e in state.estimates]
    start = _scrolled([(block_id == selected, len(lines)) for block_id, lines in blocks], room)
    body: list[Line] = []
    rows: list[tuple[int, str]] = []
    for block_id, lines in blocks[start:]:
        if len(body) + len(lines) > room:
            break
        rows.append((len(body) + 1, block_id))
        body += lines
    body += _beside(state, width, selected, room - len(body))
    whole = [_head(columns), *body, *foot]
    return Options(tuple(clip_line(line, width) for line in whole)[:height], tuple(rows))


def _beside(state: ViewState, width: int, selected: str | None, room: int) -> list[Line]:
    """What fills the rest of the pane: the selected option in full, where a large screen has room for all of it."""
    found = next((e for e in state.estimates if e.id == selected), None)
    told = [BLANK, (Span(glyphs.RULE * width, "dim"),), *((Span("  "), *line) for line in detail(found, width - 3))] if found else []
    shown = told if len(told) <= room else []
    return [*shown, *([BLANK] * (room - len(shown)))]


def _nothing(state: ViewState, width: int) -> tuple[Line, ...]:
    notes = state.analysis.notes or state.analysis.frame.notes
    said = clean(notes[0]) if notes else "the server's start and its load were not both read"
    text = f"No option can be estimated yet: {said}"
    return tuple((Span(f" {part}", "note"),) for part in wrap(text, width - 2))


def _scrolled(blocks: list[tuple[bool, int]], room: int) -> int:
    """First block to show so that the selected one is in sight: as early as possible."""
    chosen = next((i for i, (selected, _) in enumerate(blocks) if selected), 0)
    start = 0
    while start < chosen and sum(size for _, size in blocks[start : chosen + 1]) > room:
        start += 1
    return start


def _columns(state: ViewState, width: int) -> Columns:
    shown = [e for e in state.estimates if e.applies]
    wide = [2 + max([least, *(cells(write(e)) for e in shown)]) for least, write in ((6, _tokens), (4, _fits), (5, _tok_s))]
    return Columns(max(10, width - 5 - sum(wide)), *wide)


def _head(columns: Columns) -> Line:
    named = pad("    option", columns.name + 4)
    return (Span(named + pad_left("tokens", columns.tokens) + pad_left("fits", columns.fits) + pad_left("tok/s", columns.tok_s), "dim"),)


def _block(estimate: Estimate, state: ViewState, columns: Columns, width: int, *, selected: bool) -> list[Line]:
    marked = estimate.id in state.plan
    pointer = Span(glyphs.POINTER if selected else " ", "key")
    title = clean(estimate.title, 200)
    if not estimate.applies:
        head: Line = (pointer, Span(f" {glyphs.NOT} ", "dim"), Span(title, "dim"))
        reason = clean(estimate.why_not) or "does nothing here"
        if not selected:
            return [(*head, Span(f": {reason}", "dim"))]
        return [head, *((Span(f"    {part}"),) for part in wrap(f"{glyphs.BULLET} {reason}", max(10, width - 5)))]
    mark = Span(glyphs.MARKED, "changed") if marked else Span(" ")
    sign, tone = RISKS[estimate.risk]
    if estimate.idle:
        sign, tone = glyphs.IDLE, "dim"
    body: Tone = "dim" if estimate.idle else "text"
    row: Line = (
        pointer,
        mark,
        Span(f"{sign} ", tone),
        *_named(estimate, title, state, columns, "strong" if selected else body, body),
        Span(pad_left(_fits(estimate), columns.fits), body),
        Span(pad_left(_tok_s(estimate), columns.tok_s), body if estimate.tok_s else "note"),
    )
    if not selected:
        return [row]
    whole = [(Span(f"    {title}", "strong"),)] if not any(title in span.text for span in row) else []
    idle: list[Line] = [(Span(f"    does nothing here: {clean(estimate.why_not)}", "dim"),)] if estimate.idle else []
    return [row, *whole, *idle, (Span("    "), *_price(estimate))]


def _named(estimate: Estimate, title: str, state: ViewState, columns: Columns, tone: Tone, body: Tone) -> Line:
    """Name and pool; a name that is too long takes the column of a pool that stays as it is."""
    today = state.analysis.account.tokens_reported
    same = isinstance(today, Known) and estimate.tokens == today.value
    if same and cells(title) > columns.name:
        return (Span(pad(title, columns.name + columns.tokens), tone),)
    return (Span(pad(title, columns.name), tone), Span(pad_left(_tokens(estimate), columns.tokens), body))


def _tokens(estimate: Estimate) -> str:
    return tokens(estimate.tokens) if estimate.tokens is not None else NONE


def _fits(estimate: Estimate) -> str:
    return f"{estimate.fits:,.0f}" if estimate.fits is not None and math.isfinite(estimate.fits) else NONE


def _tok_s(estimate: Estimate) -> str:
    found = estimate.tok_s
    if found is None or not (math.isfinite(found.low) and math.isfinite(found.high)):
        return "? measure"
    low, high = tokens(found.low), tokens(found.high)
    return low if low == high else f"{low}…{high}"


def _price(estimate: Estimate) -> Line:
    """Headroom, risk and restart in one line."""
    spans: list[Span] = []
    if estimate.headroom_gib is not None and math.isfinite(estimate.headroom_gib):
        judged = headroom_judgement(estimate.headroom_gib)
        spans += [
            Span("headroom ", "dim"),
            Span(f"{gib(estimate.headroom_gib)} GiB ".replace("-", "−")),
            *judged.spans,
            Span(f" {glyphs.BULLET} ", "dim"),
        ]
    _, tone = RISKS[estimate.risk]
    spans += [Span(f"risk {estimate.risk}", tone), Span(f" {glyphs.BULLET} {'restart' if estimate.restart else 'no restart'}", "dim")]
    if estimate.host_gb is not None:
        spans += [Span(f" {glyphs.BULLET} host {gb_to_gib(estimate.host_gb):,.0f} GiB", "dim")]
    return tuple(spans)


def plan(state: ViewState) -> tuple[Estimate, ...]:
    """The marked options that apply, in the order of the pane."""
    return tuple(e for e in state.estimates if e.id in state.plan and e.applies)


def _foot(state: ViewState, width: int, height: int) -> list[Line]:
    """What the marked options come to together; what is proposed where none is marked. Before it the load that was stated."""
    said = stated_foot(state, width)
    found = planned(state)
    if found is not None:
        return [*said, *plan_foot(found, state, width, 3 if height >= _ROOMY else 1)]
    best = proposed(state) if height >= _ROOMY else None
    return said if best is None else [*said, *proposal_foot(best, state, width, 2)]


def copied(estimate: Estimate) -> str:
    """What goes to the clipboard: the flags as one line, or the advice where there are none; safe to paste."""
    return clean(" ".join(estimate.flags) or estimate.verify or estimate.title)


def plan_copied(state: ViewState) -> str:
    """The plan's whole launch command as one line, its flags where the log shows no command; empty where nothing is marked."""
    found = planned(state)
    return command_text(found) if found is not None else ""


def detail(estimate: Estimate, width: int, state: ViewState | None = None) -> tuple[Line, ...]:
    """Everything about one option; with ``state``, the plan that is marked and its launch command below it."""
    lines: list[Line] = [(Span(clean(estimate.title), "strong"),), BLANK]
    if not estimate.applies:
        lines += labelled("does not apply", [estimate.why_not or "does nothing here"], width)
    lines += labelled("flags", estimate.flags or ["none"], width)
    lines += labelled("pool", [f"{_tokens(estimate)} tokens"], width)
    lines += labelled("fits", [f"{_fits(estimate)} requests" + (f" ({estimate.fits_basis})" if estimate.fits_basis else "")], width)
    lines += labelled("tok/s", [_throughput(estimate)], width)
    if estimate.headroom_gib is not None and math.isfinite(estimate.headroom_gib):
        judged = headroom_judgement(estimate.headroom_gib)
        lines += labelled("headroom", [f"{gib(estimate.headroom_gib)} GiB a GPU, {judged.sign} {judged.word}"], width)
    if estimate.host_gb is not None:
        lines += labelled(
            "host memory", [f"{gb_to_gib(estimate.host_gb):,.1f} GiB over all ranks ({estimate.host_gb:,.1f} decimal GB)"], width
        )
    lines += labelled("risk", [f"{estimate.risk}" + (f": {estimate.risk_text}" if estimate.risk_text else "")], width)
    lines += labelled("restart", ["yes" if estimate.restart else "no"], width)
    if estimate.verify:
        lines += labelled("verify", [estimate.verify], width)
    if estimate.notes:
        lines += labelled("notes", estimate.notes, width)
    if state is not None:
        lines += plan_block(estimate, state, width)
    return tuple(line if line_cells(line) <= width else clip_line(line, width) for line in lines)


def _throughput(estimate: Estimate) -> str:
    if estimate.tok_s is None:
        return f"not estimated: {estimate.tok_s_why or 'no basis for it'}"
    return (
        f"{_tok_s(estimate)}, about {tokens(estimate.tok_s.mid)}; basis: {estimate.tok_s.basis}"
        if math.isfinite(estimate.tok_s.mid)
        else _tok_s(estimate)
    )
