"""Too little was seen to tell what limits the server."""

from __future__ import annotations

from kvtui.diagnose.context import ENOUGH_S, ENOUGH_TICKS, Context, read
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.healthy import healthy
from kvtui.domain.finding import Evidence, Finding
from kvtui.domain.units import duration


@rule("not-enough-data")
def not_enough_data(context: Context) -> Finding | None:
    """Given wherever "healthy" cannot be; the registry shows it only where no limit was found."""
    if healthy(context) is not None:
        return None
    load = context.workload
    unit = "samples" if context.sampled else "lines"
    s = "" if context.told_by.endswith("s") else "s"
    title = "Not enough data yet"
    if load.empty:
        seen, need = (
            f"{context.told_by} show{s} a start and no load",
            f"batch lines of {ENOUGH_S:.0f} seconds of load, at least {ENOUGH_TICKS} decode {unit}",
        )
        if context.boot is None or not context.boot.ranks:
            seen = f"{context.told_by} show{s} neither a whole start nor load"
    else:
        span = read(load.span_s)
        told = f"over {duration(span)}" if span is not None else "without times"
        seen = f"{context.told_by} show{s} {load.decode_lines} decode and {load.prefill_lines} prefill {unit} {told}, and no limit"
        need = f"{ENOUGH_S:.0f} seconds with at least {ENOUGH_TICKS} decode {unit}"
        rank = context.rank
        if span is not None and span >= ENOUGH_S and load.decode_lines >= ENOUGH_TICKS and rank is not None:
            title = "No limit stands out"
            seen += (
                f": a queue stands in {read(rank.queue_share) or 0.0:.0%} of them and KV usage peaks at {read(rank.usage_peak) or 0.0:.0%}"
            )
            need = "a load that stays on one side: neither idle nor limited for most of the time"
    return Finding(
        id="not-enough-data",
        title=title,
        sentence=f"{seen}{';' if ': ' in seen else ':'} what limits it cannot be told yet; needs {need}.",
        axis="concurrency",
        confidence="low",
        evidence=(Evidence(seen),),
        needs=(need,),
    )
