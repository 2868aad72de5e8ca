"""A lever whose pool is arithmetic and whose speed is a range of public pairs, or nothing where there are too few."""

from __future__ import annotations

from dataclasses import replace

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.options.arithmetic import headroom_after, pool_after
from kvtui.options.combined import effect_of_change
from kvtui.options.context import OptionContext
from kvtui.options.lever import with_effect
from kvtui.options.priors import speed


def by_change(base: Estimate, context: OptionContext, change: Change) -> Estimate:
    """The estimate with pool, headroom and throughput as ``change`` makes them."""
    told = replace(base, tokens=optional(pool_after(context, change)), headroom_gib=headroom_after(context, change), change=change)
    return with_effect(told, context, effect_of_change(context, change))


def measured(change: Change, prior: str) -> Change:
    """``change`` with the speed of a prior, or with why there is none."""
    told = speed(prior)
    return replace(change, unknown=told.reason) if isinstance(told, Missing) else replace(change, speed=told)
