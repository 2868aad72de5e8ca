"""The pool and the headroom after a change, anchored at what the server reports; changes merged into one.

The law is linear in bytes (facts/diagnoses.md 0.2), so several changes at once are one sum and one division:
``(reported x cell + (pre x change of fraction + further GiB) x share) / new cell``, whole pages, under the cap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kvtui.domain.plan import NO_CHANGE, Change, Speed
from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.units import GIB
from kvtui.domain.what_if import is_capped, uncapped
from kvtui.options.context import OptionContext, finite

_FORMULA = Where("formula", "(reported × cell + change in bytes) ÷ new cell")


def pool_after(context: OptionContext, change: Change) -> Reading[int]:
    """Tokens of the pool after ``change``; 0 where the weights would leave none, Missing where an input is."""
    account, pool = context.account, context.pool
    if change.unknown_pool:
        return Missing(change.unknown_pool)
    if pool is None:
        return Missing("today's pool is unknown")
    grown = _grown_gib(context, change)
    if isinstance(grown, Missing):
        return grown
    cell = finite(account.divisor_bytes)
    base = float(pool)
    capped = is_capped(account)
    if capped and not change.uncapped and grown.value >= 0 and change.cell_ratio <= 1:
        return Known(math.floor(pool * change.copies), None, Where("formula", "max_total_tokens caps the pool"))
    if grown.value and (cell is None or cell <= 0):
        return Missing("bytes per token are unknown")
    if capped:
        whole = uncapped(account)
        if isinstance(whole, Missing):
            return whole if change.uncapped else Known(pool, None, _FORMULA)
        base = max(whole.value, base)
    change_tokens = grown.value * account.kv_share * GIB / cell if grown.value and cell else 0.0
    page = change.page or optional(account.identity.page_size) or 1
    tokens = (base + change_tokens) / change.cell_ratio if change.cell_ratio > 0 else math.inf
    if not math.isfinite(tokens) or abs(tokens) > 1e15:
        return Missing("the pool after the change is not a number to compute with")
    each = max(0, math.floor(tokens / page) * page)
    cap = optional(account.cap_tokens)
    if capped and cap is not None and not change.uncapped:
        each = min(each, cap)
    return Known(math.floor(each * change.copies), None, _FORMULA)


def _grown_gib(context: OptionContext, change: Change) -> Reading[float]:
    """GiB a GPU by which the budget changes; Missing where the fraction moves and ``pre`` is not known."""
    if change.fraction is None:
        return Known(change.pool_gib)
    pre, today = finite(context.account.pre_gib), finite(context.account.fraction)
    if today is not None and change.fraction == today:
        return Known(change.pool_gib)
    if pre is None or today is None:
        return Missing("free before weights or the fraction is unknown")
    return Known(pre * (change.fraction - today) + change.pool_gib)


def headroom_after(context: OptionContext, change: Change) -> float | None:
    """GiB a GPU left once the server is up, after ``change``; None where today's is unknown or ``pre`` is needed and missing.

    Only what moves between pool and slack counts: GiB that weights give back go to the pool and leave headroom as it is.
    """
    left, account = finite(context.account.headroom_gib), context.account
    if left is None:
        return None
    tokens = pool_after(context, change)
    left += change.headroom_gib
    if change.headroom_token_bytes and isinstance(tokens, Known):
        left -= tokens.value * change.headroom_token_bytes / GIB
    if not is_capped(account) or change.uncapped:
        moved = _grown_gib(context, replace(change, pool_gib=0.0))
        taken = _uncapped_gib(context) if is_capped(account) else 0.0
        return None if isinstance(moved, Missing) or taken is None else left - moved.value - taken
    if isinstance(tokens, Known) and tokens.value == math.floor((context.pool or 0) * change.copies) and change.cell_ratio == 1:
        return left
    pool, cell = context.pool, finite(account.divisor_bytes)
    if pool is None or cell is None or not isinstance(tokens, Known) or change.copies <= 0:
        return None if change.fraction is not None else left
    return left - (tokens.value / change.copies * change.cell_ratio - pool) * cell / GIB


def _uncapped_gib(context: OptionContext) -> float | None:
    """GiB that the pool takes once its cap is gone; None where that is not known."""
    whole, pool, cell = uncapped(context.account), context.pool, finite(context.account.divisor_bytes)
    if isinstance(whole, Missing) or pool is None or cell is None:
        return None
    return max(0.0, whole.value - pool) * cell / GIB


def merge(changes: Sequence[Change]) -> Change:
    """Several changes as one. The order does not matter, except where two set the same thing: those are conflicts."""
    merged = NO_CHANGE
    for change in changes:
        merged = Change(
            fraction=_later(merged.fraction, change.fraction),
            cell_ratio=merged.cell_ratio * change.cell_ratio,
            copies=merged.copies * change.copies,
            pool_gib=merged.pool_gib + change.pool_gib,
            uncapped=merged.uncapped or change.uncapped,
            headroom_gib=merged.headroom_gib + change.headroom_gib,
            headroom_token_bytes=merged.headroom_token_bytes + change.headroom_token_bytes,
            running_cap=_least(merged.running_cap, change.running_cap),
            max_new_tokens=_least(merged.max_new_tokens, change.max_new_tokens),
            conservativeness=_later(merged.conservativeness, change.conservativeness),
            running_factor=merged.running_factor * change.running_factor,
            weight_ratio=merged.weight_ratio * change.weight_ratio,
            page=_least(merged.page, change.page),
            running_ratio=merged.running_ratio * change.running_ratio,
            speed=_faster(merged.speed, change.speed),
            unknown=merged.unknown or change.unknown,
            unknown_pool=merged.unknown_pool or change.unknown_pool,
        )
    return merged


def _later(before: float | None, after: float | None) -> float | None:
    return after if after is not None else before


def _least(one: int | None, other: int | None) -> int | None:
    """The lower of two: a cap set by hand holds below the one that a default would give."""
    told = [cap for cap in (one, other) if cap is not None]
    return min(told) if told else None


def _faster(one: Speed | None, other: Speed | None) -> Speed | None:
    """Factors multiply; their spreads are taken as independent, so they add up as squares of logarithms."""
    if one is None or other is None:
        return one or other
    mid = one.mid * other.mid
    below = math.hypot(_log(one.mid, one.low), _log(other.mid, other.low))
    above = math.hypot(_log(one.high, one.mid), _log(other.high, other.mid))
    return Speed(mid * math.exp(-below), mid, mid * math.exp(above), f"{one.basis}; {other.basis}")


def _log(above: float, below: float) -> float:
    return math.log(above / below) if above > 0 and below > 0 else 0.0
