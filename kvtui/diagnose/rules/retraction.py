"""V8: running requests lose their KV again because more were admitted than the pool can hold."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read, witness
from kvtui.diagnose.registry import rule
from kvtui.domain.admission import calmer
from kvtui.domain.finding import Confidence, Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.units import duration

_BURST_REQUESTS = 3
_RATE_FROM_S = 60.0
"""Seconds seen below which a rate a minute would be made up from a moment."""


@rule("retraction")
def retraction(context: Context) -> Finding | None:
    """More retractions a minute than one, or than a person asks for (facts/diagnoses.md V8); rarer ones are told with low confidence."""
    load = context.workload
    first = first_at(context)
    events = [event for event in context.events("retract") if first is None or event.at is None or event.at >= first]
    if not load.retractions or not events:
        return None
    rate, span = read(load.retractions_per_min), read(load.span_s)
    most = context.thresholds.retractions_per_min
    sustained = (rate is None and load.retractions >= _BURST_REQUESTS) or (rate is not None and rate > most)
    confidence: Confidence = "low" if not sustained else "high" if load.retractions >= _BURST_REQUESTS else "medium"
    when = f" in {duration(span)}" if span is not None else ""
    if when and rate is not None and span is not None and span >= _RATE_FROM_S:
        when += f" ({rate:.1f} a minute)"
    often = f"{load.retractions} time{'s' if load.retractions != 1 else ''}{when}"
    each = when if load.retracted == load.retractions else f", {often}"
    usage = read(context.rank.usage_peak) if context.rank is not None else None
    full = f", KV usage up to {usage:.0%}" if usage is not None else ""
    whose = "its" if load.retracted == 1 else "their"
    ratios = [value for event in events if isinstance(value := event.fields.get("ratio_after"), (int, float))]
    raised = f"; new_token_ratio was raised to {max(ratios):.2f}" if ratios else ""
    return Finding(
        id="retraction",
        title="Requests are retracted for want of KV",
        sentence=f"The KV pool ran full in decode: {_put_back(load.retracted)}{each}{full}; {whose} work is done twice.",
        axis="concurrency",
        confidence=confidence,
        since=events[0].at,
        evidence=(proof(f"retracted {often}{raised}", load.retractions_per_min), *(witness(event) for event in events[-3:])),
        ruled_out=(
            Ruled("kv-capacity", "the pool is not only full: it was given out to more requests than it can hold"),
            Ruled("reservation", "more was given out than fits, so too little is held back, not too much"),
        )
        if sustained
        else (),
        fixes=("conservativeness", "cap-max-new-tokens", "max-running-requests", "raise-fraction"),
        advice=(
            *_calmer(context),
            "Have clients send max_tokens: without it the ratio is set from the whole context and cannot correct itself.",
            (
                'A running server can be calmed: curl -X POST http://HOST:PORT/set_internal_state -H "Content-Type: application/json" '
                '-d \'{"server_args": {"pp_max_micro_batch_size": N}}\', with N below the running requests of now.'
            ),
        ),
        verify=("no Retract line in 15 minutes at the same demand; running is lower and steadier",),
        pictures=(
            Picture(
                "retractions",
                "How often requests lose their KV and are computed again.",
                (Level(most, f"a limit from {most:g} a minute"),),
            ),
            Picture("usage", "It comes with the pool running full."),
        ),
    )


def _put_back(requests: int) -> str:
    return "1 request was put back" if requests == 1 else f"{requests:,} requests were put back"


def _calmer(context: Context) -> tuple[str, ...]:
    """Which way the conservativeness goes, with the value that the option has too."""
    today = context.conservativeness
    higher = calmer(today)
    if higher is None:
        return (f"--schedule-conservativeness is {today:g} already; lowering it would retract more.",)
    return (
        f"Raise --schedule-conservativeness from {today:g} to {higher:g}: more is held back, so fewer are put back; never lower it here.",
    )
