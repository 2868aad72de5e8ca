"""Too little was seen to tell what limits the server."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import ENOUGH_S, ENOUGH_TICKS, Context, read
from kvtui.diagnose.pressure import prefill_doubt
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.healthy import healthy
from kvtui.domain.finding import Evidence, Finding
from kvtui.domain.units import duration

RECENT_S: Final = 60.0
"""Seconds for which a restart explains that little was seen."""


@rule("not-enough-data")
def not_enough_data(context: Context) -> Finding | None:
    """Given wherever "healthy" cannot be; the registry shows it only where no limit was found."""
    if healthy(context) is not None:
        return None
    unread = _unread(context)
    if unread is not None:
        return unread
    load = context.workload
    unit = "samples" if context.sampled else "lines"
    s = "" if context.told_by.endswith("s") else "s"
    young = _young(context)
    title = "Not enough data yet" if young is None else f"Not enough data: the server restarted {duration(young)} ago"
    if load.empty:
        seen, need = (
            f"{context.told_by} show{s} a start and no load",
            f"batch lines of {ENOUGH_S:.0f} seconds of load, at least {ENOUGH_TICKS} decode {unit}",
        )
        if context.boot is None or not context.boot.ranks:
            seen = f"{context.told_by} show{s} neither a whole start nor load"
    else:
        span = read(load.span_s)
        # rounded, a span just short of what is needed would read as enough
        told = f"over {duration(float(int(span)) if span < ENOUGH_S else span)}" if span is not None else "without times"
        told += " of the newest load" if context.changed_at is not None else ""
        seen = f"{context.told_by} show{s} {load.decode_lines} decode and {load.prefill_lines} prefill {unit} {told}, and no limit"
        need = f"{ENOUGH_S:.0f} seconds with at least {ENOUGH_TICKS} decode {unit}"
        rank = context.rank
        if span is not None and span >= ENOUGH_S and load.decode_lines >= ENOUGH_TICKS and rank is not None:
            title = "No limit stands out"
            peak = read(rank.usage_peak)
            seen += f": a queue stands in {read(rank.queue_share) or 0.0:.0%} of them"
            seen += f" and KV usage peaks at {peak:.0%}" if peak is not None else " and KV usage is not told"
            need = "a load that stays on one side: neither idle nor limited for most of the time"
    doubt = prefill_doubt(context)
    if doubt is not None and context.loaded:
        title = "Prefill may limit: its time is not told"
        seen = (
            f"{context.told_by} show{s} {doubt.weight:.1f} prompt tokens computed for each one generated, "
            f"which may take {doubt.low:.0%} to {doubt.high:.0%} of the time"
        )
        need = "the log, or /v1/loads of 0.5.15 and later, which counts the seconds of prefill"
    return Finding(
        id="not-enough-data",
        title=title,
        sentence=f"{seen}{';' if ': ' in seen else ':'} what limits it cannot be told yet; needs {need}.",
        axis="concurrency",
        confidence="low",
        evidence=(Evidence(seen),),
        needs=(need,),
    )


def _unread(context: Context) -> Finding | None:
    """Why there is nothing at all: the reason of the source that would have told most. None where something was read."""
    frame = context.frame
    answered = frame.http is not None and frame.http.answered
    if answered or not context.workload.empty or any(boot.last_line > 0 for boot in frame.boots):
        return None
    silent = [source for source in frame.sources if source.name in {"log", "metrics"} and source.reason]
    first = next((s for s in silent if s.state == "failed"), None) or next((s for s in silent if s.state == "waiting"), None)
    if first is None:
        return None
    return Finding(
        id="not-enough-data",
        title="Nothing could be read" if first.state == "failed" else "Nothing was read yet",
        sentence=first.reason if first.reason.endswith(".") else f"The {first.name} {first.reason}.",
        axis="concurrency",
        confidence="low",
        evidence=(Evidence(first.reason, first.target),),
        needs=("a log of SGLang's, or a server that answers",),
    )


def _young(context: Context) -> float | None:
    """Seconds since the server restarted, while that is why so little was seen; None else."""
    frame = context.frame
    begun = context.stamp(frame.http.restarted_at) if frame.http is not None else None
    boot = context.boot
    if begun is None and len(frame.boots) > 1 and boot is frame.boots[-1]:
        begun = boot.begun_at
    if frame.finished or begun is None or frame.now is None:
        return None
    return frame.now - begun if 0 <= frame.now - begun < RECENT_S else None
