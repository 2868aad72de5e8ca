"""A load that a person states in place of, or on top of, what was measured; and what it would take to serve it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.admission import Band, Interval, admission_band, need_interval, ratio_interval, remaining_interval
from kvtui.domain.banding import band_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.finding import Finding, VerdictId
from kvtui.domain.plan import Plan
from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.samples import DECODE, SampleStore
from kvtui.domain.what_if import fraction_for
from kvtui.domain.workload import Workload, observe
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Observed, observed
from kvtui.options.plan import combine, conflicts_of

_SAID: Final = Where("user", "stated")
_TICKS: Final = 30
_TICK_S: Final = 2.0
_SAME_LENGTH: Final = 1.25
"""Factor between stated and measured sizes up to which measured throughput still says something."""
_ALMOST: Final = 0.98
_LARGEST: Final = 1e7
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Stated:
    """What the operator says; None: as measured. Tokens, requests, tokens a second, seconds."""

    users: float | None = None
    """Requests in flight, running and waiting."""
    prompt: float | None = None
    output: float | None = None
    target_tok_s: float | None = None
    target_wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What it would take."""

    sentence: str
    needed_tokens: int | None = None
    """Pool of one rank at which all of the load runs at once."""
    fraction: float | None = None
    """``mem_fraction_static`` that gives it by itself; may be above what is possible."""
    meets: tuple[Plan, ...] = ()
    """Plans that reach the goal, the least risky first."""
    basis: tuple[str, ...] = ()
    """Which figure was stated and which was measured."""


def with_stated(context: OptionContext, stated: Stated) -> OptionContext:
    """The server under the stated load: what it limits follows from the admission rule, not from a rule over samples."""
    prompt = _first(stated.prompt, context.workload.prompt)
    output = _first(stated.output, context.workload.output)
    resident = _resident(context, stated, prompt, output)
    now = observed(context)
    users = stated.users / context.replicas if stated.users is not None else None
    if users is None and isinstance(now, Observed):
        users = now.running + now.queued
    if stated.users is None and stated.prompt is None and stated.output is None:
        # A goal alone changes nothing of the load.
        return context
    if prompt is None or resident is None or users is None or not 0 < users < _LARGEST:
        return context
    measured = band_of(context.workload, context.account, context.boot, context.events)
    said = stated.prompt is not None or stated.output is not None
    band = band_for(context, prompt, output, resident) if said or measured is None else measured
    if band is None:
        return context
    room = (band.low + band.high) / 2
    cap = context.cap
    running = min(users, room, float(cap) if cap is not None else math.inf)
    limit: VerdictId = "client" if running >= users else "running-cap" if cap is not None and cap <= room else "kv-capacity"
    load = _load(context, running, users - running, resident, _speed(context, now, running, resident))
    if isinstance(load.gen_tput, Missing):
        load = replace(load, gen_tput=Missing("nothing was measured at this load"))
    load = replace(load, prompt=Known(prompt, None, _SAID), output=_reading(output), resident=Known(resident, None, _SAID))
    others = tuple(finding for finding in context.findings if finding.axis != "concurrency")
    found = Finding(
        id=limit,
        title="by the stated load",
        sentence=f"{users:,.0f} requests of {resident:,.0f} tokens: about {room:,.0f} are admitted",
        axis="concurrency",
        confidence="medium",
    )
    return replace(context, workload=load, findings=(found, *others))


def _first(said: float | None, measured: Reading[float]) -> float | None:
    return said if said is not None and 0 <= said < _LARGEST else finite(measured)


def _reading(value: float | None) -> Reading[float]:
    return Known(value, None, _SAID) if value is not None else Missing("neither stated nor measured")


def _resident(context: OptionContext, stated: Stated, prompt: float | None, output: float | None) -> float | None:
    """Measured, unless a length was stated: then the prompt and half of the answer."""
    if stated.prompt is None and stated.output is None:
        return finite(context.workload.resident)
    return prompt + output / 2 if prompt is not None and output is not None and prompt + output > 0 else None


def band_for(context: OptionContext, prompt: float, output: float | None, resident: float) -> Band | None:
    """The admission band of one rank for requests of a stated size; None where the pool is unknown."""
    pool, length = context.pool, optional(context.account.context_len)
    if pool is None or pool <= 0 or not 0 < resident < _LARGEST:
        return None
    return admission_band(
        pool=pool,
        resident=resident,
        need=need_interval(prompt=prompt, output=output, context_len=length),
        ratio=_steady(context),
        remaining=remaining_interval(output=output, context_len=length),
        running_cap=context.cap,
    )


def _steady(context: OptionContext) -> Interval:
    """A steady load keeps the ratio near its floor; what idle gaps do to it is not part of the statement."""
    told = ratio_interval(conservativeness=context.conservativeness, dp_attention=context.account.identity.dp_attention)
    return Interval(told.low, min(told.high, 2 * told.low), "near its floor under a steady load")


def _speed(context: OptionContext, now: Observed | Missing, running: float, resident: float) -> float:
    """Measured throughput, moved along the step-time curve; nan where it was measured at another size."""
    size = finite(context.workload.resident)
    if isinstance(now, Missing) or size is None or not 1 / _SAME_LENGTH <= resident / size <= _SAME_LENGTH:
        return math.nan
    r0 = context.curve.r0_mid
    return now.tok_s * running / now.running * (r0 + now.running) / (r0 + running)


def _load(context: OptionContext, running: float, queued: float, resident: float, tok_s: float) -> Workload:
    """A minute of decode lines as that load would print them, one line a rank and tick."""
    store, ranks, pool = SampleStore(), context.replicas, context.pool or 1
    for tick, rank in itertools.product(range(_TICKS), range(min(ranks, 64))):
        row = {
            "at": _TICK_S * tick, "line": float(tick + 1), "kind": DECODE, "dp": float(rank), "running": running, "queued": queued,
            "tokens": running * resident, "usage": min(1.0, running * resident / pool), "gen_tput": tok_s / ranks, "graph": 1.0,
        }  # fmt: skip
        store.append(row)
    return observe(store.view(), (), pool_tokens=pool)


def what_would_it_take(context: OptionContext, estimates: Sequence[Estimate], stated: Stated) -> Answer:
    """Plans of one or two levers that reach the goal; ``context`` and ``estimates`` as after ``with_stated``."""
    now, resident = observed(context), finite(context.workload.resident)
    running, queued = (finite(reading) for reading in context.rank_load())
    if running is None or queued is None or resident is None:
        return Answer("the load is neither measured nor stated: say how many users, how long prompts and answers")
    users = running + queued
    needed = _needed(context, users, resident)
    fraction = optional(fraction_for(context.account, needed)) if needed is not None else None
    basis = _basis(context, stated, now)
    if _met(context, stated, now, running, queued):
        return Answer(f"today's settings serve it: {users:,.0f} requests of {resident:,.0f} tokens", needed, fraction, (), basis)
    meets = _search(context, estimates, stated, users, needed)
    told = (
        f"{users:,.0f} requests of {resident:,.0f} tokens at once need a pool of about {needed:,} tokens"
        if needed
        else "the pool is unknown"
    )
    by_fraction = ""
    if fraction is not None and needed:
        by_fraction = f" (fraction {fraction:.3f})" if fraction < 1 else " (more than any fraction gives)"
    if not meets:
        return Answer(
            f"{told}{by_fraction}: no one or two levers are known to reach it{_unmeasured(estimates, needed)}", needed, fraction, (), basis
        )
    first = ", ".join(meets[0].flags) or ", ".join(meets[0].options)
    return Answer(f"{told}{by_fraction}; {first} reaches it", needed, fraction, meets, basis)


def _unmeasured(estimates: Sequence[Estimate], needed: int | None) -> str:
    """Levers that give the pool and of which nobody can say what they do to speed: they may reach a goal all the same."""
    able = [e for e in estimates if e.applies and e.tok_s is None and needed and (e.tokens or 0) >= needed and (e.headroom_gib or 0) >= 0]
    if not able:
        return ""
    return f"; {' and '.join(e.title for e in able[:2])} would give the pool, and the speed has to be measured"


def _needed(context: OptionContext, users: float, resident: float) -> int | None:
    """The pool at which the middle of the band admits ``users``: ``P = need + (R - 1) x c``."""
    prompt, output = finite(context.workload.prompt), finite(context.workload.output)
    if prompt is None:
        return None
    band = band_for(context, prompt, output, resident)
    if band is None:
        return None
    length = optional(context.account.context_len)
    need = need_interval(prompt=prompt, output=output, context_len=length)
    tokens = need.mid + max(0.0, users - 1) * band.charge.mid
    return math.ceil(tokens) if math.isfinite(tokens) and tokens < 1e12 else None


def _met(context: OptionContext, stated: Stated, now: Observed | Missing, running: float, queued: float) -> bool:
    """Whether today's settings reach the goal; all of the load running at once where no other goal was said."""
    if stated.target_tok_s is not None:
        return isinstance(now, Observed) and now.tok_s >= stated.target_tok_s
    if stated.target_wait_s is not None:
        output = finite(context.workload.output)
        if not isinstance(now, Observed) or not output:
            return queued <= 0
        return queued * context.replicas * output / now.tok_s <= stated.target_wait_s
    return running >= (running + queued) * _ALMOST


def _search(context: OptionContext, estimates: Sequence[Estimate], stated: Stated, users: float, needed: int | None) -> tuple[Plan, ...]:
    able = [e for e in estimates if e.applies and e.id not in ("lower-fraction", "client-concurrency")]
    plans: list[Plan] = []
    for size in (1, 2):
        for group in itertools.combinations(able, size):
            ids = [estimate.id for estimate in group]
            if conflicts_of(ids):
                continue
            told = combine(context, estimates, ids)
            if _reaches(told, stated, users, needed) and not any(set(found.options) <= set(ids) for found in plans):
                plans.append(told)
    order = ("none", "low", "medium", "high")
    return tuple(sorted(plans, key=lambda plan: (order.index(plan.risk), len(plan.options)))[:_SHOWN])


def _reaches(plan: Plan, stated: Stated, users: float, needed: int | None) -> bool:
    if plan.headroom_gib is not None and plan.headroom_gib < 0:
        return False
    if stated.target_tok_s is not None:
        return plan.tok_s is not None and plan.tok_s.mid >= stated.target_tok_s
    if stated.target_wait_s is not None:
        return plan.wait_s is not None and plan.wait_s[1] <= stated.target_wait_s
    if plan.running is not None:
        return plan.running[1] >= users * _ALMOST
    # Without a throughput to start from, the pool is all that can be compared.
    return plan.tokens is not None and needed is not None and plan.tokens >= needed


def _basis(context: OptionContext, stated: Stated, now: Observed | Missing) -> tuple[str, ...]:
    """Each figure, and who said it."""
    figures = (
        ("requests in flight", stated.users, None),
        ("prompt", stated.prompt, finite(context.workload.prompt)),
        ("answer", stated.output, finite(context.workload.output)),
    )
    told = [
        f"{name}: {said:,.0f}, stated"
        if said is not None
        else f"{name}: {measured:,.0f}, measured"
        if measured is not None
        else f"{name}: unknown"
        for name, said, measured in figures
        if name != "requests in flight" or said is not None
    ]
    speed = f"throughput: {now.tok_s:,.0f} tok/s, measured" if isinstance(now, Observed) else f"throughput: {now.reason}"
    return (*told, speed)
