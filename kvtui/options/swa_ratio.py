"""``--swa-full-tokens-ratio``: how memory is split between full and sliding-window layers (facts/memory.md 2.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.deploy import deployment_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, Reading, optional
from kvtui.domain.sizing import Sizing
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.lever import IDLE, lever, not_here, today
from kvtui.options.measured import by_change
from kvtui.options.resized import sized

_TITLE: Final = "swa-full-tokens-ratio"
_DEFAULT: Final = 0.8
_STEP: Final = 0.05
_SPARE: Final = 1.25
"""Room left above the share that was seen in use."""


@lever("swa-ratio")
def swa_ratio(context: OptionContext) -> Estimate:
    """Towards the pool that fills first: exact tokens of both pools at the new ratio."""
    boot, full, window = context.boot, context.pool, optional(context.account.swa_tokens)
    if boot is None or full is None or window is None or full <= 0:
        return not_here(context, "swa-ratio", _TITLE, "there is no sliding-window pool")
    now = boot.number("swa_full_tokens_ratio") or window / full
    chosen = _chosen(context, now)
    if chosen is None:
        return not_here(context, "swa-ratio", _TITLE, "how full each of the two pools gets is not in the log, or both fill alike")
    before, after = (sized(context, replace(deployment_of(boot, context.release), swa_ratio=r)) for r in (now, chosen))
    if isinstance(before, Missing) or isinstance(after, Missing):
        why = before.reason if isinstance(before, Missing) else after.reason if isinstance(after, Missing) else ""
        return not_here(context, "swa-ratio", _TITLE, f"the pools at another ratio cannot be computed: {why}")
    return _at(context, now, chosen, before, after)


def _usage(reading: Reading[float] | None) -> float | None:
    value = finite(reading) if reading is not None else None
    return value if value is not None and 0 < value <= 1 else None


def _chosen(context: OptionContext, now: float) -> float | None:
    """The ratio at which both pools fill together, on steps of 0.05; None where that is today's or cannot be told."""
    rank = context.workload.busiest
    full, window = (_usage(rank.usage), _usage(rank.swa_usage)) if rank is not None else (None, None)
    if full is None or window is None:
        return None
    share = window / full
    wanted = now * share * (_SPARE if share < 1 else 1.0)
    chosen = min(1.0, max(_STEP, round(wanted / _STEP) * _STEP))
    chosen = round(chosen, 2)
    return None if abs(chosen - now) < _STEP - 1e-9 else chosen


def _at(context: OptionContext, now: float, chosen: float, before: Sizing, after: Sizing) -> Estimate:
    ratio = before.tokens / after.tokens if after.tokens else 1.0
    windows = f"{before.swa:,} → {after.swa:,}" if before.swa is not None and after.swa is not None else "changed"
    grown = after.swa / before.swa if before.swa and after.swa is not None else 1.0
    base = replace(
        today(context, "swa-ratio", f"swa-full-tokens-ratio {now:g} → {chosen:g}"),
        flags=(f"--swa-full-tokens-ratio {chosen:g}",),
        risk="medium",
        risk_text="a window pool that runs full holds the queue although the main pool has room; it must hold every running window",
        verify="both usages rise together; the new start reports both pools",
        notes=(f"window pool {windows} tokens", "the two pools share one budget: what one gains the other loses"),
    )
    bound = context.limit == "sub-pool"
    change = Change(cell_ratio=ratio, running_ratio=grown if bound and grown > 1 else 1.0)
    placed = by_change(base, context, change)
    if context.limit in POOL_LIMITS and not bound and chosen > now:
        return replace(placed, rank=IDLE, why_not="the main pool is the limit, and this would shrink it")
    return placed
