"""Running requests and throughput after a change, whatever it is made of: admission once, the step-time curve once."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.banding import band_of
from kvtui.domain.estimate import Range
from kvtui.domain.plan import NO_CHANGE, Change, Speed
from kvtui.domain.reading import Known, Missing, optional
from kvtui.domain.throughput import predict
from kvtui.options.arithmetic import pool_after
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.effect import UNKNOWN_LIMIT, Effect, cliff, observed, of_pool, of_running, standstill
from kvtui.options.reservation import RESERVING, charges_of, effect_of

_ENDS: Final = "the upper end is the best of one with the middle of the other"


def effect_of_change(context: OptionContext, change: Change) -> Effect:
    """What ``change`` is worth under today's verdict; 0 … +2% where it does not touch the limit."""
    if change.unknown:
        return Effect(why=change.unknown)
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    if context.limit is None:
        return _at_same_batch(context, change)
    effect = _running_effect(context, change)
    return effect if change.speed is None else faster(effect, change.speed)


def _at_same_batch(context: OptionContext, change: Change) -> Effect:
    """Where no limit is known: a factor alone holds at whatever runs; anything else needs the verdict."""
    alone = replace(NO_CHANGE, speed=change.speed, headroom_gib=change.headroom_gib, weight_ratio=change.weight_ratio)
    if change.speed is None or change != alone:
        return Effect(why=UNKNOWN_LIMIT)
    return faster(standstill(context, UNKNOWN_LIMIT), change.speed)


def faster(effect: Effect, speed: Speed) -> Effect:
    """The effect times a factor. The best of both together is told by nothing measured: the high end takes the middle of one of them."""
    if effect.tok_s is None:
        return effect
    told = effect.tok_s
    # The 0 … +2% of a limit that does not bind says nothing beside a measured factor.
    high = told.mid if effect.idle else told.high
    basis = speed.basis if effect.idle else f"{told.basis}; {speed.basis}; {_ENDS}"
    best = max(told.mid * speed.high, high * speed.mid)
    return replace(effect, tok_s=Range(told.low * speed.low, told.mid * speed.mid, best, basis), idle="")


def _running_effect(context: OptionContext, change: Change) -> Effect:
    """By what limits concurrency today."""
    limit, pool = context.limit, context.pool
    after = context if change.running_cap is None else _with_cap(context, change.running_cap)
    if limit == "client" and change.running_factor > 1:
        return _more_clients(after, change)
    told = pool_after(context, change)
    if limit == "running-cap" and change.running_cap is not None:
        return _above_cap(context, after, optional(told))
    if isinstance(told, Missing):
        return Effect(why=told.reason) if limit in POOL_LIMITS else standstill(context, f"the pool is not the limit: {limit} is")
    if limit in POOL_LIMITS and change.running_ratio != 1:
        return _other_pool(after, change)
    reserves = change.max_new_tokens is not None or change.conservativeness is not None
    if reserves and limit in RESERVING:
        charges = charges_of(context, change.max_new_tokens, change.conservativeness)
        if charges is None:
            return Effect(why="the length of prompts is unknown")
        return effect_of(after, *charges, pool_after=told.value)
    if pool is not None and told.value == pool and limit in POOL_LIMITS:
        return standstill(context, "the pool stays as it is")
    return of_pool(after, told.value)


def _with_cap(context: OptionContext, cap: int) -> OptionContext:
    return replace(context, account=replace(context.account, running_cap=Known(cap)))


def _above_cap(context: OptionContext, after: OptionContext, tokens: int | None) -> Effect:
    """The cap was the limit and moves; the pool holds next. ``after`` has the new cap."""
    blocked = cliff(context)
    if blocked:
        return Effect(why=blocked)
    now, pool, resident, usage = observed(context), context.pool, finite(context.workload.resident), finite(context.workload.usage)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    if pool is not None and resident is not None and 0 < resident <= pool:
        # Seen under the old cap: under the new one the queue would look as if the pool had held it.
        band = band_of(context.workload, context.account, context.boot, context.events)
        room = ((band.low + band.high) / 2 if band is not None else pool / resident) * (tokens or pool) / pool
    elif usage is not None and 0 < usage <= 1:
        room = now.running / usage
    else:
        return Effect(why="how many requests the pool holds is unknown")
    if room <= now.running:
        return standstill(context, "the pool admits no more than run today")
    return of_running(after, room)


def _other_pool(context: OptionContext, change: Change) -> Effect:
    """A sliding-window or state pool was the limit; what the fraction adds counts for it too."""
    now, pool = observed(context), context.pool
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    alone = pool_after(context, replace(NO_CHANGE, fraction=change.fraction, pool_gib=change.pool_gib))
    grown = alone.value / pool if isinstance(alone, Known) and pool else 1.0
    return of_running(context, now.running * change.running_ratio * grown)


def _more_clients(context: OptionContext, change: Change) -> Effect:
    """Clients send more; pool, cap and the curve hold them."""
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    blocked = cliff(context)
    if blocked:
        return Effect(why=blocked)
    to = now.running * change.running_factor
    cap = optional(context.account.running_cap)
    to = min(to, float(cap)) if cap is not None else to
    figure = predict(
        running=now.running,
        tok_s=now.tok_s,
        to=to,
        curve=context.curve,
        graphs_cover=context.graphs_cover(to),
        speculation=context.speculation,
    )
    return Effect(why=figure.reason) if isinstance(figure, Missing) else Effect(tok_s=figure, running=(now.running, to))
