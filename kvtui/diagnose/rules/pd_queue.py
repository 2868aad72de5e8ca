"""V15: a queue of prefill-decode disaggregation holds the requests: for room, for the network, or for a partner."""

from __future__ import annotations

import math
from typing import Final, Literal

from kvtui.diagnose.context import ENOUGH_TICKS, Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.rank_rows import mean
from kvtui.domain.reading import Known, Where

_LASTING: Final = 0.8
"""Share of samples in which the queue stands."""
_FEW: Final = 3.0
_SHARE: Final = 0.25
"""A queue below this share of what runs is requests on their way, not a limit."""
_FULL: Final = 0.8

_Queue = Literal["prealloc", "transfer", "bootstrap", "inflight"]
_QUEUES: Final[tuple[tuple[_Queue, str, str], ...]] = (
    ("prealloc", "waits for room in the decode server's pool", "decode"),
    ("transfer", "waits for its KV to arrive over the network", "decode"),
    ("bootstrap", "waits to be paired with a decode server", "prefill"),
    ("inflight", "holds its KV until the decode server has taken it", "prefill"),
)


@rule("pd-queue")
def pd_queue(context: Context) -> Finding | None:
    """One of the four queues stands in 80% of the samples and is large beside what runs (facts/diagnoses.md V15)."""
    if context.rank is None or not context.loaded:
        return None
    window = context.frame.timeline
    standing: list[tuple[float, _Queue, str, str]] = []
    for name, what, role in _QUEUES:
        values = [value for value in window.column(name) if math.isfinite(value)] if window.tells(name) else []
        if len(values) < ENOUGH_TICKS or sum(value >= 1 for value in values) < _LASTING * len(values):
            continue
        size = mean(values)
        if size >= _from(context, role):
            standing.append((size, name, what, role))
    if not standing:
        return None
    return _finding(context, max(standing), [entry for entry in standing if entry != max(standing)])


def _from(context: Context, role: str) -> float:
    """Requests in a queue from which on it is a limit."""
    return max(_FEW, _SHARE * (read(context.workload.running) or 0.0) if role == "decode" else 0.0)


def _finding(context: Context, worst: tuple[float, _Queue, str, str], others: list[tuple[float, _Queue, str, str]]) -> Finding:
    size, name, what, role = worst
    rank = context.rank
    usage = max(
        (value for value in (read(rank.usage) if rank is not None else None, _preallocated(context)) if value is not None), default=None
    )
    full = name == "prealloc" and usage is not None and usage >= _FULL
    held = f", and {usage:.0%} of the pool is used or given away" if usage is not None else ""
    where = Where("metric" if context.sampled else "log", f"#{name}-req")
    return Finding(
        id="pd-queue",
        title=f"The {name} queue of the {role} server limits",
        sentence=f"{size:.0f} requests stand in the {name} queue: each {what}{held}.",
        axis="concurrency",
        confidence="medium" if name != "prealloc" or full else "low",
        since=first_at(context),
        evidence=(
            proof(f"{name} queue {size:.1f} on average, standing in most samples", Known(size, read(context.workload.last_at), where)),
            *(proof(f"{other} queue {count:.1f}", Known(count, None, where)) for count, other, _, _ in others),
        ),
        ruled_out=(
            Ruled("client", "the clients have sent them; they wait inside"),
            Ruled("kv-capacity", "not the ordinary queue holds them"),
        ),
        fixes=("raise-fraction", "fp8-kv") if full else (),
        advice=_ADVICE[name],
        verify=(f"the {name} queue empties between samples at the same demand",),
        needs=("the partner's log or metrics: prefill and decode servers are judged one by one; point kvtui at both",),
        pictures=(
            Picture(
                name,
                f"The {name} queue does not empty.",
                (Level(_from(context, role), f"a limit from {_from(context, role):.0f} requests"),),
            ),
            Picture("load", "The ordinary queue above what runs is not where they wait."),
        ),
    )


_ADVICE: Final = {
    "prealloc": (
        "Add decode servers, or enlarge their pool; see --num-reserved-decode-tokens (512 unless set): more reserves room for nothing.",
    ),
    "transfer": ("Look at the transfer speed (sglang:kv_transfer_speed_gb_s) and at the network between the servers.",),
    "bootstrap": ("Add decode servers or decode slots (--disaggregation-decode-extra-slots from 0.5.15): nobody takes what is ready.",),
    "inflight": ("Look at the network and at the decode servers' room: finished prefills hold their KV until it is taken.",),
}


def _preallocated(context: Context) -> float | None:
    found = context.frame.timeline.last("preallocated_usage")
    return found[0] if found is not None else None
