"""V3: a queue waits for tokens that are reserved and not used."""

from __future__ import annotations

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.pressure import full_from, prefill_bound, pressure_of
from kvtui.diagnose.registry import rule
from kvtui.domain.admission import CLIP_NEW_TOKENS, bolder
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Picture


@rule("reservation")
def reservation(context: Context) -> Finding | None:
    """Queue, running below the cap, much of the pool free and not given out (facts/diagnoses.md V3)."""
    pressure, rank = pressure_of(context), context.rank
    if pressure is None or rank is None or pressure.at_cap or pressure.pool_full or prefill_bound(context):
        return None
    pool = count(context.account.tokens_reported)
    if pool is None or (pressure.cap is None and context.workload.decode_lines < 3):
        return None
    free = pool * (1 - pressure.usage)
    prompt, output = read(context.workload.prompt), read(context.workload.output)
    cap = "unknown" if pressure.cap is None else f"{pressure.cap:,}"
    candidate = (prompt or 0.0) + CLIP_NEW_TOKENS
    answers = f"answers are about {output:,.0f} tokens" if output is not None else "the length of answers is unknown"
    evidence = [
        proof(f"running {pressure.running:.1f} (peak {pressure.peak:.0f}), queued {pressure.queued:.1f}, cap {cap}", rank.running),
        proof(f"KV usage {pressure.usage:.2f}, {pressure.usage_peak:.2f} at its height", rank.usage),
        Evidence(f"{free:,.0f} of {pool:,} tokens are free and not given out", "formula: P(1 − U)"),
        Evidence(f"a candidate is charged its prompt and max_new_tokens up to {CLIP_NEW_TOKENS:,}: up to {candidate:,.0f} here; {answers}",
                 "formula: admission rule"),
    ]  # fmt: skip
    if pressure.reserve is not None:
        evidence.append(
            Evidence(
                f"held back beside each used token: {pressure.reserve.low:.2f} to {pressure.reserve.high:.2f}", "formula: P(1 − U) − need"
            )
        )
    return Finding(
        id="reservation",
        title="Reservation limits concurrency",
        sentence=context.told(
            f"Tokens are reserved, not used: {pressure.running:.0f} requests run at {pressure.usage:.0%} of {pool:,} tokens "
            f"while {pressure.queued:.0f} wait; admission charges up to {CLIP_NEW_TOKENS:,} tokens an answer."
        ),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=tuple(evidence),
        ruled_out=(
            Ruled("kv-capacity", f"used tokens reach only {pressure.usage_peak:.0%} of the pool"),
            Ruled(
                "running-cap",
                f"{pressure.peak:.0f} ran at most, the cap is {pressure.cap:,}"
                if pressure.cap is not None
                else "the peak is not a cap known here",
            ),
            Ruled("prefill", f"prefill takes about {read(rank.prefill_share) or 0.0:.0%} of the time"),
        ),
        fixes=("cap-max-new-tokens", "conservativeness"),
        advice=(
            *_bolder(context),
            "Have clients send a realistic max_tokens: it needs no restart; only below 4,096 does it change the charge.",
            "Where many idle gaps reset the ratio, it clears by itself within 600 decode steps of steady load.",
        ),
        verify=("usage rises by 5 points or more at the same demand, and no retraction follows",),
        needs=("max_new_tokens of the requests and sglang:new_token_ratio (--enable-metrics) would turn the range into a number",),
        pictures=(
            Picture("usage", "Usage stops well below full: what is above it is held back for answers to come.", (full_from(context),)),
            Picture("load", "And requests wait all the same, above what runs."),
        ),
    )


def _bolder(context: Context) -> tuple[str, ...]:
    """Which way the conservativeness goes, with the value that the option has too."""
    today = context.conservativeness
    lower = bolder(today)
    if lower is None:
        return ()
    return (f"Lower --schedule-conservativeness from {today:g} to {lower:g}: less is held back; watch for retractions afterwards.",)
