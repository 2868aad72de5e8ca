"""DP attention for MLA: each replica holds its own requests, at the price of copied attention weights (facts/diagnoses.md 2, 2.3)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.domain.units import GIB
from kvtui.domain.what_if import is_capped
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.effect import Effect, not_the_limit
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect

_TITLE: Final = "DP attention"
_UNKNOWN: Final = "public measurements go both ways (−53 … +8%): test it"
_SHARDED_GIB: Final = {(7_168, 61, 384): 9.77}
"""Attention weights that tensor parallelism splits, GiB, by hidden size, layers and experts: Kimi-K2 (facts/diagnoses.md 2.3)."""


def copied_gib(geometry: Geometry | None, tp: int, dp: int) -> float | None:
    """What a GPU holds more of attention weights at ``dp``: ``W (dp / TP - 1 / TP)``; None where W is unknown."""
    if geometry is None or geometry.hidden_size is None or geometry.experts is None:
        return None
    weights = _SHARDED_GIB.get((geometry.hidden_size, geometry.layers, geometry.experts))
    return None if weights is None else weights * (dp - 1) / tp


@lever("dp-attention")
def dp_attention(context: OptionContext) -> Estimate:
    """Two replicas: the arithmetic of the tokens; the speed is not predictable from public data."""
    identity, pool = context.account.identity, context.pool
    tp, cell = optional(identity.tp), finite(context.account.divisor_bytes)
    why = _why_not(context)
    if why or pool is None or tp is None:
        return not_here(context, "dp-attention", _TITLE, why or "the pool or the tensor-parallel size is unknown")
    copied = copied_gib(identity.geometry, tp, 2)
    tokens = None
    notes = [f"at most 2 × {pool:,} tokens in all, less what the copied attention weights take (their size is unknown here)"]
    if copied is not None and cell:
        page = optional(identity.page_size) or 1
        each = max(0, math.floor((pool - copied * context.account.kv_share * GIB / cell) / page) * page)
        tokens = 2 * each
        notes = [f"2 × {each:,} = {tokens:,} tokens in all; {copied:.2f} GiB a GPU goes to copied attention weights"]
    left = finite(context.account.headroom_gib)
    base = replace(
        today(context, "dp-attention", "DP attention 2"),
        flags=("--enable-dp-attention", "--dp-size 2"),
        tokens=tokens,
        headroom_gib=left,
        risk="high",
        risk_text=f"untested here; graphs and activations take more; ranks can become uneven; {headroom_risk(left)[1]}",
        verify="tokens a second at the same traffic; running evenly spread over the ranks",
        change=Change(
            copies=2.0,
            pool_gib=-(copied or 0.0),
            unknown=_UNKNOWN,
            unknown_pool="" if copied is not None else "the size of the copied attention weights is unknown",
        ),
        notes=(*notes, "the flag divides the prefill chunk by 2 and the conservativeness becomes 0.3 of what is set"),
    )
    if context.limit is not None and context.limit not in POOL_LIMITS:
        # Not 0 … +2%: one public pair lost half where the pool was not the limit.
        return with_effect(base, context, Effect(why=_UNKNOWN, idle=not_the_limit(context, "the pool")))
    placed = with_effect(base, context, Effect(why=_UNKNOWN))
    # Two pools of half the size: a request larger than one of them no longer fits, so tokens do not rank it.
    return replace(placed, rank=0.0)


def _why_not(context: OptionContext) -> str:
    identity = context.account.identity
    attention = optional(identity.attention)
    if identity.dp_attention:
        return "it is on already"
    if attention is None:
        return "the kind of attention is unknown"
    if attention not in (Attention.MLA, Attention.DSA):
        return "it pays where every rank keeps the whole latent (MLA); this model's KV is split over the ranks"
    tp = optional(identity.tp)
    if tp is not None and (tp < 2 or tp % 2):
        return "it needs an even tensor-parallel size"
    return "max_total_tokens holds the pool" if is_capped(context.account) else ""
