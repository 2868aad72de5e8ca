"""V20: one long request at the head of the queue holds the small ones behind it."""

from __future__ import annotations

import itertools

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.pressure import prefill_bound
from kvtui.diagnose.registry import rule
from kvtui.domain.batches import RankLoad
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.samples import DECODE

_DRAINED = 0.25
_LARGE_SHARE = 0.2
_LARGE_TIMES = 5
_PEAK = 4
_QUEUES = 0.05
_GROWN = 0.9
"""Share of the peak that has to run once before few of them are a fall."""
_HELD = 2
"""Samples that must show free tokens, few running and a queue at once."""


@rule("head-of-line")
def head_of_line(context: Context) -> Finding | None:
    """Running falls to half of its peak while requests wait, and a prompt above 20% of the pool or 5 m was seen (V20)."""
    rank, load = context.rank, context.workload
    if rank is None or not context.loaded or load.retractions:
        return None
    if context.sampled:
        return _by_free_tokens(context, rank)
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
        sentence=context.told(
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
        pictures=_pictures(peak),
    )


def _by_free_tokens(context: Context, rank: RankLoad) -> Finding | None:
    """Pages show no single prompt. That few run while tokens for several usual requests are free shows what the head needs."""
    pool, resident, peak = count(context.account.tokens_reported), read(context.workload.resident), read(rank.running_peak)
    prompt, output = read(context.workload.prompt) or 0.0, read(context.workload.output) or 0.0
    if pool is None or resident is None or peak is None or peak < _PEAK or prefill_bound(context):
        return None
    first = first_at(context)
    window = context.frame.timeline if first is None else context.frame.timeline.since(first)
    usual = max(_LARGE_TIMES * resident, prompt + output)
    rows = [i for i in window.where(DECODE) if window.value("dp", i) == rank.dp]
    # Few run, too, while a load begins: admission is timid after a rest, and no large request is needed to explain it.
    grown = itertools.dropwhile(lambda i: not window.value("running", i) >= _GROWN * peak, rows)
    waiting = [i for i in grown if window.value("queued", i) > 0]
    held = [i for i in waiting if window.value("running", i) <= peak / 2 and pool * (1 - window.value("usage", i)) >= usual]
    drained = read(rank.drained_share)
    queue = read(rank.queue_share) or 0.0
    if len(held) < _HELD or drained is None or drained < _DRAINED or len(held) < _DRAINED * len(waiting) or queue < _QUEUES:
        return None
    free = sum(pool * (1 - window.value("usage", i)) for i in held) / len(held)
    return Finding(
        id="head-of-line",
        title="One large request holds the queue",
        sentence=context.told(
            f"Requests wait while {free:,.0f} of {pool:,} tokens are free, enough for several of the usual {resident:,.0f}, and no more "
            f"than half of the peak of {peak:.0f} runs: the head of the queue needs more than is free."
        ),
        axis="concurrency",
        confidence="medium" if len(held) > _HELD else "low",
        since=first_at(context),
        evidence=(
            proof(f"half of the peak or less runs in {drained:.0%} of the queueing samples", rank.drained_share),
            Evidence(f"in {len(held)} of {len(waiting)} queueing samples {free:,.0f} tokens are free on average", "formula: P(1 − U)"),
        ),
        ruled_out=(
            Ruled("kv-capacity", "the pool is not full while they wait"),
            Ruled("running-cap", "less than half of the peak runs while they wait"),
            Ruled("retraction", "no request was put back"),
        ),
        fixes=("context-length", "raise-fraction"),
        advice=(
            "Route long prompts, and requests with a large max_tokens, to a server of their own, or refuse them with --context-length.",
            "--enable-priority-scheduling lets short requests pass.",
        ),
        verify=("running no longer falls while requests wait; the tail of time to first token shortens",),
        needs=("the log, or the lengths of the waiting requests: pages do not show a single prompt",),
        pictures=_pictures(peak),
    )


def _pictures(peak: float) -> tuple[Picture, ...]:
    return (
        Picture("load", "Running falls while requests wait above it, then jumps.", (Level(peak / 2, f"half of the peak, {peak / 2:.0f}"),)),
        Picture("usage", "The pool empties meanwhile: its tokens are kept for the one at the head."),
    )
