"""Raise ``mem_fraction_static``: every 0.01 turns a hundredth of ``pre`` into pool (facts/diagnoses.md 0.2, 2.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.account import WhatIf
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Known, optional
from kvtui.domain.units import GIB
from kvtui.domain.what_if import what_if
from kvtui.options.arithmetic import headroom_after, pool_after
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, of_pool, standstill
from kvtui.options.flags import fraction_flag, fraction_text
from kvtui.options.lever import headroom_risk, lever, not_here, planned_reserve_gib, today, with_effect

SAFE_HEADROOM_GIB: Final = 3.0
"""What a proposal leaves at least (facts/diagnoses.md V24: below 3 GiB is amber)."""
_HIGHEST: Final = 0.97
_TITLE: Final = "raise fraction"
_WARN_AT: Final = 0.95
_STARTING_POOL: Final = 0.02
"""Fraction above the least one, so that the pool is worth starting."""


def grid_above(fraction: float) -> float:
    """The next hundredth above a fraction."""
    return round(math.floor(fraction * 100 + 1e-6) / 100 + 0.01, 2)


def best_safe(context: OptionContext, fraction: float) -> float | None:
    """The highest hundredth that leaves ``SAFE_HEADROOM_GIB``; one step where headroom is unknown; None: no room."""
    best, step = None, grid_above(fraction)
    while step <= _HIGHEST + 1e-9:
        left = what_if(context.account, step).headroom_gib
        if not isinstance(left, Known):
            return step
        if left.value < SAFE_HEADROOM_GIB:
            break
        best, step = step, round(step + 0.01, 2)
    return best


@lever("raise-fraction")
def raise_fraction(context: OptionContext) -> Estimate:
    """The fraction under the cursor where it is above today's, else the best safe one."""
    fraction = finite(context.account.fraction)
    if fraction is None or not 0 < fraction < 1:
        return not_here(context, "raise-fraction", _TITLE, "today's fraction is unknown")
    failure, asked = context.found("startup-failure"), context.fraction
    if failure is not None and "raise-fraction" in failure.fixes:
        return _after_failure(context, fraction)
    if asked is not None and fraction < asked < 1:
        return _at(context, asked)
    chosen = None if failure is not None or context.found("headroom") is not None else best_safe(context, fraction)
    return _at(context, chosen) if chosen is not None else not_here(context, "raise-fraction", _TITLE, _no_room(context))


def _no_room(context: OptionContext) -> str:
    if context.found("startup-failure") is not None:
        return "the start failed, and not because the pool is too small"
    left = finite(context.account.headroom_gib)
    if left is None:
        return "memory outside the pool is short already"
    return f"no room: headroom is {left:.1f} GiB, and a step of 0.01 must leave {SAFE_HEADROOM_GIB:.0f}"


def _at(context: OptionContext, fraction: float) -> Estimate:
    told, change = what_if(context.account, fraction), Change(fraction=fraction)
    tokens, left = optional(pool_after(context, change)), headroom_after(context, change)
    risk, words = headroom_risk(left)
    base = replace(
        today(context, "raise-fraction", f"raise fraction to {fraction_text(fraction)}"),
        flags=(fraction_flag(fraction),),
        tokens=tokens,
        headroom_gib=left,
        risk=risk,
        risk_text=f"{words}{_planned(context, fraction)}",
        verify=_verify(context, tokens),
        notes=_notes(context, told),
        change=change,
    )
    return with_effect(base, context, _effect(context, told, tokens))


def _effect(context: OptionContext, told: WhatIf, tokens: int | None) -> Effect:
    if told.capped:
        return standstill(context, f"max_total_tokens holds the pool at {context.pool or 0:,}: the fraction changes nothing")
    if tokens is None:
        return Effect(why="the pool at another fraction is unknown")
    return of_pool(context, tokens)


def _planned(context: OptionContext, fraction: float) -> str:
    """Whether the slack falls below what SGLang would plan by itself."""
    pre, reserve = finite(context.account.pre_gib), planned_reserve_gib(context)
    if pre is None or reserve is None or pre * (1 - fraction) >= reserve:
        return ""
    return f"; slack {pre * (1 - fraction):.1f} GiB is below the {reserve:.1f} GiB that SGLang plans for activations by itself"


def _verify(context: OptionContext, tokens: int | None) -> str:
    page = optional(context.account.identity.page_size) or 1
    pool = f"the new start reports max_total_num_tokens={tokens:,} ± {max(page, 100):,}; " if tokens is not None else ""
    return f"{pool}available_gpu_mem stays above 3 GiB under the longest real prompt; no retraction in 15 minutes"


def _notes(context: OptionContext, told: WhatIf) -> tuple[str, ...]:
    notes = []
    pre, cell = finite(context.account.pre_gib), finite(context.account.divisor_bytes)
    if pre is not None and cell:
        notes.append(f"each 0.01 is {pre / 100:.2f} GiB = {pre * context.account.kv_share * GIB / 100 / cell:,.0f} tokens a GPU")
    today_fraction = finite(context.account.fraction)
    if today_fraction is not None and max(told.fraction, today_fraction) < _WARN_AT and not told.capped:
        far = what_if(context.account, _WARN_AT)
        tokens, left = optional(far.tokens), finite(far.headroom_gib)
        if tokens is not None and left is not None:
            _, words = headroom_risk(left)
            notes.append(f"0.95 would give {tokens:,} tokens, {words}")
    return tuple(notes)


def _least(context: OptionContext) -> tuple[float, str] | None:
    """The smallest fraction that leaves any pool: the server's own figure, else ``1 - post / pre`` (facts/memory.md 7)."""
    told = (event.fields.get("minimum_fraction") for event in context.events if event.kind == "not-enough-memory")
    named = [float(value) for value in told if isinstance(value, (int, float)) and 0 < value < 1]
    if named:
        return named[-1], f"the server says the fraction must be above {named[-1]:.3f}"
    pre, post = finite(context.account.pre_gib), finite(context.account.post_gib)
    if pre is None or post is None or not 0 < post < pre:
        return None
    return 1 - post / pre, f"minimum viable fraction = 1 − post / pre = 1 − {post:.2f} / {pre:.2f} = {1 - post / pre:.3f}"


def _after_failure(context: OptionContext, fraction: float) -> Estimate:
    """A start that failed because the weights leave no pool."""
    least = _least(context)
    words = least[1] if least is not None else "how much is needed is unknown: raise in such steps until it starts"
    chosen = grid_above(fraction + _STARTING_POOL - 0.01)
    if least is not None:
        chosen = max(grid_above(least[0]), min(grid_above(least[0] + _STARTING_POOL), _HIGHEST), grid_above(fraction))
    if chosen > _HIGHEST:
        return not_here(context, "raise-fraction", _TITLE, f"{words}; that leaves no room for anything else")
    pre, post, cell = (finite(reading) for reading in (context.account.pre_gib, context.account.post_gib, context.account.divisor_bytes))
    tokens = None
    if pre is not None and post is not None and cell is not None and cell > 0:
        tokens = max(0, int((post - pre * (1 - chosen)) * context.account.kv_share * GIB / cell))
    base = replace(
        today(context, "raise-fraction", f"raise fraction to {fraction_text(chosen)}"),
        flags=(fraction_flag(chosen),),
        tokens=tokens,
        risk="medium",
        risk_text="how much stays free for graphs and activations is not known before it starts",
        verify="the server starts and reports max_total_num_tokens",
        notes=(words,),
        change=Change(fraction=chosen),
    )
    return replace(with_effect(base, context, Effect(why="the server did not start")), rank=3.0)
