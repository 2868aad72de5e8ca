"""Decode context parallelism: each rank keeps a part of every MLA latent in place of a copy (facts/diagnoses.md 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.geometry import Attention
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.domain.what_if import is_capped
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.flags import DCP
from kvtui.options.lever import lever, not_here, today
from kvtui.options.measured import by_change, measured

_TITLE: Final = "decode context parallelism"
_WAYS: Final = 2
_LONG: Final = 16_384.0
"""Context from which it was seen to gain (facts/diagnoses.md 2: +40% at 64k)."""


@lever("dcp")
def dcp(context: OptionContext) -> Estimate:
    """Two ways: twice the tokens; each step pays for it at short context."""
    why = _why_not(context)
    if why:
        return not_here(context, "dcp", _TITLE, why)
    most = optional(context.account.identity.tp) or _WAYS
    base = replace(
        today(context, "dcp", f"decode context parallelism {_WAYS}"),
        flags=(f"{DCP.at(context.release)} {_WAYS}",),
        risk="high",
        risk_text="few attention backends take it (flashinfer, trtllm_mla, cutedsl_mla); not every model is wired; untested here",
        verify="max_total_num_tokens doubles; step time at the same running requests",
        notes=(
            f"up to --dcp-size {most}: as many times the tokens",
            "at short context a step takes 18 … 35% longer (public pairs at 4 and 8 ways); from 64k on it gains",
        ),
    )
    resident = finite(context.workload.resident)
    bound = context.limit in POOL_LIMITS or (resident is not None and resident > _LONG)
    change = measured(Change(copies=float(_WAYS)), "dcp, KV-bound" if bound else "dcp, short context")
    placed = by_change(base, context, change)
    # Untested on this box, so it never stands before what needs no test.
    return replace(placed, rank=min(placed.rank, 0.4))


def _why_not(context: OptionContext) -> str:
    identity, boot = context.account.identity, context.boot
    attention, tp = optional(identity.attention), optional(identity.tp)
    if context.release is not None and not DCP.at(context.release):
        return "it exists from 0.5.15 on"
    if attention is None:
        return "the kind of attention is unknown"
    if attention is not Attention.MLA:
        return "it pays where every rank keeps the whole latent (MLA)"
    ways = boot.number("dcp_size") if boot is not None else None
    if ways is not None and ways > 1:
        return f"it is {ways:.0f} already"
    if tp is None or tp < _WAYS or tp % _WAYS:
        return "it needs an even tensor-parallel size"
    if context.speculation:
        return "with speculation it is refused by 0.5.15 and limited later: drop the draft first"
    return "max_total_tokens holds the pool" if is_capped(context.account) else ""
