"""V4: prefill takes the time that decode needs."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.pressure import full_passes, prefill_bound, prefill_pictures
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Confidence, Finding, Ruled
from kvtui.domain.reading import Known, Missing

_PASSES = 3


@rule("prefill")
def prefill(context: Context) -> Finding | None:
    """Prefill above 40% of wall time, or nothing but prefill while requests wait (facts/diagnoses.md V4)."""
    rank = context.rank
    if rank is None or not (context.loaded or (context.workload.prefill_lines >= 20 and context.lasted)):
        return None
    only = rank.decode_lines == 0 and rank.prefill_lines >= _PASSES and context.queueing
    if not only and not (prefill_bound(context) and context.workload.prefill_lines >= 20):
        return None
    share = read(rank.prefill_share)
    tput, rate = read(context.workload.gen_tput), read(context.workload.input_tput)
    size = read(rank.full_pass)
    taken = (
        "all lines of the window are prefill"
        if only
        else f"prefill takes {'about' if context.sampled else 'at least'} {share or 0.0:.0%} of the time"
    )
    usage, queued = read(rank.usage), read(rank.queued)
    # A sample stands for many passes, so counting samples proves nothing.
    count = f"{context.workload.prefill_lines} prefill passes beside {context.workload.decode_lines} decode lines"
    numbers = "by the server's counters" if context.sampled else count
    if rate is not None:
        numbers += f", {rate:,.0f} prompt tokens a second"
    if tput is not None:
        numbers += f", {tput:,.0f} generated a second"
    evidence = [proof(taken, rank.prefill_share), proof(numbers, context.workload.input_tput)]
    if size is not None:
        full = ", the whole chunk: there is always more to prefill" if full_passes(context) else ""
        evidence.append(proof(f"the median pass computes {size:,.0f} tokens{full}", rank.full_pass))
    if usage is not None:
        evidence.append(
            proof(
                f"KV usage {usage:.2f} on average, {read(rank.usage_peak) or usage:.2f} at its height; queued {queued or 0.0:.1f}",
                rank.usage,
            )
        )
    hit = read(context.workload.cached_share)
    return Finding(
        id="prefill",
        title="Prefill limits throughput",
        sentence=context.told(f"Prefill starves decode: {taken} ({numbers})."),
        axis="concurrency",
        confidence="low" if only else _confidence(context),
        since=first_at(context),
        evidence=tuple(evidence),
        ruled_out=(Ruled("kv-capacity", f"KV usage is {usage:.0%}: the pool is not what a queue waits for"),)
        if usage is not None and usage < 0.8
        else (),
        fixes=("chunked-prefill", "hicache", "cache-aware-routing", "more-gpus"),
        advice=(f"{hit:.0%} of the prompt tokens came from the cache.",) if hit is not None else (),
        verify=("decode lines come as often as before at the same demand, and time to first token falls",),
        needs=("decode lines: a longer log",)
        if only
        else ("sglang:realtime_tokens_total (--enable-metrics) counts prefill exactly",)
        if isinstance(rank.pure_step_s, Missing)
        else (),
        pictures=prefill_pictures(context),
    )


def _confidence(context: Context) -> Confidence:
    """Bounds out of pages that count no seconds prove less than a count."""
    share = context.workload.prefill_share
    bounded = context.sampled and isinstance(share, Known) and share.where.kind == "formula"
    return "medium" if bounded and context.confidence == "high" else context.confidence
