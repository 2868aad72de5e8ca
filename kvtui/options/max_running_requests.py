"""``--max-running-requests``: raise the cap where it holds the queue (facts/diagnoses.md V2)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.admission import Band
from kvtui.domain.banding import band_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.domain.units import GIB
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.effect import Effect, cliff, not_the_limit, observed, of_running, standstill
from kvtui.options.flags import graph_batch_flag, micro_batch_call
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect

_TITLE: Final = "max-running-requests"
_COST: Final = "what the retractions cost is not estimated"
_SPARE: Final = 1.25
_STEP: Final = 8
_BLOCK: Final = 64
_LEAST_CAP: Final = 64
_WORTH_GIB: Final = 0.25
"""Less of the request table than this is not worth a flag."""
_GRAPH_GIB: Final = 2 / 1024
"""GiB a captured batch unit takes by SGLang's own estimate; the log's capture lines tell the real figure."""


def room_in_pool(band: Band | None, holds: float) -> float:
    """Requests the pool admits: the middle of the admission band, else all of the mean size that it holds."""
    return (band.low + band.high) / 2 if band is not None else holds


@lever("max-running-requests")
def max_running_requests(context: OptionContext) -> Estimate:
    """A cap that the pool can fill, and the graphs to go with it."""
    cap = _held_at(context)
    if cap is not None and context.limit == "retraction":
        return _lower(context, cap)
    if cap is not None and context.limit not in (None, "running-cap"):
        spare = _spare(context, cap)
        if spare is not None:
            return _shrink(context, cap, spare)
        base = today(context, "max-running-requests", f"max-running-requests above {cap:,}")
        return with_effect(base, context, standstill(context, not_the_limit(context, f"the cap of {cap:,}")))
    why, most = _why_not(context, cap), _holds(context)
    if why or cap is None or most is None:
        return not_here(context, "max-running-requests", _TITLE, why or "the pool or the size of a running request is unknown")
    band = band_of(context.workload, context.account, context.boot, context.events)
    return _raise(context, cap, room_in_pool(band, most), most=math.floor(min(most, _wanted(context))))


def _wanted(context: OptionContext) -> float:
    """A quarter more than runs and waits, on steps of 8: a larger cap only costs graphs and request slots."""
    now = observed(context)
    return math.inf if isinstance(now, Missing) else math.ceil((now.running + now.queued) * _SPARE / _STEP) * _STEP


def _spare(context: OptionContext, cap: int) -> int | None:
    """A cap that still holds all the demand and frees a worthwhile part of the request table; None where there is none."""
    now = observed(context)
    if isinstance(now, Missing) or context.limit not in POOL_LIMITS or context.speculation:
        return None
    fewer = max(_LEAST_CAP, math.ceil((now.running + now.queued) * _SPARE / _BLOCK) * _BLOCK)
    return fewer if fewer < cap and _table_gib(context, cap - fewer) >= _WORTH_GIB else None


def _shrink(context: OptionContext, cap: int, fewer: int) -> Estimate:
    """Rows of the request table that nobody uses: memory outside the pool (facts/diagnoses.md 0.2)."""
    freed, left, pre = _table_gib(context, cap - fewer), finite(context.account.headroom_gib), finite(context.account.pre_gib)
    base = replace(
        today(context, "max-running-requests", f"max-running-requests {cap:,} → {fewer:,}"),
        flags=(f"--max-running-requests {fewer * context.replicas}",),
        headroom_gib=None if left is None else left + freed,
        risk="low",
        risk_text=f"no more than {fewer:,} run at once, in each rank; about {fewer / _SPARE:,.0f} run and wait today",
        verify="available_gpu_mem at the end of the start rises by that much",
        notes=(f"frees {freed:.2f} GiB" + (f": room for +{freed / pre:.4f} of fraction" if pre else ""),),
        change=Change(running_cap=fewer, headroom_gib=freed),
    )
    idle = f"{not_the_limit(context, f'the cap of {cap:,}')}; it frees {freed:.2f} GiB, worth tokens only with a higher fraction"
    return with_effect(base, context, standstill(context, idle))


def _held_at(context: OptionContext) -> int | None:
    """The cap; where the log does not name it but a rule found that it holds, the most that ran."""
    peak = finite(context.workload.running_peak)
    if context.cap is None and context.limit == "running-cap" and peak is not None and 1 <= peak < 1e6:
        return int(peak)
    return context.cap


def _holds(context: OptionContext) -> float | None:
    """Requests of the mean size that the pool holds; ``running / usage`` where pool or size is unknown."""
    pool, resident = context.pool, finite(context.workload.resident)
    if pool is not None and resident is not None and resident > 0:
        return pool / resident
    running, usage = finite(context.rank_load()[0]), finite(context.workload.usage)
    return running / usage if running is not None and usage is not None and 0 < usage <= 1 else None


def _why_not(context: OptionContext, cap: int | None) -> str:
    if cap is None:
        return "today's running cap is unknown"
    if context.limit is None:
        return f"nothing shows that the cap of {cap:,} holds"
    if "state" in context.account.running_cap_why:
        return f"the cap comes from the state pool ({context.account.running_cap_why}): --max-mamba-cache-size decides it"
    return ""


def _raise(context: OptionContext, cap: int, room: float, *, most: int) -> Estimate:
    if most <= cap:
        return not_here(
            context, "max-running-requests", _TITLE, f"pool and demand allow {most:,} requests, no more than the cap of {cap:,}"
        )
    off = context.boot is not None and context.boot.switch("disable_cuda_graph")
    graph = () if off or context.graphs_cover(most) else (graph_batch_flag(context.release, most),)
    left = finite(context.account.headroom_gib)
    after = None if left is None else left - _table_gib(context, most - cap) - (_GRAPH_GIB * (most - cap) if graph else 0.0)
    risk, words = headroom_risk(after)
    base = replace(
        today(context, "max-running-requests", f"max-running-requests {cap:,} → {most:,}"),
        flags=(f"--max-running-requests {most * context.replicas}", *graph),
        headroom_gib=after,
        risk=risk,
        risk_text=f"{words}; more of the pool in use, so watch retractions",
        verify=f"running passes {cap:,} and decode lines still say cuda graph: True",
        notes=_notes(context, cap, graph),
        change=Change(running_cap=most, headroom_gib=0.0 if after is None or left is None else after - left),
    )
    return with_effect(base, context, _effect(context, room))


def _effect(context: OptionContext, room: float) -> Effect:
    now, blocked = observed(context), cliff(context)
    if blocked:
        return Effect(why=blocked)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    if room <= now.running:
        return standstill(context, "the pool admits no more than run today")
    # The cap itself is what changes, so it must not hold the estimate.
    unbound = replace(context, account=replace(context.account, running_cap=Missing("raised")))
    return of_running(unbound, room)


def _table_gib(context: OptionContext, rows: int) -> float:
    """GiB of ``req_to_token`` for further rows (facts/memory.md 4)."""
    length = optional(context.account.context_len)
    return rows * (length + 4) * 4 / GIB if length is not None else 0.0


def _notes(context: OptionContext, cap: int, graph: tuple[str, ...]) -> tuple[str, ...]:
    notes = [f"today's {cap:,}: {context.account.running_cap_why}"] if context.account.running_cap_why else []
    if graph:
        notes.append("without the larger graphs, batches beyond what is captured run far slower")
    if context.replicas > 1:
        notes.append(f"the flag counts all {context.replicas} data-parallel ranks together")
    if context.speculation:
        notes.append("with speculation on, gains shrink with the batch: measure")
    return tuple(notes)


def _lower(context: OptionContext, cap: int) -> Estimate:
    """Fewer at once stops retraction; this direction needs no restart."""
    running = finite(context.rank_load()[0])
    if running is None or not running >= 2:
        return not_here(context, "max-running-requests", _TITLE, "too few requests run to lower the cap")
    fewer = max(1, min(cap, math.floor(running * 0.9)))
    base = replace(
        today(context, "max-running-requests", f"lower the running cap to {fewer:,}"),
        flags=(micro_batch_call(context.release, fewer),),
        restart=False,
        risk="low",
        risk_text="fewer requests run at once; the server's log must confirm the change, the reply can be wrong",
        verify="retraction lines stop; running is lower but steadier",
        notes=("for you to send, not sent from here; it cannot exceed the cap of the start",),
        change=Change(running_cap=fewer, unknown=_COST),
    )
    return with_effect(base, context, Effect(why=_COST))
