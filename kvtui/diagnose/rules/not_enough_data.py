"""Too little was seen to tell what limits the server."""

from __future__ import annotations

from kvtui.diagnose.context import ENOUGH_S, ENOUGH_TICKS, Context, read
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.healthy import healthy
from kvtui.domain.finding import Evidence, Finding


@rule("not-enough-data")
def not_enough_data(context: Context) -> Finding | None:
    """Given wherever "healthy" cannot be; the registry shows it only where no limit was found."""
    if healthy(context) is not None:
        return None
    load = context.workload
    if load.empty:
        seen, need = (
            "The log shows a start and no load",
            f"batch lines of {ENOUGH_S:.0f} seconds of load, at least {ENOUGH_TICKS} decode lines",
        )
        if context.boot is None or not context.boot.ranks:
            seen = "The log shows neither a whole start nor load"
    else:
        span = read(load.span_s)
        told = f"over {span:.0f} seconds" if span is not None else "without times"
        seen = f"The log shows {load.decode_lines} decode and {load.prefill_lines} prefill lines {told}, and no limit"
        need = f"{ENOUGH_S:.0f} seconds with at least {ENOUGH_TICKS} decode lines"
    return Finding(
        id="not-enough-data",
        title="Not enough data yet",
        sentence=f"{seen}: what limits it cannot be told yet; needs {need}.",
        axis="concurrency",
        confidence="low",
        evidence=(Evidence(seen),),
        needs=(need,),
    )
