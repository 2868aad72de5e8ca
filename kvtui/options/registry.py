"""All levers of this server, best safe first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import OPTION_IDS, Estimate, OptionId
from kvtui.options import (
    cache_aware_routing,
    cap_max_new_tokens,
    chunked_prefill,
    client_concurrency,
    conservativeness,
    context_length,
    cuda_graph_max_bs,
    dcp,
    dp_attention,
    drop_draft,
    fp4_kv,
    fp8_kv,
    free_other_processes,
    hicache,
    leftover_flags,
    lower_fraction,
    mamba_ratio,
    max_running_requests,
    more_gpus,
    page_size,
    pp_for_tp,
    quantize_weights,
    raise_fraction,
    swa_ratio,
    trim_speculation,
    tune_allreduce,
)
from kvtui.options.ceiling import is_possible, under_ceiling
from kvtui.options.context import POOL_LIMITS, OptionContext
from kvtui.options.lever import LEVERS, not_here

MODULES = (
    raise_fraction,
    lower_fraction,
    fp8_kv,
    fp4_kv,
    hicache,
    cap_max_new_tokens,
    conservativeness,
    max_running_requests,
    chunked_prefill,
    cuda_graph_max_bs,
    context_length,
    drop_draft,
    dp_attention,
    dcp,
    pp_for_tp,
    page_size,
    swa_ratio,
    mamba_ratio,
    free_other_processes,
    tune_allreduce,
    trim_speculation,
    quantize_weights,
    more_gpus,
    cache_aware_routing,
    leftover_flags,
    client_concurrency,
)
"""The files that register a lever; a new lever is a file and its line here."""


NO_ROOM: Final = -1.5
"""Rank of a lever after which memory is short by the arithmetic: no gain makes up for a server that does not start."""
CURE: Final = 0.95
"""Rank at least of what cures a leading banner, such as stopping another process: before all that gains nothing."""
_FOR_A_START: frozenset[OptionId] = frozenset(
    {"raise-fraction", "lower-fraction", "hicache", "remove-leftover-flags", "context-length", "free-other-processes"}
)
"""Levers that can matter to a server that does not start."""


def _apply(option: OptionId, context: OptionContext) -> Estimate:
    told = under_ceiling(context, LEVERS[option](context))
    failure = context.found("startup-failure")
    if failure is None or option in _FOR_A_START or option in failure.fixes or not told.applies:
        return told
    return not_here(context, option, told.title, "the server did not start", restart=told.restart)


def _placed(context: OptionContext, estimate: Estimate) -> Estimate:
    """What its gain cannot tell of a lever's place: memory that would be short, and a banner that leads."""
    first = context.findings[0] if context.findings else None
    if estimate.headroom_gib is not None and estimate.headroom_gib < 0:
        return replace(estimate, rank=min(estimate.rank, NO_ROOM))
    if first is not None and first.axis == "banner" and estimate.id in first.fixes:
        return replace(estimate, rank=max(estimate.rank, CURE))
    return estimate


def _with_answer(context: OptionContext, estimate: Estimate) -> Estimate:
    """The first question about any larger pool, answered where a larger pool is looked at."""
    if estimate.id != "raise-fraction" or not estimate.applies or context.limit not in POOL_LIMITS:
        return estimate
    answer = is_possible(context)
    return replace(estimate, notes=(*estimate.notes, answer)) if answer else estimate


def estimates(context: OptionContext) -> tuple[Estimate, ...]:
    """Every registered lever applied to a server: by rank, those that do not apply last."""
    order = {option: place for place, option in enumerate(OPTION_IDS)}
    told = [_placed(context, _with_answer(context, _apply(option, context))) for option in LEVERS]
    return tuple(sorted(told, key=lambda estimate: (not estimate.applies, -estimate.rank, order[estimate.id])))
