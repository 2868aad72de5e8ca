"""V20: one long request at the head of the queue holds the small ones behind it."""

from __future__ import annotations

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Finding, Ruled

_DRAINED = 0.25
_LARGE_SHARE = 0.2
_LARGE_TIMES = 5
_PEAK = 4
_QUEUES = 0.05


@rule("head-of-line")
def head_of_line(context: Context) -> Finding | None:
    """Running falls to half of its peak while requests wait, and a prompt above 20 % of the pool or 5 m was seen (V20)."""
    rank, load = context.rank, context.workload
    if rank is None or not context.loaded or load.retractions:
        return None
    drained, queue, peak = read(rank.drained_share), read(rank.queue_share), read(rank.running_peak)
    pool, resident, longest = count(context.account.tokens_reported), read(load.resident), read(load.prompt_max)
    if drained is None or queue is None or peak is None or pool is None or resident is None or longest is None:
        return None
    large = longest > _LARGE_SHARE * pool and longest > _LARGE_TIMES * resident
    if drained < _DRAINED or queue < _QUEUES or peak < _PEAK or not large:
        return None
    return Finding(
        id="head-of-line",
        title="One long request holds the queue",
        sentence=(
            f"A prompt of {longest:,.0f} tokens ({longest / pool:.0%} of the pool, others hold {resident:,.0f}) waits at the head until "
            f"most others have ended: in {drained:.0%} of the queueing lines no more than half of the peak of {peak:.0f} runs."
        ),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=(
            proof(f"longest prompt {longest:,.0f} tokens, pool {pool:,}, resident {resident:,.0f} a request", load.prompt_max),
            proof(f"half of the peak or less runs in {drained:.0%} of the queueing lines", rank.drained_share),
        ),
        ruled_out=(
            Ruled(
                "kv-capacity",
                f"a queue stands in only {queue:.0%} of the lines and running falls while it does"
                if queue < 0.5
                else "running falls while it stands",
            ),
            Ruled("retraction", "no request was put back"),
        ),
        fixes=("context-length", "raise-fraction"),
        advice=(
            f"Route long prompts to a server of their own, or refuse them with --context-length {int(pool * 0.5):,}".replace(",", "") + ".",
            "--enable-priority-scheduling lets short requests pass.",
        ),
        verify=("running no longer falls while requests wait; the tail of time to first token shortens",),
        needs=("prompt lengths of the waiting requests: the log shows a prompt only once it is admitted",),
    )
