"""V1: the pool is full of tokens that running requests use, and a queue waits for it."""

from __future__ import annotations

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.pressure import Pressure, full_from, prefill_bound, pressure_of
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Picture


@rule("kv-capacity")
def kv_capacity(context: Context) -> Finding | None:
    """Queue, running below the cap, pool full by use (facts/diagnoses.md V1)."""
    pressure, rank = pressure_of(context), context.rank
    if pressure is None or rank is None or pressure.at_cap or not pressure.pool_full:
        return None
    if pressure.usage_peak < context.thresholds.usage_full and prefill_bound(context):
        return None
    pool, resident = count(context.account.tokens_reported), read(context.workload.resident)
    size = f"the {pool:,} tokens of the pool" if pool is not None else "the tokens of the KV pool"
    each = f", {resident:,.0f} a request" if resident is not None else ""
    cap = f"cap {pressure.cap:,}" if pressure.cap is not None else "cap unknown"
    told = f"cap {pressure.cap:,} not reached" if pressure.cap is not None else "cap unknown"
    evidence = [
        proof(f"running {pressure.running:.1f} (peak {pressure.peak:.0f}), queued {pressure.queued:.1f}, {cap}", rank.running),
        proof(f"KV usage {pressure.usage:.2f} on average, {pressure.usage_peak:.2f} at its height", rank.usage),
    ]
    if pool is not None and resident:
        evidence.append(
            proof(f"a pool of {pool:,} tokens holds {pool / resident:.1f} requests of {resident:,.0f}", context.account.tokens_reported)
        )
    swa, state = read(rank.swa_usage), read(rank.mamba_usage)
    if swa is not None:
        evidence.append(proof(f"the sliding-window pool is at {swa:.2f}: the full-attention pool is the one that is full", rank.swa_usage))
    if state is not None:
        evidence.append(proof(f"the state pool is at {state:.2f}", rank.mamba_usage))
    if context.band is not None:
        evidence.append(
            Evidence(
                f"admission holds {context.band.low:.1f} to {context.band.high:.1f} requests of this size", "formula: 1 + (P − need)/c"
            )
        )
    return Finding(
        id="kv-capacity",
        title="KV capacity limits concurrency",
        sentence=context.told(
            f"{pressure.running:.0f} run, {pressure.queued:.0f} wait: {size} are {pressure.usage:.0%} full "
            f"(up to {pressure.usage_peak:.0%}){each}; {told}."
        ),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=tuple(evidence),
        ruled_out=_ruled(context),
        fixes=("raise-fraction", "fp8-kv", "dp-attention", "drop-draft", "dcp", "cap-max-new-tokens", "more-gpus"),
        advice=("HiCache does not help here: the host tier holds no running request.",),
        verify=(
            "max_total_num_tokens of the new start equals the prediction within a page",
            "usage is as high again at more running requests, with no retraction in 15 minutes",
            "available_gpu_mem stays at 3 GiB or more under the longest real prompt",
        ),
        needs=() if pool is not None else ("the max_total_num_tokens line of the start: without it the pool's size is unknown",),
        pictures=_pictures(context, pressure),
    )


def _pictures(context: Context, pressure: Pressure) -> tuple[Picture, ...]:
    full = pressure.usage_peak >= context.thresholds.usage_full
    return (
        Picture("load", "Running stays at what admission holds, however much waits above it."),
        Picture(
            "usage",
            "The tokens of running requests keep the pool full."
            if full
            else "Usage ends below the mark, and still the rest is less than the next request asks for.",
            (full_from(context),),
        ),
    )


def _ruled(context: Context) -> tuple[Ruled, ...]:
    pressure = pressure_of(context)
    if pressure is None:
        return ()
    ruled = []
    if pressure.cap is not None:
        ruled.append(Ruled("running-cap", f"{pressure.peak:.0f} ran at most, the cap is {pressure.cap:,}"))
    if pressure.reserve is not None:
        reserve = f"{pressure.reserve.low:.2f} to {pressure.reserve.high:.2f}"
        ruled.append(
            Ruled("reservation", f"reserved is {reserve} of what is used; used tokens reach {pressure.usage_peak:.0%} of the pool")
        )
    if not context.workload.retractions:
        ruled.append(Ruled("retraction", "no request was put back in the window"))
    share = read(context.workload.prefill_share)
    if share is not None:
        ruled.append(Ruled("prefill", f"prefill takes about {share:.0%} of the time"))
    return tuple(ruled)
