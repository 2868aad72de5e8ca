"""What admission holds back for answers not yet generated, and what less of it is worth (facts/diagnoses.md 0.1, V3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.admission import CLIP_NEW_TOKENS, Interval, ratio_interval
from kvtui.domain.reading import Missing
from kvtui.domain.throughput import REFUSE_BEYOND
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, not_the_limit, observed, of_running, standstill

NO_LOAD: Final = "no load was judged"
RESERVING: Final = frozenset({"kv-capacity", "reservation"})
"""Verdicts under which a smaller reservation lets more requests run."""
_WORTH: Final = 1.01
"""Growth of running requests below which a lever does nothing."""
NO_EVIDENCE: Final = "no public throughput measurement of this lever exists: arithmetic only"


@dataclass(frozen=True, slots=True)
class Charge:
    """What admission holds per request, in tokens."""

    need: float
    """Of a candidate: uncached prompt and clipped answer."""
    reserved: float
    """Of a running request, beside what it holds: ``new_token_ratio`` x clipped remaining tokens."""


Pair = tuple[Charge, Charge]
"""A charge before and after a change."""


def admitted_ratio(*, pool: float, resident: float, before: Charge, after: Charge, pool_after: float | None = None) -> float:
    """``R'/R = (P' - need')/(P - need) x (m + nu r)/(m + nu' r')``; 1 where either side admits nothing."""
    old, new = pool - before.need, (pool if pool_after is None else pool_after) - after.need
    heavy, light = resident + before.reserved, resident + after.reserved
    if old <= 0 or new <= 0 or heavy <= 0 or light <= 0:
        return 1.0
    return new / old * heavy / light


def bounded(charge: Charge, free: float) -> Charge:
    """The charge with a need of at most ``free`` tokens."""
    return replace(charge, need=min(charge.need, free))


def within_seen(before: Charge, after: Charge, seen: float) -> tuple[Charge, Charge]:
    """Both scaled down to a reservation that leaves room for what was seen to run."""
    if before.reserved <= seen:
        return before, after
    return replace(before, reserved=seen), replace(after, reserved=after.reserved * seen / before.reserved)


def charges_of(context: OptionContext, cap: int | None, value: float | None) -> tuple[Pair, Pair] | None:
    """Charges before and after at both ends of what cannot be read: how much clients ask for, and the ratio.

    ``cap``: ``max_new_tokens`` that clients then send at most; ``value``: the new conservativeness; None: as today.
    None where the length of prompts is unknown.
    """
    need, prompt = context.need(), finite(context.workload.prompt)
    if need is None or prompt is None:
        return None
    old, remaining, done = context.ratio(), context.remaining(), (finite(context.workload.output) or 0.0) / 2
    new: Interval = old
    if value is not None:
        new = ratio_interval(conservativeness=value, dp_attention=context.account.identity.dp_attention)
    if cap is None:
        return (
            (Charge(need.low, old.low * remaining.low), Charge(need.low, new.low * remaining.low)),
            (Charge(need.high, old.high * remaining.high), Charge(need.high, new.high * remaining.high)),
        )
    # At least nothing comes of the cap (clients send it already), at most they ask for the clip today.
    capped = clipped(cap, done)
    least = (Charge(prompt + cap, old.low * capped), Charge(prompt + cap, new.low * capped))
    before = Charge(prompt + CLIP_NEW_TOKENS, old.high * remaining.high)
    return least, (before, Charge(prompt + cap, new.high * min(capped, remaining.high)))


def effect_of(context: OptionContext, least: Pair, most: Pair, *, pool_after: int | None = None) -> Effect:
    """Two ends of what cannot be read (how many tokens clients ask for), each as charge before and after.

    ``pool_after``: tokens of the pool where that changes too.
    """
    if context.limit not in RESERVING:
        return standstill(context, not_the_limit(context, "the reservation"))
    now, pool, resident = observed(context), context.pool, finite(context.workload.resident)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    if pool is None or resident is None or not resident > 0:
        return Effect(why="the pool or the size of a running request is unknown")
    # So many run already: what is reserved for each cannot be more than the pool leaves beside what they hold.
    seen = max(0.0, (pool - least[0].need) / max(1.0, now.running - 1) - resident)
    # Nor can a newcomer be charged more than was free when the last one entered.
    free = max(least[0].need, pool - max(0.0, now.running - 1) * resident)
    grown = pool if pool_after is None else pool_after
    most_fit = min(REFUSE_BEYOND, max(1.0, grown / resident / now.running))
    free_after = max(free, free + grown - pool)
    pairs = (within_seen(bounded(old, free), bounded(new, free_after), seen) for old, new in (least, most))
    factors = sorted(
        min(most_fit, admitted_ratio(pool=pool, resident=resident, before=old, after=new, pool_after=grown)) for old, new in pairs
    )
    if factors[-1] < _WORTH and grown <= pool:
        return standstill(context, "what runs leaves no reservation to speak of")
    return joined(context, now.running, factors)


def joined(context: OptionContext, running: float, factors: list[float]) -> Effect:
    """One range over the lowest, the middle and the highest growth of running requests."""
    low, mid, high = (of_running(context, running * f) for f in (factors[0], math.sqrt(factors[0] * factors[-1]), factors[-1]))
    if low.tok_s is None or mid.tok_s is None or high.tok_s is None:
        return mid if mid.tok_s is None else high if high.tok_s is None else low
    span = type(mid.tok_s)(low.tok_s.low, mid.tok_s.mid, high.tok_s.high, f"{mid.tok_s.basis}; max_new_tokens unknown, so a range")
    return Effect(tok_s=span, running=mid.running, notes=(f"admits ×{factors[0]:.2f} … ×{factors[-1]:.2f}", *mid.notes))


def clipped(new_tokens: float, done: float) -> float:
    """Tokens charged for a running request that has ``done`` of ``new_tokens``."""
    return min(float(CLIP_NEW_TOKENS), max(0.0, new_tokens - done))
