"""Lower ``mem_fraction_static``: give memory back to activations where headroom is short (facts/diagnoses.md V24)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.lowering import STEP, fraction_to_start, lowered_fraction
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.options.arithmetic import headroom_after, pool_after
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, of_pool
from kvtui.options.flags import fraction_flag, fraction_text
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect
from kvtui.options.raise_fraction import SAFE_HEADROOM_GIB

_TITLE: Final = "lower fraction"
_URGENT: Final = 3.0


@lever("lower-fraction")
def lower_fraction(context: OptionContext) -> Estimate:
    """The fraction under the cursor where it is below today's, else what the headroom asks for."""
    fraction = finite(context.account.fraction)
    if fraction is None or not 0 < fraction < 1:
        return not_here(context, "lower-fraction", _TITLE, "today's fraction is unknown")
    asked = context.fraction
    if asked is not None and 0 < asked < fraction:
        return _at(context, asked, urgent=_short(context))
    failure = context.found("startup-failure")
    if failure is not None and "lower-fraction" not in failure.fixes:
        other = "raise-fraction" not in failure.fixes
        return not_here(
            context, "lower-fraction", _TITLE, "the start failed for another reason" if other else "the pool is too small, not too large"
        )
    if failure is None and not _short(context):
        left = finite(context.account.headroom_gib)
        why = "no sign that memory outside the pool runs short" if left is None else f"headroom of {left:.1f} GiB is enough"
        return not_here(context, "lower-fraction", _TITLE, why)
    wanted = lowered_fraction(context.account) if failure is None else fraction_to_start(context.account, context.boot)
    return _at(context, wanted if wanted is not None else fraction - STEP, urgent=True)


def _without_pool(context: OptionContext) -> tuple[str, ...]:
    """What frees memory and costs no pool, to be tried first."""
    chunk = context.boot.number("chunked_prefill_size") if context.boot is not None else None
    smaller = f"--chunked-prefill-size {chunk / 2:.0f} or " if chunk is not None and 4_096 <= chunk < 1e6 else ""
    return (f"try first: {smaller}fewer captured batches; they cost no pool",)


def _short(context: OptionContext) -> bool:
    """True where headroom is below 3 GiB, or a rule found it short."""
    left = finite(context.account.headroom_gib)
    return context.found("headroom") is not None or (left is not None and left < SAFE_HEADROOM_GIB)


def _at(context: OptionContext, fraction: float, *, urgent: bool) -> Estimate:
    change = Change(fraction=fraction)
    tokens, left = optional(pool_after(context, change)), headroom_after(context, change)
    risk, words = headroom_risk(left)
    base = replace(
        today(context, "lower-fraction", f"lower fraction to {fraction_text(fraction)}"),
        flags=(fraction_flag(fraction),),
        tokens=tokens,
        headroom_gib=left,
        risk=risk if left is not None else "low",
        risk_text=words if left is not None else "frees memory outside the pool; how much is left there today is unknown",
        verify="no out of memory under the longest real prompt; the lowest free memory stays above 3 GiB",
        notes=_without_pool(context),
        change=change,
    )
    if tokens is not None and tokens <= 0:
        return replace(base, applies=False, why_not="the weights would leave no pool", tok_s_why="no pool", rank=-2.0)
    effect = Effect(why="the pool at another fraction is unknown") if tokens is None else of_pool(context, tokens)
    placed = with_effect(base, context, effect)
    return replace(placed, why_not="", rank=_URGENT) if urgent else placed
