"""A load was seen and nothing limits it."""

from __future__ import annotations

from kvtui.diagnose.context import ENOUGH_S, ENOUGH_TICKS, Context, first_at, proof, read
from kvtui.diagnose.pressure import FULL, prefill_bound
from kvtui.diagnose.registry import rule
from kvtui.diagnose.stalls import stall_of
from kvtui.domain.finding import Finding


@rule("healthy")
def healthy(context: Context) -> Finding | None:
    """No lasting queue, no retraction, no stall, prefill in bounds; a pool that is full without a queue is near its ceiling."""
    rank = context.rank
    if rank is None or not context.loaded or context.workload.decode_lines < ENOUGH_TICKS or prefill_bound(context):
        return None
    span, queue = read(context.workload.span_s), read(rank.queue_share)
    usage = max((read(other.usage_peak) or 0.0 for other in context.workload.ranks), default=0.0)
    if span is None or span < ENOUGH_S or queue is None or queue > 0.1 or context.workload.retractions or stall_of(context) is not None:
        return None
    full = usage >= FULL
    running, tput = read(context.workload.running) or 0.0, read(context.workload.gen_tput)
    rate = f" at {tput:,.0f} tok/s" if tput is not None else ""
    return Finding(
        id="healthy",
        title="Nothing limits this server yet" if full else "Nothing limits this server",
        sentence=(
            f"All that comes is served: {running:.1f} requests run{rate}, "
            f"the queue is empty in {1 - queue:.0%} of the samples, KV usage peaks at {usage:.0%}"
            f"{': near its ceiling, so that a little more load would queue' if full else ''}."
        ),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=(
            proof(f"queue empty in {1 - queue:.0%} of the samples", rank.queue_share),
            proof(f"usage peaks at {usage:.2f}", rank.usage_peak),
        ),
    )
