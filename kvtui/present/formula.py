"""The formula pane: where the pool comes from, written out with this server's numbers.

The law is facts/memory.md 0: ``tokens = floor((post - pre x (1 - f) - extras) / cell)``. A what-if is
anchored at the reported pool: ``reported + pre x change of f / cell``. Headroom is judged by
facts/diagnoses.md V24: under 2 GiB critical, under 3 GiB tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account, WhatIf
from kvtui.domain.reading import Known, Missing
from kvtui.present import glyphs
from kvtui.present.aside import Judgement, causes, headroom_judgement, ladder, shortcut
from kvtui.present.figures import cell_text, fraction, gib, signed_pct, tokens
from kvtui.present.line import BLANK, ELLIPSIS, Line, Span, Tone, cells, clean, clip_line, line_cells, pad, wrap
from kvtui.present.plan_drawn import plan_line
from kvtui.present.readings import finite, place, reason
from kvtui.present.saved import followed_lines, followed_short
from kvtui.present.state import ViewState

LABEL: Final = 20
FIGURE: Final = 10
REASON_ROWS: Final = 3
"""Rows below its own that a reason may take."""
ROUNDING_GIB: Final = 0.02
"""How far the rest may lie from its inputs by the rounding of two logged figures."""
UNKNOWN: Final = Span("unknown", "note")
STRONG: Final[Tone] = "strong"
CHANGED: Final[Tone] = "changed"


@dataclass(frozen=True, slots=True)
class Formula:
    """The pane's lines."""

    lines: tuple[Line, ...]
    note: str
    """What the keys do here, or that this is a what-if."""


def formula(state: ViewState, width: int, height: int) -> Formula:
    """The arithmetic at today's fraction or at the what-if's, in at most ``height`` lines of ``width`` columns."""
    account, what_if = state.analysis.account, state.what_if
    lines: list[Line] = [_fraction_line(account, what_if), *_inputs(account), *_rest(account, what_if), *_division(account, width)]
    if what_if is None:
        lines += [*_agreement(account), *_pools(account), _headroom(account, None)]
        rest = causes(account, width)
    else:
        lines += [*_what_if_pool(account, what_if), _headroom(account, what_if)]
        rest = shortcut(account, what_if, width)
    if state.planned is not None:
        lines.append(plan_line(state.planned, state.analysis, LABEL, FIGURE))
    if state.followed is not None:
        whole = followed_lines(state.followed, width)
        short = followed_short(state.followed, state.key("why", glyphs.ENTER))
        rest = [*whole, BLANK, *rest] if len(lines) + len(whole) <= height else [short, *rest]
    lines = _spaced(_unfolded(lines, width), rest, height)
    shown = (*lines, *rest)
    shown += ladder(account, what_if, height - len(shown))
    note = "" if what_if is None else f"what if: {state.key('today', 'esc')} returns to today's"
    return Formula(tuple(clip_line(line, width) for line in shown)[:height], note)


def _unfolded(lines: list[Line], width: int) -> list[Line]:
    """Reasons that are too long for their row go on below it; one that was given already is not given again."""
    told: set[str] = set()
    out: list[Line] = []
    for line in lines:
        if len(line) != 3 or line[1] != UNKNOWN:
            out.append(line)
            continue
        label, word, why = line
        parts = wrap(", as above" if why.text in told else why.text, max(12, width - cells(label.text) - cells(word.text))) or ("",)
        told.add(why.text)
        out.append((label, word, Span(parts[0] if parts[0].startswith(",") else f" {parts[0]}", "dim")))
        indent = Span(" " * cells(label.text))
        kept = parts[1 : REASON_ROWS + 1]
        cut = ELLIPSIS if len(parts) > REASON_ROWS + 1 else ""
        out += [(indent, Span(part + (cut if part is kept[-1] else ""), "dim")) for part in kept]
    return out


def _spaced(lines: list[Line], rest: list[Line], height: int) -> list[Line]:
    """Blank lines after the fraction and before the result, where there is room for them."""
    room = height - len(lines) - len(rest)
    spaced = list(lines)
    if room > 0:
        # The fraction's reason may go on below it.
        spaced.insert(next((n for n in range(1, len(lines)) if lines[n][0].text.strip()), 1), BLANK)
    if room > 1 and rest:
        spaced.append(BLANK)
    return spaced


def _row(label: str, figure: str, tail: Line = (), tone: Tone = "text") -> Line:
    return Span(f" {pad(label, LABEL)}", "label"), Span(figure.rjust(FIGURE), tone), Span("  "), *tail


def _unknown(label: str, why: str) -> Line:
    return Span(f" {pad(label, LABEL)}", "label"), UNKNOWN, Span(f", because {why}", "dim")


def _signed_gib(value: float) -> str:
    return f"{gib(value)} GiB".replace("-", "−")


def _gib_row(label: str, reading: Known[float] | Missing) -> Line:
    value = finite(reading)
    if value is None:
        return _unknown(label, reason(reading))
    return _row(label, f"{gib(value)} GiB", (Span(place(reading), "dim"),))


def _fraction_line(account: Account, what_if: WhatIf | None) -> Line:
    today = finite(account.fraction)
    if what_if is not None:
        shown, tone, said = fraction(what_if.fraction), CHANGED, f"today {fraction(today)}" if today is not None else "today unknown"
    elif today is not None:
        shown, tone, said = fraction(today), STRONG, place(account.fraction)
    else:
        return _unknown("mem_fraction_static", reason(account.fraction))
    dial = (Span(f"{glyphs.LEFT} ", "key"), Span(shown, tone), Span(f" {glyphs.RIGHT}", "key"))
    room = max(0, FIGURE - len(shown) - 4)
    return Span(f" {pad('mem_fraction_static', LABEL)}", "label"), Span(" " * room), *dial, Span("  "), Span(said, "dim")


def _inputs(account: Account) -> list[Line]:
    return [_gib_row("free after weights", account.post_gib), _gib_row("free before weights", account.pre_gib)]


def _rest(account: Account, what_if: WhatIf | None) -> list[Line]:
    pre, post = finite(account.pre_gib), finite(account.post_gib)
    at = what_if.fraction if what_if is not None else finite(account.fraction)
    reading = account.rest_gib if what_if is None else what_if.rest_gib
    rest = finite(reading)
    if pre is None or post is None or at is None or rest is None:
        return [_gib_row("rest for the pool", reading)]
    extras = finite(account.extras_gib) or 0.0
    written = f" rest = {gib(post)} − {gib(pre)} × (1 − {fraction(at)})" + (f" − {gib(extras)}" if extras else "")
    tone: Tone = "strong" if what_if is None else "changed"
    return [(Span(written),), _row("     =", _signed_gib(rest), _rest_said(account, what_if, post - pre * (1 - at) - extras), tone)]


def _rest_said(account: Account, what_if: WhatIf | None, written: float) -> Line:
    """Beside the rest: what it was, what is in it, or that the arithmetic above does not give it."""
    before = finite(account.rest_gib)
    if before is None:
        return ()
    if what_if is not None:
        return (Span(f"was {gib(before)}", "dim"),)
    if abs(before - written) > ROUNDING_GIB:
        return (Span(f"{place(account.rest_gib)}; written out {gib(written)}", "warn"),)
    if isinstance(account.extras_gib, Missing):
        return (Span("what else is taken: unknown", "note"),)
    return (Span(f"{gib(account.extras_gib.value)} taken off besides", "dim"),) if account.extras_gib.value else ()


def _division(account: Account, width: int) -> list[Line]:
    """The cell, with its arithmetic beside it or, where that does not fit, below it."""
    cell = finite(account.cell_bytes)
    if cell is None:
        return [_unknown("÷ bytes a token", reason(account.cell_bytes))]
    basis = clean(account.cell_formula) or {"printed": "as the log prints it", "pool size": "pool size ÷ tokens"}.get(
        account.cell_basis, ""
    )
    divisor = finite(account.divisor_bytes)
    if divisor is not None and abs(divisor - cell) > 0.5:
        basis = f"{cell_text(cell)} B and a draft's share"
    figure = f"{cell_text(divisor if divisor is not None else cell)} B"
    beside = _row("÷ bytes a token", figure, (Span(basis, "dim"),))
    if line_cells(beside) <= width:
        return [beside]
    return [_row("÷ bytes a token", figure), (Span(f"   = {basis}", "dim"),)]


def _agreement(account: Account) -> list[Line]:
    predicted, reported = finite(account.tokens_predicted), finite(account.tokens_reported)
    if predicted is None:
        lines = [_unknown("= tokens predicted", reason(account.tokens_predicted))]
    else:
        lines = [_row("= tokens predicted", tokens(predicted), (), "strong")]
    if reported is None:
        return [*lines, _unknown("  server reports", reason(account.tokens_reported))]
    tail: Line = (Span(place(account.tokens_reported), "dim"),)
    lines.append(_row("  server reports", tokens(reported), tail, "strong"))
    if predicted is None:
        return lines
    off = predicted - reported
    agrees = abs(off) <= account.tolerance_tokens
    judged = Judgement(glyphs.GOOD, "good", "within rounding") if agrees else Judgement(glyphs.WARN, "warn", "beyond rounding")
    share = f"{off / reported * 100:+.2f}% ".replace("-", "−") if reported else ""
    figure = f"{off:+,}".replace("-", "−")
    lines.append(_row("  difference", figure, (Span(share), *judged.spans)))
    return lines


def _what_if_pool(account: Account, what_if: WhatIf) -> list[Line]:
    now, then = finite(account.tokens_reported), finite(what_if.tokens)
    if then is None:
        return [_unknown("= tokens", reason(what_if.tokens))]
    if now is None:
        return [_row("= tokens", tokens(then), (), "changed")]
    off = then - now
    change = f"{off:+,}".replace("-", "−")
    lines = [_row("= tokens", tokens(then), (Span(f"{change} ({signed_pct(now, then)})", "changed"),), "changed")]
    if what_if.capped:
        return [*lines, (Span(f"   {glyphs.WARN} max_total_tokens caps the pool: a higher fraction adds none", "warn"),)]
    pre, cell, today = finite(account.pre_gib), finite(account.divisor_bytes) or finite(account.cell_bytes), finite(account.fraction)
    if then <= 0:
        return [*lines, (Span(f"   {glyphs.BAD} the weights leave no room for KV: the server would not start", "bad"),), *_least(account)]
    if pre is not None and cell is not None and today is not None:
        change_of_f = what_if.fraction - today
        share = "" if account.kv_share == 1 else f" × {account.kv_share:.2f}"
        step = f"{'+' if change_of_f > 0 else '−'} {fraction(abs(change_of_f))} × {gib(pre)} GiB{share} ÷ {cell_text(cell)} B"
        anchor = f"   = reported {tokens(now)} {step}"
        lines.append((Span(anchor, "dim"),))
    return lines


def _least(account: Account) -> list[Line]:
    """From which fraction on there is a pool at all: slack and reserves must fit into what the weights leave."""
    pre, post, extras = finite(account.pre_gib), finite(account.post_gib), finite(account.extras_gib) or 0.0
    if pre is None or post is None or not 0 < post - extras < pre:
        return []
    # Rounded up: at the fraction that is named there must be room.
    least = math.ceil((1 - (post - extras) / pre) * 1000 + 1e-9) / 1000
    return [(Span(f"     there is a pool from {fraction(least)} on: 1 − {gib(post - extras)} ÷ {gib(pre)}", "text"),)]


def _pools(account: Account) -> list[Line]:
    lines: list[Line] = []
    swa, slots, cap = finite(account.swa_tokens), finite(account.state_slots), finite(account.cap_tokens)
    if swa is not None:
        lines.append(_row("  sliding window", tokens(swa), (Span("tokens", "dim"),)))
    if slots is not None:
        size = finite(account.state_gib)
        lines.append(_row("  state slots", tokens(slots), (Span(f"{gib(size)} GiB" if size is not None else "", "dim"),)))
    if cap is not None:
        lines.append(_row("  capped at", tokens(cap), (Span("max_total_tokens", "dim"),)))
    return lines


def _headroom(account: Account, what_if: WhatIf | None) -> Line:
    reading = account.headroom_gib if what_if is None else what_if.headroom_gib
    value = finite(reading)
    if value is None:
        return _unknown("headroom left", reason(reading))
    judged = headroom_judgement(value)
    before = finite(account.headroom_gib)
    tail = f", was {gib(before)}" if what_if is not None and before is not None else ""
    return _row("headroom left", _signed_gib(value), (*judged.spans, Span(tail, "dim")))
