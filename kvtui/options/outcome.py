"""What a played case comes to, and the sum of several ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over the seeds: least, mean, most. nan where there was nothing to measure."""

    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case comes to."""

    running: Spread
    queued: Spread
    wait_s: Spread
    """Mean seconds from arrival to the first prefill pass."""
    wait_p90_s: Spread
    latency_s: Spread
    """Mean seconds from arrival to the last token."""
    tok_s: Spread
    stream_tok_s: Spread
    usage: Spread
    """Share of the pool in use; of several ranks the fullest one's."""
    retractions_per_min: Spread
    requests: int
    """Requests that ended in the counted stretch, all seeds together."""
    seconds: float
    """Simulated seconds that were counted, of one seed."""


def spread_of(values: Iterable[float]) -> Spread:
    """Least, mean and most of what is a number."""
    known = [value for value in values if math.isfinite(value)]
    return Spread(min(known), sum(known) / len(known), max(known)) if known else Spread(math.nan, math.nan, math.nan)


def together(parts: Sequence[tuple[Outcome, float]]) -> Outcome:
    """Several ranks as one server: each outcome with the number of ranks that it stands for.

    Counts and rates add up; waits are means over requests (by throughput), the wait of nine in ten is the worst rank's.
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    by_tokens = [(outcome, ranks * outcome.tok_s.mean) for outcome, ranks in parts]
    by_streams = [(outcome, ranks * outcome.running.mean) for outcome, ranks in parts]
    return Outcome(
        running=_sum((o.running, n) for o, n in parts),
        queued=_sum((o.queued, n) for o, n in parts),
        wait_s=_mean((o.wait_s, n) for o, n in by_tokens),
        wait_p90_s=max((o.wait_p90_s for o, _ in parts), key=_size),
        latency_s=_mean((o.latency_s, n) for o, n in by_tokens),
        tok_s=_sum((o.tok_s, n) for o, n in parts),
        stream_tok_s=_mean((o.stream_tok_s, n) for o, n in by_streams),
        usage=max((o.usage for o, _ in parts), key=_size),
        retractions_per_min=_sum((o.retractions_per_min, n) for o, n in parts),
        requests=round(sum(o.requests * n for o, n in parts)),
        seconds=min(o.seconds for o, _ in parts),
    )


def _size(spread: Spread) -> float:
    return spread.mean if math.isfinite(spread.mean) else -math.inf


def _sum(parts: Iterable[tuple[Spread, float]]) -> Spread:
    found = list(parts)
    return Spread(*(sum(getattr(spread, end) * n for spread, n in found) for end in ("low", "mean", "high")))


def _mean(parts: Iterable[tuple[Spread, float]]) -> Spread:
    """Weighted; what has no figure has no weight."""
    found = [(spread, n) for spread, n in parts if math.isfinite(spread.mean) and math.isfinite(n) and n > 0]
    whole = sum(n for _, n in found)
    if not whole:
        return Spread(math.nan, math.nan, math.nan)
    return Spread(*(sum(getattr(spread, end) * n for spread, n in found) / whole for end in ("low", "mean", "high")))
