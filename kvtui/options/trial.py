"""What the twin is told about this server: its pool and limits, its load and its step times, each with its origin.

Admission is decided in each data-parallel rank alone: a case is the busiest one, and the others are that with other loads.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from kvtui.domain.admission import DP_ATTENTION_FACTOR
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.domain.throughput import Curve
from kvtui.options.arithmetic import pool_after
from kvtui.options.context import OptionContext, finite
from kvtui.options.rank_groups import Group, groups_of
from kvtui.options.seen import Observed, seen_rank, seen_server
from kvtui.options.stated import Stated, with_stated
from kvtui.twin import UNSET, Demand, Lengths, Server, Shape, StepTimes

Basis = Literal["measured", "stated", "assumed", "prior"]

MOST_CLIENTS: Final = 100_000
"""Requests in flight up to which a figure is taken for a load."""
SPREAD: Final = 0.5
"""Lengths are drawn evenly within this share of their mean on either side: a log tells means alone."""
_OF_ANSWER: Final = (1 + SPREAD * SPREAD / 3) / 2
"""Share of its answer that a running request holds on average: the longer ones are met more often."""
_MOST_CAP: Final = 4_096
_OF_ALL: Final = "running and queued of all ranks"
_CHUNK: Final = re.compile(r"--chunked-prefill-size (-?\d{1,7})")


@dataclass(frozen=True, slots=True)
class Told:
    """One figure that the simulation was given."""

    name: str
    figure: str
    basis: Basis
    note: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One scheduler with its load."""

    server: Server
    shape: Shape
    clients: int
    times: StepTimes

    @property
    def demand(self) -> Demand:
        """A closed loop: each client sends its next request when the last is answered."""
        return Demand(shape=self.shape, clients=self.clients)


@dataclass(frozen=True, slots=True)
class Trial:
    """Today beside a change."""

    today: Case
    changed: Case | Missing | None
    """None: nothing is changed. Missing: why the change cannot be simulated."""
    seen: Observed | None
    """The whole server; None where the load was stated, so that there is nothing to compare with."""
    told: tuple[Told, ...]
    notes: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    """The data-parallel ranks; empty: the one of ``today``."""
    in_step: bool = False
    """True: the ranks run each step together (DP attention), so that the busiest sets the pace of all."""
    busiest: Observed | None = None
    """The rank of ``today`` as it was seen."""


def trial_of(
    context: OptionContext, change: Change | None = None, flags: tuple[str, ...] = (), stated: Stated | None = None
) -> Trial | Missing:
    """The trial of ``change`` on this server; Missing where the load or the time of a step is not known.

    ``flags``: of the plan, for what ``change`` does not hold. ``stated``: what the operator said of the load.
    """
    load = with_stated(context, stated) if stated is not None else context
    times = _times(context)
    if isinstance(times, Missing):
        return times
    if context.limit == "sub-pool":
        return Missing("a sliding-window or state pool is the limit, and the twin has one pool only")
    try:
        sizes = _sizes(load, stated)
    except ValueError as error:
        return Missing(f"the load read cannot be simulated: {error}")
    if isinstance(sizes, Missing):
        return sizes
    server = _server(context)
    if isinstance(server, Missing):
        return server
    shape, clients, told = sizes
    try:
        today = Case(server, shape, clients, times[0])
        changed = _changed(context, today, change, flags) if change is not None else None
    except ValueError as error:
        return Missing(str(error))
    said = stated is not None and (stated.users is not None or stated.prompt is not None or stated.output is not None)
    groups = groups_of(load, clients)
    notes = (*((groups.note,) if groups.note else ()), *_notes(context, change, said=said))
    if load.replicas > 1:
        told = (replace(told[0], figure=f"{groups.clients:,}", note=_OF_ALL), *told[1:])
    return Trial(
        today,
        changed,
        None if said else seen_server(context),
        (*told, *times[1]),
        notes,
        groups.groups,
        context.account.identity.dp_attention,
        None if said else seen_rank(context),
    )


def _sizes(load: OptionContext, stated: Stated | None) -> tuple[Shape, int, tuple[Told, ...]] | Missing:
    """Lengths and requests in flight; the prompt so that a running request holds what running requests were seen to hold."""
    work = load.workload
    running, queued = (finite(reading) for reading in load.rank_load())
    fresh, resident = finite(work.prompt), finite(work.resident)
    if running is None or queued is None or running <= 0:
        return Missing("nothing ran in the window, so the load is not known: w states one")
    if fresh is None or fresh < 1:
        return Missing(f"the length of prompts is not known ({_why(work.prompt)}): w states one")
    answer = _answer(load, stated, fresh, resident)
    if isinstance(answer, Missing):
        return answer
    output, from_where = answer
    whole = max(fresh, resident - output * _OF_ANSWER) if resident is not None else fresh
    cached = 1 - fresh / whole if whole > fresh * 1.02 else 0.0
    clients = max(1, round(running + queued))
    if clients > MOST_CLIENTS or not (math.isfinite(whole) and math.isfinite(output)):
        return Missing(f"{running + queued:,.0f} requests in flight are too many to be a load")
    shape = Shape(_drawn(whole), _drawn(output), cached_share=min(cached, 0.999))
    said_users, said_prompt = stated is not None and stated.users is not None, stated is not None and stated.prompt is not None
    told = (
        Told("requests in flight", f"{clients:,}", "stated" if said_users else "measured", "running and queued of the busiest rank"),
        Told("prompt", f"{fresh:,.0f} tokens to compute", "stated" if said_prompt else "measured"),
        *(
            (Told("cached prompt", f"{whole - fresh:,.0f} tokens", "measured", "so that a running request holds what was seen"),)
            if cached
            else ()
        ),
        from_where,
        Told("spread of lengths", f"±{SPREAD:.0%}", "assumed", "a log tells means alone"),
        Told("arrivals", "closed loop", "assumed", "each client sends its next request when the last is answered"),
    )
    return shape, clients, told


def _answer(load: OptionContext, stated: Stated | None, fresh: float, resident: float | None) -> tuple[float, Told] | Missing:
    """Tokens of an answer: stated, measured, else from what a running request holds."""
    output = finite(load.workload.output)
    if output is not None and output >= 1:
        return output, Told("answer", f"{output:,.0f} tokens", "stated" if stated is not None and stated.output is not None else "measured")
    if resident is None or resident <= fresh * 1.05:
        return Missing(f"the length of answers is not known ({_why(load.workload.output)}): w states one")
    derived = (resident - fresh) / _OF_ANSWER
    return derived, Told("answer", f"{derived:,.0f} tokens", "assumed", "from what a running request holds beyond its prompt")


def _drawn(mean: float) -> Lengths:
    return Lengths(max(1.0, mean), "uniform", spread=SPREAD * mean)


def _why(reading: object) -> str:
    return reading.reason if isinstance(reading, Missing) else "no usable number"


def _times(context: OptionContext) -> tuple[StepTimes, tuple[Told, ...]] | Missing:
    """A line through the step that was measured: ``t = c x (R0 + R)`` (facts/diagnoses.md 3.1)."""
    rank = context.workload.busiest
    running = finite(context.rank_load()[0])
    if rank is None or running is None or running <= 0:
        return Missing("no decode step was measured, so nothing tells how long a step takes")
    share = finite(context.workload.prefill_share) or 0.0
    pure, whole, tok_s = finite(rank.pure_step_s), finite(rank.step_s), finite(rank.gen_tput)
    accept = max(1.0, finite(context.workload.accept_len) or 1.0)
    step = pure or (whole * (1 - min(share, 0.99)) if whole else None) or (running * accept / tok_s if tok_s else None)
    if step is None or not 1e-6 < step < 1e3:
        return Missing("no decode step was measured, so nothing tells how long a step takes")
    r0 = context.curve.r0_mid
    slope = step / (r0 + running)
    computed = _prompt_rate(context, tok_s)
    per_token = min(0.1, share / computed) if computed is not None and computed > 0 else 0.0
    times = StepTimes(base_s=slope * r0, per_running_s=slope, prefill_token_s=max(0.0, per_token))
    told = (
        Told("decode step", f"{step * 1e3:,.1f} ms at {running:,.0f} running", "measured"),
        Told(
            "step and batch",
            f"R0 {r0:,.0f}",
            "measured" if isinstance(context.fit, Curve) else "prior",
            context.curve.basis.removeprefix("prior "),
        ),
        Told(
            "prefill",
            f"{per_token * 1e6:,.0f} µs a token",
            "measured" if per_token else "assumed",
            "" if per_token else "not known: taken as nothing",
        ),
    )
    return times, told


def _prompt_rate(context: OptionContext, tok_s: float | None) -> float | None:
    """Prompt tokens computed a second of busy time: what each answer token brings with it, else over wall time, idle gaps included."""
    fresh, output = finite(context.workload.prompt), finite(context.workload.output)
    if tok_s and fresh and output:
        return tok_s * fresh / output
    computed = finite(context.workload.input_tput)
    return computed / context.replicas if computed is not None else None


def _server(context: OptionContext) -> Server | Missing:
    account, boot, pool = context.account, context.boot, context.pool
    if pool is None or pool < 8:
        return Missing("the pool is not known")
    number = boot.number if boot is not None else lambda _name: None
    final = boot.final if boot is not None else None
    chunk = final.chunked_prefill_size if final is not None else number("chunked_prefill_size")
    passes = final.max_prefill_tokens if final is not None else number("max_prefill_tokens")
    page = optional(account.identity.page_size) or 1
    scale = DP_ATTENTION_FACTOR if account.identity.dp_attention else 1.0
    try:
        return Server(
            pool_tokens=pool,
            running_cap=context.cap or _MOST_CAP,
            release=context.release,
            page=page,
            chunk=_chunk(chunk if chunk is not None else 8192, page),
            max_prefill_tokens=int(passes) if passes is not None and passes > 0 else 16384,
            conservativeness=context.conservativeness * scale,
            radix=boot is None or not boot.switch("disable_radix_cache"),
            context_len=optional(account.context_len),
            accept_len=max(1.0, finite(context.workload.accept_len) or 1.0) if context.speculation else 1.0,
            draft_tokens=int(number("speculative_num_draft_tokens") or 0) if context.speculation else 0,
        )
    except (ValueError, OverflowError) as error:
        return Missing(f"the settings read cannot be simulated: {error}")


def _chunk(size: float, page: int) -> int | None:
    return max(int(size), page) if 0 < size < 1e9 else None


def _changed(context: OptionContext, today: Case, change: Change, flags: tuple[str, ...]) -> Case | Missing:
    """Today's case after ``change``, or why the twin cannot tell. Raises ValueError where the result is no server."""
    refused = _refused(change)
    if refused:
        return Missing(refused)
    pool = pool_after(context, change)
    if isinstance(pool, Missing):
        return pool
    if pool.value < 8:
        return Missing("no pool would be left: it would not start")
    server, shape, times = today.server, today.shape, today.times
    scale = DP_ATTENTION_FACTOR if context.account.identity.dp_attention else 1.0
    chunk = next((found for flag in flags if (found := _CHUNK.fullmatch(flag))), None)
    page = change.page or server.page
    server = replace(
        server,
        pool_tokens=pool.value,
        running_cap=change.running_cap or server.running_cap,
        page=page,
        chunk=_chunk(float(chunk[1]), page) if chunk is not None else server.chunk,
        conservativeness=change.conservativeness * scale if change.conservativeness is not None else server.conservativeness,
    )
    if change.max_new_tokens is not None:
        asked = shape.max_new.mean if shape.max_new is not None else float(UNSET)
        shape = replace(shape, max_new=Lengths(min(asked, float(change.max_new_tokens))))
    if change.speed is not None:
        factor = 1 / change.speed.mid if change.speed.mid > 0 else 1.0
        times = replace(times, base_s=times.base_s * factor, per_running_s=times.per_running_s * factor)
    clients = min(MOST_CLIENTS, max(1, round(today.clients * change.running_factor)))
    return Case(server, shape, clients, times)


def _refused(change: Change) -> str:
    if change.unknown:
        return change.unknown
    if change.copies != 1:
        return "the ranks share the model in another way: how long a step takes then is not known"
    if change.running_ratio != 1:
        return "another pool than the KV pool holds the requests, and the twin has one pool only"
    if change.weight_ratio != 1 and change.speed is None:
        return "other weights are read in a step: how long it takes then is not known"
    return ""


def _notes(context: OptionContext, change: Change | None, *, said: bool) -> list[str]:
    notes = []
    if said and finite(context.workload.resident) is not None:
        notes.append("step times are those measured at the load that was read, at requests of another size")
    if change is not None and change.speed is not None:
        notes.append(f"steps ×{1 / change.speed.mid:.2f} as long: {change.speed.basis}")
    if context.cap is None:
        notes.append(f"the running cap is not known: {_MOST_CAP:,} is taken")
    return notes
