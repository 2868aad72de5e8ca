"""When a decode step can be judged at all."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import ENOUGH_TICKS, Context, read
from kvtui.domain.reading import Missing

FEW: Final = 4.0
"""Running requests below which the step says more of latency than of a limit."""
LITTLE_PREFILL: Final = 0.25
_WITH_GRAPH: Final = 0.5


def decoding(context: Context) -> bool:
    """True where steady decode was seen: enough samples and requests, little prefill, CUDA graphs where they are told."""
    rank = context.rank
    if rank is None or not context.loaded or rank.decode_lines < ENOUGH_TICKS or context.confidence == "low":
        return False
    share, graphs = read(rank.prefill_share), graph_share(context)
    little = share is None or share < LITTLE_PREFILL or read(rank.pure_step_s) is not None
    return (read(rank.running) or 0.0) >= FEW and little and (graphs is None or graphs >= _WITH_GRAPH)


def graph_share(context: Context) -> float | None:
    """Share of decode passes that ran as a CUDA graph; None where nothing tells.

    On a page the gauge is of the last pass, which may have been a prefill; there only the counters tell.
    """
    if not context.sampled:
        return read(context.rank.graph_share) if context.rank is not None else None
    rates = context.frame.http.rates if context.frame.http is not None else None
    return read(rates.graph_share) if rates is not None and not isinstance(rates, Missing) else None
