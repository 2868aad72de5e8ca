"""What was measured of a rank and of the whole server, for a simulation to be held against."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.options.context import OptionContext, finite


@dataclass(frozen=True, slots=True)
class Observed:
    """A rank, or the whole server, as it was seen; None where the log does not tell."""

    running: float | None
    queued: float | None
    tok_s: float | None
    usage: float | None
    retractions_per_min: float | None
    """Of the whole server."""


def seen_rank(context: OptionContext) -> Observed | None:
    """The rank that admission is judged by."""
    rank = context.workload.busiest
    if rank is None:
        return None
    return Observed(
        finite(rank.running), finite(rank.queued), finite(rank.gen_tput), finite(rank.usage), finite(context.workload.retractions_per_min)
    )


def seen_server(context: OptionContext) -> Observed | None:
    """All ranks together: figures of the server, and the usage of its fullest rank."""
    one, load = seen_rank(context), context.workload
    if one is None or context.replicas == 1:
        return one
    # Ranks that print nothing are not in the sums.
    share = context.replicas / len(load.ranks) if 0 < len(load.ranks) < context.replicas else 1.0
    running, queued, tok_s = (None if (value := finite(r)) is None else value * share for r in (load.running, load.queued, load.gen_tput))
    usage = max((value for rank in load.ranks if (value := finite(rank.usage)) is not None), default=None)
    return Observed(running, queued, tok_s, usage, finite(load.retractions_per_min))
