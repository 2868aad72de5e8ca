"""What stands below the formula: causes of a difference, the common shortcut refuted, and a ladder of fractions.

Headroom is judged by facts/diagnoses.md V24: under 2 GiB critical, under 3 GiB tight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account, WhatIf
from kvtui.domain.reading import Missing
from kvtui.domain.units import GIB
from kvtui.domain.what_if import what_if
from kvtui.present import glyphs
from kvtui.present.figures import fraction, gib, signed_pct, tokens
from kvtui.present.line import BLANK, Line, Span, Tone, clean, wrap
from kvtui.present.readings import finite

CRITICAL_GIB: Final = 2.0
TIGHT_GIB: Final = 3.0
LADDER_MOST: Final = 12
LADDER_TOP: Final = 0.96
"""Where the ladder ends; higher fractions can be typed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How thin the headroom is."""

    sign: str
    tone: Tone
    word: str

    @property
    def spans(self) -> Line:
        """Sign and word."""
        return (Span(f"{self.sign} {self.word}", self.tone),)


def headroom_judgement(headroom_gib: float) -> Judgement:
    """By facts/diagnoses.md V24."""
    if headroom_gib < 0:
        return Judgement(glyphs.BAD, "bad", "not enough")
    if headroom_gib < CRITICAL_GIB:
        return Judgement(glyphs.BAD, "bad", "too thin")
    if headroom_gib < TIGHT_GIB:
        return Judgement(glyphs.WARN, "warn", "tight")
    return Judgement(glyphs.GOOD, "good", "enough")


def causes(account: Account, width: int) -> list[Line]:
    """Why predicted and reported differ, wrapped to ``width`` columns."""
    lines: list[Line] = []
    for cause in account.causes:
        for number, part in enumerate(wrap(clean(cause), width - 4)):
            lines.append((Span(" · " if number == 0 else "   ", "dim"), Span(part)))
    return lines


def shortcut(account: Account, then_at: WhatIf, width: int) -> list[Line]:
    """Why scaling the tokens by the fraction, the common shortcut, is wrong here."""
    now, then = finite(account.tokens_reported), finite(then_at.tokens)
    scaled = finite(then_at.shortcut_tokens) if then_at.shortcut_tokens is not None else None
    pre, cell = finite(account.pre_gib), finite(account.divisor_bytes) or finite(account.cell_bytes)
    if now is None or then is None or scaled is None or pre is None or cell is None or then_at.capped or then == now:
        return []
    step = pre / 100
    said = (
        f"Scaling tokens by the fraction would say {tokens(scaled)} ({signed_pct(now, scaled)}). That is wrong: "
        f"the weights stay as they are, so each 0.01 moves pre ÷ 100 = {gib(step)} GiB = "
        f"{tokens(step * account.kv_share * GIB / cell)} tokens, whatever the pool is."
    )
    return [(Span(f" {part}", "dim"),) for part in wrap(said, width - 2)]


def account_at(account: Account, fraction: float) -> WhatIf:
    """The account at another fraction; where what was read is not a number, everything is missing for that reason."""
    try:
        return what_if(account, fraction)
    except (ValueError, OverflowError, ZeroDivisionError):
        none = Missing("what was read is not a usable number")
        return WhatIf(fraction, rest_gib=none, tokens=none, kv_gib=none, headroom_gib=none)


def ladder(account: Account, shown: WhatIf | None, room: int) -> tuple[Line, ...]:
    """Fractions above today's, a line each, in ``room`` lines with a heading; nothing where that is too little or inputs are missing."""
    today, now = finite(account.fraction), finite(account.tokens_reported)
    if today is None or now is None or room < 3 or finite(account_at(account, today).tokens) is None:
        return ()
    lead: tuple[Line, ...] = (BLANK,) if room > 3 else ()
    count = min(LADDER_MOST, room - 1 - len(lead))
    steps = max(1, round((LADDER_TOP - today) * 100))
    stride = max(1, steps // count)
    lines: list[Line] = []
    for number in range(1, count + 1):
        at = round(today + number * stride / 100, 4)
        if at > LADDER_TOP:
            break
        lines.append(_rung(account, at, now, marked=shown is not None and abs(shown.fraction - at) < 5e-5))
    if not lines:
        return ()
    return (*lead, (Span(" fraction      tokens          headroom left", "dim"),), *lines)


def _rung(account: Account, at: float, now: int, *, marked: bool) -> Line:
    found = account_at(account, at)
    pool, left = finite(found.tokens), finite(found.headroom_gib)
    size = f"{tokens(pool):>10} {signed_pct(now, pool):>8}" if pool is not None else f"{'unknown':>19}"
    head: Line = (Span(f" {glyphs.POINTER if marked else ' '} {fraction(at):<7}", "changed" if marked else "text"), Span(f"{size}  "))
    if left is None:
        return (*head, Span("  unknown", "note"))
    return (*head, Span(f"{gib(left):>6} GiB  ".replace("-", "−")), *headroom_judgement(left).spans)
