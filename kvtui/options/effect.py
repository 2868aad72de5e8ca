"""What a change of the pool or of the running requests is worth in tokens a second.

Every figure is conditional on the verdict: a lever whose limit does not bind is worth 0 … +2%
(facts/diagnoses.md 7), and no gain exceeds the demand: new R is at most R + Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from kvtui.domain.estimate import Range
from kvtui.domain.reading import Missing, optional
from kvtui.domain.throughput import predict
from kvtui.options.context import POOL_LIMITS, OptionContext, finite

IDLE_GAIN: Final = 0.02
"""What a lever is worth at most when its limit does not bind."""
NO_LIMIT: Final = frozenset({"healthy", "client"})
"""Verdicts that say that the server holds nothing back."""
_OTHER_STAGE: Final = "the prealloc queue waits for it, and how much more is served hangs on the prefill servers too"
UNKNOWN_LIMIT: Final = "what limits the server is not known yet"

_OTHER_LIMIT: Final = {
    "running-cap": "the running cap holds: a larger pool admits nothing more",
    "client": "clients send too little to fill the pool there is",
    "prefill": "prefill is the limit, not the pool",
    "healthy": "nothing waits for the pool",
    "head-of-line": "one long request blocks the queue, not the size of the pool",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """Running requests and tokens a second after a change."""

    tok_s: Range | None = None
    why: str = ""
    """Why there is no figure; empty where there is one."""
    idle: str = ""
    """Why the change does nothing here, one clause; empty where it acts."""
    running: tuple[float, float] | None = None
    """Running requests of the busiest rank, before and after."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """Where every prediction starts."""

    running: float
    queued: float
    tok_s: float
    """Of the whole server."""


def observed(context: OptionContext) -> Observed | Missing:
    """Load of the busiest rank and the server's throughput, or why there is none."""
    running, queued = context.rank_load()
    tok_s = context.workload.gen_tput
    for reading in (running, queued, tok_s):
        if isinstance(reading, Missing):
            return reading
    values = [optional(reading) for reading in (running, queued, tok_s)]
    load, waiting, speed = (value if value is not None and math.isfinite(value) else 0.0 for value in values)
    if load <= 0 or speed <= 0:
        return Missing("nothing ran in the window")
    return Observed(load, max(0.0, waiting), speed)


def not_the_limit(context: OptionContext, what: str) -> str:
    """Why a lever on ``what`` does nothing here, one clause: what limits instead, or that nothing does."""
    if context.limit in NO_LIMIT:
        return "nothing is held back: no request waits"
    return f"{what} is not the limit: {context.limit} is"


def standstill(context: OptionContext, clause: str) -> Effect:
    """The lever's limit does not bind: 0 … +2%."""
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason, idle=clause)
    span = Range(now.tok_s, now.tok_s, now.tok_s * (1 + IDLE_GAIN), f"its limit does not bind: 0 … +{IDLE_GAIN:.0%}")
    return Effect(tok_s=span, idle=clause, running=(now.running, now.running))


def cliff(context: OptionContext) -> str:
    """Why no smooth curve holds for more requests at once; empty where one does."""
    return "more at once evict prefixes that are asked for again: no smooth estimate holds" if context.found("prefix-miss") else ""


def of_pool(context: OptionContext, tokens: int) -> Effect:
    """The pool becomes ``tokens`` (one rank): ``R' = R x (P' - need) / (P - need)``, under the cap and the demand."""
    limit, pool = context.limit, context.pool
    if limit is None:
        return Effect(why=UNKNOWN_LIMIT)
    if pool is None or pool <= 0:
        return Effect(why="today's pool is unknown")
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    if tokens > pool and context.waits_for_pool:
        return Effect(why=_OTHER_STAGE)
    if tokens >= pool and limit not in POOL_LIMITS:
        return standstill(context, _OTHER_LIMIT.get(limit, f"the limit is {limit}, not the pool"))
    charge = context.need()
    need = min(charge.mid, pool / 2) if charge is not None else 0.0
    room = now.running * (tokens - need) / (pool - need)
    if tokens < pool and limit not in POOL_LIMITS:
        return _smaller_but_free(context, now, tokens)
    return of_running(context, room)


def _smaller_but_free(context: OptionContext, now: Observed, tokens: int) -> Effect:
    """A smaller pool costs nothing while what runs still fits beside one more request."""
    resident, charge = finite(context.workload.resident), context.need()
    if resident is None or resident <= 0:
        return Effect(why="tokens of a running request are unknown")
    spare = tokens - (charge.mid if charge is not None else 0.0)
    if spare >= now.running * resident:
        return standstill(context, "what runs fits the smaller pool")
    return of_running(context, max(spare, 0.0) / resident)


def of_running(context: OptionContext, room: float) -> Effect:
    """As many as ``room`` may run in the busiest rank; the cap and the demand hold it lower."""
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    demand, cap = now.running + now.queued, context.cap
    after, notes = max(room, 0.0), []
    if after > demand:
        after = demand
        notes.append(f"room for {room:.0f}, but no more than {demand:.0f} run and wait")
    if cap is not None and after > cap >= now.running:
        after = float(cap)
        notes.append(f"the running cap of {cap:,} then binds: raise --max-running-requests with it")
    if after <= 0:
        return Effect(why="not one request would fit", running=(now.running, 0.0))
    figure = predict(
        running=now.running,
        tok_s=now.tok_s,
        to=after,
        curve=context.curve,
        graphs_cover=context.graphs_cover(after),
        speculation=context.speculation,
    )
    running = (now.running, after)
    if isinstance(figure, Missing):
        return Effect(why=figure.reason, running=running, notes=tuple(notes))
    if after > now.running and not context.graphs_cover(after):
        notes.append(f"upper-ish unless the captured CUDA graphs cover {after:.0f} requests")
    return Effect(tok_s=figure, running=running, notes=tuple(notes))


def scaled(context: OptionContext, low: float, mid: float, high: float, basis: str) -> Effect:
    """Today's throughput times a known range."""
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    return Effect(tok_s=Range(now.tok_s * low, now.tok_s * mid, now.tok_s * high, basis), running=(now.running, now.running))
