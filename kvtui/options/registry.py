"""All levers of this server, best safe first."""

from __future__ import annotations

from kvtui.domain.estimate import OPTION_IDS, Estimate, OptionId
from kvtui.options import (
    cap_max_new_tokens,
    client_concurrency,
    conservativeness,
    context_length,
    dp_attention,
    drop_draft,
    fp8_kv,
    hicache,
    leftover_flags,
    lower_fraction,
    max_running_requests,
    raise_fraction,
)
from kvtui.options.context import OptionContext
from kvtui.options.lever import LEVERS, not_here

MODULES = (
    raise_fraction,
    lower_fraction,
    fp8_kv,
    hicache,
    cap_max_new_tokens,
    conservativeness,
    max_running_requests,
    context_length,
    drop_draft,
    dp_attention,
    leftover_flags,
    client_concurrency,
)
"""The files that register a lever; a new lever is a file and its line here."""


_FOR_A_START: frozenset[OptionId] = frozenset({"raise-fraction", "lower-fraction", "hicache", "remove-leftover-flags", "context-length"})
"""Levers that can matter to a server that does not start."""


def _apply(option: OptionId, context: OptionContext) -> Estimate:
    told = LEVERS[option](context)
    if context.found("startup-failure") is None or option in _FOR_A_START or not told.applies:
        return told
    return not_here(context, option, told.title, "the server did not start", restart=told.restart)


def estimates(context: OptionContext) -> tuple[Estimate, ...]:
    """Every registered lever applied to a server: by rank, those that do not apply last."""
    order = {option: place for place, option in enumerate(OPTION_IDS)}
    told = [_apply(option, context) for option in LEVERS]
    return tuple(sorted(told, key=lambda estimate: (not estimate.applies, -estimate.rank, order[estimate.id])))
