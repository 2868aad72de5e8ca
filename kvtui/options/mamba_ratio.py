"""``--mamba-full-memory-ratio``: how a hybrid's memory is split between states and KV (facts/memory.md 2.7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.deploy import deployment_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.geometry import Attention
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.domain.sizing import Sizing
from kvtui.options.context import OptionContext, finite
from kvtui.options.lever import lever, not_here, today
from kvtui.options.measured import by_change
from kvtui.options.resized import sized

_TITLE: Final = "mamba-full-memory-ratio"
_DEFAULT: Final = 0.9
_MOVE: Final = 1.5
_ROOMY: Final = 0.6
"""Usage of a pool below which it can give memory to the other."""


@lever("mamba-ratio")
def mamba_ratio(context: OptionContext) -> Estimate:
    """More states where they cap what runs, more KV where the states have room."""
    boot, slots = context.boot, optional(context.account.state_slots)
    if optional(context.account.identity.attention) is not Attention.MAMBA_HYBRID or boot is None:
        return not_here(context, "mamba-ratio", _TITLE, "this model keeps no states" if boot else "the server's settings are unknown")
    if boot.number("max_mamba_cache_size") is not None:
        return not_here(context, "mamba-ratio", _TITLE, "--max-mamba-cache-size sets the states by number")
    if boot.switch("disable_radix_cache"):
        return not_here(context, "mamba-ratio", _TITLE, "without the radix cache the states are sized by the running cap")
    now = boot.number("mamba_full_memory_ratio") or _DEFAULT
    chosen = _chosen(context, now)
    if chosen is None:
        return not_here(context, "mamba-ratio", _TITLE, f"neither the {slots or 'state'} slots nor the KV pool alone is the limit")
    before, after = (sized(context, replace(deployment_of(boot, context.release), mamba_ratio=r)) for r in (now, chosen))
    if isinstance(before, Missing) or isinstance(after, Missing):
        why = before.reason if isinstance(before, Missing) else after.reason if isinstance(after, Missing) else ""
        return not_here(context, "mamba-ratio", _TITLE, f"the pools at another ratio cannot be computed: {why}")
    return _at(context, boot, now, chosen, before, after)


def _chosen(context: OptionContext, now: float) -> float | None:
    """Half as much again for the side that is short; None where neither is."""
    rank = context.workload.busiest
    state = finite(rank.mamba_usage) if rank is not None else None
    capped = context.limit == "running-cap" and "state" in context.account.running_cap_why
    full = finite(rank.usage) if rank is not None else None
    if (capped or context.limit == "sub-pool") and (full is None or full < _ROOMY):
        return round(now * _MOVE, 2)
    if context.limit in {"kv-capacity", "retraction"} and state is not None and state < _ROOMY:
        return round(now / _MOVE, 2)
    return None


def _at(context: OptionContext, boot: Boot, now: float, chosen: float, before: Sizing, after: Sizing) -> Estimate:
    slots = f"{before.mamba:,} → {after.mamba:,}" if before.mamba is not None and after.mamba is not None else "changed"
    grown = after.mamba / before.mamba if before.mamba and after.mamba is not None else 1.0
    cap = context.cap
    more_cap = int(cap * grown) if cap is not None and "state" in context.account.running_cap_why else None
    base = replace(
        today(context, "mamba-ratio", f"mamba-full-memory-ratio {now:g} → {chosen:g}"),
        flags=(f"--mamba-full-memory-ratio {chosen:g}",),
        risk="medium",
        risk_text="states and KV share one budget: what one gains the other loses",
        verify="state slots and max_total_num_tokens of the new start; both usages rise together",
        notes=(
            f"state slots {slots}",
            *(() if boot.text("mamba_ssm_dtype") else ("--mamba-ssm-dtype bfloat16 nearly doubles the slots as well: test the answers",)),
        ),
    )
    change = Change(
        cell_ratio=before.tokens / after.tokens if after.tokens else 1.0,
        running_cap=more_cap,
        running_ratio=grown if context.limit == "sub-pool" else 1.0,
    )
    return by_change(base, context, change)
