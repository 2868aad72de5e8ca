"""V7: nothing waits and much is free; the clients send too little."""

from __future__ import annotations

from kvtui.diagnose.before_scheduler import held_before
from kvtui.diagnose.context import ENOUGH_S, Context, count, first_at, proof, read
from kvtui.diagnose.pressure import longest_queue, prefill_bound, prefill_doubt
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.healthy import waits_elsewhere
from kvtui.diagnose.stalls import silence_of, unsettled
from kvtui.domain.finding import Finding, Ruled
from kvtui.domain.picture import Level, Picture

_STEADY_LINES = 20
_HALF = 0.5
"""Share of the pool in use, and of what fits running, below which more could come (V7)."""
_STEADY_PAGES = 8
"""A page a second, less those of prefill passes: as many as a load of the shortest time shows."""


@rule("client")
def client(context: Context) -> Finding | None:
    """No queue in 90% of the lines, under half of what fits, under half of the pool, always at work (facts/diagnoses.md V7)."""
    rank = context.rank
    if rank is None or not context.loaded or context.workload.retractions or prefill_bound(context) or held_before(context):
        return None
    if unsettled(context) or silence_of(context) is not None or prefill_doubt(context) is not None:
        return None
    if waits_elsewhere(context):
        return None
    queue, running, usage = longest_queue(context), read(rank.running), read(rank.usage)
    span = read(context.workload.span_s)
    if queue is None or running is None or usage is None or (span is not None and span < ENOUGH_S):
        return None
    cap, pool, resident = count(context.account.running_cap), count(context.account.tokens_reported), read(context.workload.resident)
    fits = pool / resident if pool is not None and resident else None
    room = min((limit for limit in (cap, fits) if limit is not None), default=None)
    enough = rank.decode_lines >= (_STEADY_PAGES if context.sampled else _STEADY_LINES)
    steady = enough and (span is None or rank.covered_weight * context.interval >= 0.5 * span)
    if queue > 0.1 or usage >= _HALF or not steady or (room is not None and running >= _HALF * room):
        return None
    tput = read(context.workload.gen_tput)
    everywhere = " over all ranks" if len(context.workload.ranks) > 1 else ""
    rate = f", {tput:,.0f} tok/s{everywhere}" if tput is not None else ""
    limit = f"{room:,.0f} would fit" if room is not None else "more would fit"
    return Finding(
        id="client",
        title="The clients send too little",
        sentence=context.told(f"Nothing waits: {running:.1f} requests run at {usage:.0%} of the pool{rate}, and {limit}."),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=(
            proof(f"queue empty in {1 - queue:.0%} of the samples", rank.queue_share),
            proof(f"running {running:.1f} of {limit}; KV usage {usage:.3f}", rank.running),
        ),
        ruled_out=(
            Ruled("kv-capacity", "nothing waits"),
            Ruled("running-cap", f"peak {read(rank.running_peak) or 0:.0f}, cap {f'{cap:,}' if cap else 'unknown'}"),
        ),
        fixes=("client-concurrency",),
        advice=(
            "Look for a fixed --max-concurrency of the benchmark, a pool limit of the gateway, or a client that waits for each answer.",
        ),
        verify=("the queue is just above 0 and throughput has grown with running",),
        needs=()
        if context.sampled
        else ("the clients' own count of requests in flight: more than running means they wait before the scheduler (tokenizer, gateway)",),
        pictures=(
            Picture(
                "load",
                "Running stays below half of what would fit, and nothing waits above it.",
                (Level(fits, f"{fits:,.0f} would fit"),) if fits is not None and fits == room else (),
            ),
            Picture("usage", "More than half of the pool stays free.", (Level(_HALF, f"half used {_HALF:.2f}"),)),
        ),
    )
