"""Which of the look-alikes holds a queue: the cap, the pool, its reservation, or none of them.

At saturation ``P (1 - U) = need + R nu r``: what is free is the charge of the next request and the reservation of those that
run. So a log without ``max_new_tokens`` still bounds the reservation: ``need`` lies between the prompt with the answers
seen and the prompt with the clip (facts/diagnoses.md 0.1, V1 and V3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.diagnose.context import Context, count, read
from kvtui.diagnose.page_prefill import Doubt, doubt_of
from kvtui.domain.admission import CLIP_NEW_TOKENS, Interval
from kvtui.domain.picture import Level, Picture

RESERVES: Final = 0.3
"""Reservation over resident tokens from which on it is the reservation that holds the queue (facts/diagnoses.md V3)."""
PINNED: Final = 0.98
"""Running at this share of the cap counts as at the cap (V2)."""
_MOSTLY: Final = 0.6
"""Share of the queueing samples at the cap from which on it is the cap that holds them, whatever ran before the queue."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """A queue and what could hold it; of the busiest rank."""

    running: float
    peak: float
    queued: float
    usage: float
    usage_peak: float
    cap: int | None
    at_cap: bool
    reserve: Interval | None
    """Reserved over resident tokens, per request; None where sizes are unknown."""
    pool_full: bool
    """True where used tokens, not reserved ones, fill the pool."""


def pressure_of(context: Context) -> Pressure | None:
    """The pressure, or None where there is no lasting queue or its figures are unknown."""
    rank = context.rank
    if rank is None or not context.loaded or not context.queueing:
        return None
    running, peak, queued = read(rank.running), read(rank.running_peak), read(rank.queued)
    usage, usage_peak = read(rank.usage), read(rank.usage_peak)
    if running is None or peak is None or queued is None or usage is None or usage_peak is None:
        return None
    cap = count(context.account.running_cap)
    reserve, full = _reserve(context, running, usage), context.thresholds.usage_full
    return Pressure(
        running=running,
        peak=peak,
        queued=queued,
        usage=usage,
        usage_peak=usage_peak,
        cap=cap,
        at_cap=cap is not None and peak >= PINNED * cap and (running >= 0.9 * cap or (read(rank.pinned_share) or 0.0) >= _MOSTLY),
        reserve=reserve,
        pool_full=usage_peak >= full or (reserve.low + reserve.high < 2 * RESERVES if reserve is not None else usage >= 0.75),
    )


def _reserve(context: Context, running: float, usage: float) -> Interval | None:
    """Reserved over resident tokens of a running request, as the free space bounds it."""
    pool, resident, prompt = count(context.account.tokens_reported), read(context.workload.resident), read(context.workload.prompt)
    if pool is None or resident is None or resident <= 0 or running <= 0:
        return None
    free, held = pool * (1 - usage), running * resident
    asked, seen = prompt or 0.0, read(context.workload.output) or 0.0
    most = max(0.0, free - asked - min(seen, CLIP_NEW_TOKENS)) / held
    least = max(0.0, free - asked - CLIP_NEW_TOKENS) / held
    return Interval(least, most, "free tokens less the charge of the next request")


def full_from(context: Context) -> Level:
    """Where usage counts as full, for a picture."""
    full = context.thresholds.usage_full
    return Level(full, f"full from {full:.2f}")


def longest_queue(context: Context) -> float | None:
    """Share of the samples with a queue, of the rank that queues most often: the busiest need not be the one that requests wait for."""
    return max((share for rank in context.workload.ranks if (share := read(rank.queue_share)) is not None), default=None)


def prefill_bound(context: Context) -> bool:
    """True where prefill takes most of the time: then a queue says nothing of the pool."""
    rank = context.rank
    share = read(rank.prefill_share) if rank is not None else None
    return share is not None and share >= bound_from(context)


def bound_from(context: Context) -> float:
    """Share of the time in prefill from which on prefill is what limits: less where its passes are full."""
    starves = context.thresholds.prefill_share
    return starves / 1.6 if full_passes(context) else starves


def prefill_pictures(context: Context) -> tuple[Picture, ...]:
    """Prefill's share with where it limits, and the rates. Pages do not tell the share of one stretch; the rates they do."""
    starves, shared = bound_from(context), "Prompts and answers share the time of the GPU: what prefill takes, decode lacks."
    if context.sampled or context.rank is None:
        return (Picture("rates", f"{shared} From {starves:.0%} of the time on it starves decode."),)
    rates = Picture("rates", shared)
    level = Level(starves, f"starves decode from {starves:.0%}")
    seen = "Prefill holds the GPU for this share of the time; decode has the rest."
    return (Picture("prefill-share", seen, (level,), (context.rank.dp,)), rates)


def prefill_doubt(context: Context) -> Doubt | None:
    """Where prefill may take most of the time and only pages that do not tell it were read: then nothing is known to be well."""
    return doubt_of(context.workload, context.frame.http, context.thresholds.prefill_share) if context.sampled else None


def full_passes(context: Context) -> bool:
    """True where the median prefill pass fills its chunk: there is always more to prefill."""
    # A sample out of metrics stands for many passes.
    size = read(context.rank.full_pass) if context.rank is not None and not context.sampled else None
    final = context.boot.final if context.boot is not None else None
    chunk = final.chunked_prefill_size if final is not None else None
    return size is not None and chunk is not None and chunk > 0 and size >= 0.9 * chunk
