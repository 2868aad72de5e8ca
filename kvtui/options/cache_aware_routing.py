"""A router that sends a prefix to the replica that holds it (facts/diagnoses.md 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, standstill
from kvtui.options.lever import lever, not_here, today, with_effect
from kvtui.options.priors import too_little

_TITLE: Final = "cache-aware routing"
_REUSED: Final = 0.1
"""Share of cached prompt tokens from which prefixes are shared at all."""


@lever("cache-aware-routing")
def cache_aware_routing(context: OptionContext) -> Estimate:
    """Over several replicas, where shared prefixes do not fit one replica's pool."""
    if context.replicas < 2 or context.account.identity.dp_attention:
        return not_here(context, "cache-aware-routing", _TITLE, "there is one replica: a router has nothing to choose", restart=False)
    hit, missed = finite(context.workload.cached_share), context.found("prefix-miss") is not None
    base = replace(
        today(context, "cache-aware-routing", "cache-aware routing over the replicas"),
        flags=("python -m sglang_router.launch_router --policy cache_aware",),
        risk="low",
        risk_text="load can become uneven when one prefix dominates",
        verify="cached tokens a prompt rise on every replica; TTFT falls; running stays even",
        notes=("each replica runs as its own server behind the router, in place of --dp-size",),
        change=Change(unknown=too_little("routing, working set too large") if missed else ""),
    )
    if not missed:
        why = "no sign that shared prefixes are evicted" if hit is None or hit < _REUSED else "the prefixes in use fit the replicas' pools"
        return with_effect(base, context, standstill(context, why))
    return with_effect(base, context, Effect(why=too_little("routing, working set too large")))
