"""A load was seen and nothing limits it."""

from __future__ import annotations

from kvtui.diagnose.context import ENOUGH_S, ENOUGH_TICKS, Context, first_at, proof, read
from kvtui.diagnose.pressure import full_from, longest_queue, prefill_bound, prefill_doubt
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.grammar import grammar
from kvtui.diagnose.rules.pd_queue import pd_queue
from kvtui.diagnose.stalls import unsettled
from kvtui.domain.finding import Finding
from kvtui.domain.picture import Picture


@rule("healthy")
def healthy(context: Context) -> Finding | None:
    """No lasting queue, no retraction, no stall, prefill in bounds; a pool that is full without a queue is near its ceiling."""
    rank = context.rank
    if rank is None or not context.loaded or context.workload.decode_lines < ENOUGH_TICKS or prefill_bound(context):
        return None
    span, queue = read(context.workload.span_s), longest_queue(context)
    usage = max((read(other.usage_peak) or 0.0 for other in context.workload.ranks), default=0.0)
    if span is None or span < ENOUGH_S or queue is None or queue > 0.1 or context.workload.retractions:
        return None
    if unsettled(context) or prefill_doubt(context) is not None or waits_elsewhere(context):
        return None
    full = usage >= context.thresholds.usage_full
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
        pictures=(
            Picture("load", "All that comes runs: hardly anything waits above it."),
            Picture("usage", "The pool still has room." if not full else "The pool is near its ceiling.", (full_from(context),)),
        ),
    )


def waits_elsewhere(context: Context) -> bool:
    """True where requests stand in a queue that ``queued`` does not count: then nothing says that all that comes is served."""
    return pd_queue(context) is not None or grammar(context) is not None
