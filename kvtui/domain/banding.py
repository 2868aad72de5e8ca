"""The admission band of a server, from its load, its arithmetic and its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.admission import Band, Interval, admission_band, need_interval, ratio_interval, remaining_interval
from kvtui.domain.batches import RankLoad
from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.reading import Missing, optional
from kvtui.domain.workload import Workload

_QUEUES: Final = 0.5
"""Share of lines with a queue from which on a rank counts as saturated."""
_AT_CAP: Final = 0.98
"""Running at this share of the cap is held by the cap, not by the pool."""


def ratio_of(boot: Boot | None, events: Sequence[Event]) -> Interval:
    """What ``new_token_ratio`` may be: settings give floor and start, retraction lines move it."""
    asked = boot.number("schedule_conservativeness") if boot is not None else None
    raised = [
        float(told)
        for event in events
        if event.kind == "retract" and isinstance(told := event.fields.get("ratio_after"), (int, float)) and math.isfinite(told)
    ]
    dp_attention = boot is not None and boot.switch("enable_dp_attention")
    return ratio_interval(conservativeness=asked, dp_attention=dp_attention, after_retraction=max(raised, default=None))


def band_of(workload: Workload, account: Account, boot: Boot | None = None, events: Sequence[Event] = ()) -> Band | None:
    """The band of the busiest rank, or None where pool, request size or prompt are unknown.

    ``max_new_tokens`` is never in a log, so the answer's charge spans what was seen to the clip.
    """
    rank = workload.busiest
    pool, prompt = optional(account.tokens_reported), optional(workload.prompt)
    resident = Missing("no load") if rank is None else rank.resident
    size = optional(resident)
    if pool is None or pool <= 0 or size is None or not (0 < size < math.inf) or prompt is None:
        return None
    output, context = optional(workload.output), optional(account.context_len)
    need = need_interval(prompt=prompt, output=output, context_len=context)
    ratio, remaining = ratio_of(boot, events), remaining_interval(output=output, context_len=context)
    cap = optional(account.running_cap)
    held = Interval(ratio.low * remaining.low, ratio.high * remaining.high, f"{ratio.basis}; {remaining.basis}")
    saturated = _saturated(rank, cap)
    if saturated is not None:
        free = max(need.low, pool * (1 - saturated.usage))
        need = Interval(need.low, min(need.high, free), f"{need.basis}; no more than is free when one enters")
    band = admission_band(
        pool=pool,
        resident=size,
        need=need,
        ratio=Interval(1.0, 1.0, "in the reserved tokens"),
        remaining=_as_observed(held, saturated, pool, need),
        running_cap=cap,
    )
    if saturated is None or band.low > saturated.peak + 1 or band.high <= saturated.peak + 1:
        return band
    high = saturated.peak + 1
    basis = f"{band.basis}; a queue stood and no more than {saturated.peak:.0f} ran"
    return replace(band, high=high, usage_high=min(1.0, high * size / pool), basis=basis)


@dataclass(frozen=True, slots=True)
class _Saturated:
    """A rank that queues below its cap: what runs is what admission lets in."""

    running: float
    peak: float
    usage: float


def _saturated(rank: RankLoad | None, cap: int | None) -> _Saturated | None:
    if rank is None:
        return None
    queue, running, usage, peak = (optional(r) for r in (rank.queue_share, rank.running, rank.usage, rank.running_peak))
    if queue is None or queue < _QUEUES or not running or usage is None or peak is None or (cap is not None and peak >= _AT_CAP * cap):
        return None
    return _Saturated(running, peak, usage)


def _as_observed(held: Interval, seen: _Saturated | None, pool: int, need: Interval) -> Interval:
    """At saturation what is free is ``need`` and what is held back, which bounds the reservation from above."""
    if seen is None:
        return held
    most = max(0.0, pool * (1 - seen.usage) - need.low) / seen.running
    return (
        held
        if most >= held.high
        else Interval(min(held.low, most), most, f"{held.basis}; bounded by what is free at {seen.usage:.0%} usage")
    )
