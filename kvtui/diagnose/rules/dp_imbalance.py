"""V14: one data-parallel rank queues or carries the load while others have room."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.batches import RankLoad
from kvtui.domain.finding import Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.rank_rows import mean

_IDLE_QUEUE = 0.05


@rule("dp-imbalance")
def dp_imbalance(context: Context) -> Finding | None:
    """The busiest rank generates more than ``dp_ratio`` times the mean, and queues while another has no queue (V14)."""
    ranks = context.workload.ranks
    if len(ranks) < 2 or not context.loaded or context.workload.decode_lines < 20:
        return None
    weights = [rank.generated_weight for rank in ranks]
    usual = mean(weights)
    busy, idle = max(ranks, key=lambda r: r.generated_weight), min(ranks, key=lambda r: r.generated_weight)
    most, queue, least = context.thresholds.dp_ratio, read(busy.queue_share) or 0.0, read(idle.queue_share) or 0.0
    if usual <= 0 or busy.generated_weight <= most * usual or queue < context.thresholds.queue_share or least > _IDLE_QUEUE:
        return None
    ratio = busy.generated_weight / usual
    return Finding(
        id="dp-imbalance",
        title="The data-parallel ranks are unevenly loaded",
        sentence=(
            f"DP{busy.dp} generates {ratio:.1f} times the mean of {len(ranks)} ranks and queues in {queue:.0%} of its lines, "
            f"while DP{idle.dp} has no queue."
        ),
        axis="concurrency",
        confidence=context.confidence,
        since=first_at(context),
        evidence=tuple(
            proof(
                f"DP{rank.dp}: running {read(rank.running) or 0:.1f}, queued {read(rank.queued) or 0:.1f}, "
                f"usage {read(rank.usage) or 0:.2f}",
                rank.running,
            )
            for rank in (busy, idle)
        ),
        ruled_out=(Ruled("kv-capacity", f"DP{idle.dp} has room: usage {read(idle.usage) or 0:.0%}"),),
        advice=(
            "Balance by load: --load-balance-method total_tokens (older releases: shortest_queue, minimum_tokens; see --help).",
            "If clients or a router pick the rank themselves, let the server pick, or use --router-dp-aware.",
        ),
        verify=(f"running of all ranks lies within {most:g} times their mean",),
        pictures=(
            Picture("rank-queues", f"Requests wait on DP{busy.dp}, none on DP{idle.dp}.", ranks=(busy.dp, idle.dp)),
            Picture("rank-rates", f"DP{busy.dp} generates more than its share.", _uneven_from(ranks, most), (busy.dp, idle.dp)),
        ),
    )


def _uneven_from(ranks: Sequence[RankLoad], most: float) -> tuple[Level, ...]:
    rates = [rate for rank in ranks if (rate := read(rank.gen_tput)) is not None]
    return (Level(most * mean(rates), f"uneven from {most:g} times the mean"),) if len(rates) == len(ranks) else ()
