"""What one scheduler publishes: gauges as they stood at its last tick, and counters."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

TTFT_EDGES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0)
ITL_EDGES: Final = (0.002, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.8, 2.0, 4.0, 8.0)
E2E_EDGES: Final = (0.1, 0.4, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 600.0, 1200.0, 2400.0)
QUEUE_EDGES: Final = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3000.0)


class Histogram:
    """Counts by bucket, as Prometheus has them."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.total = 0.0
        self.count = 0
        self._counts = [0] * (len(edges) + 1)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value, several times over."""
        self._counts[bisect_left(self.edges, value)] += times
        self.total += value * times
        self.count += times

    def cumulative(self) -> list[tuple[str, int]]:
        """Bucket edge and count up to it, ``+Inf`` last."""
        found, seen = [], 0
        for edge, count in zip((*map(str, self.edges), "+Inf"), self._counts, strict=True):
            seen += count
            found.append((edge, seen))
        return found


@dataclass(slots=True)
class Gauges:
    """One data-parallel rank. Tokens and requests; gauges keep the value of the last tick, counters run on."""

    running: int = 0
    queued: int = 0
    used: int = 0
    usage: float = 0.0
    tput: float = 0.0
    ratio: float = 0.7
    decode_ticked: bool = False
    """True: the last tick was of a decode batch."""
    accept_len: float = 0.0
    graph: bool = False
    occupancy: float | None = None
    decode_tokens: float = 0.0
    prefill_tokens: float = 0.0
    cached_tokens: float = 0.0
    prefill_busy_s: float = 0.0
    graph_passes: int = 0
    eager_passes: int = 0
    retracted: int = 0
    retracted_input: int = 0
    retracted_output: int = 0
    stamp: float = 0.0
    """Seconds since the epoch of the last snapshot for ``/v1/loads``."""
    queue_time: Histogram = field(default_factory=lambda: Histogram(QUEUE_EDGES))


@dataclass(slots=True)
class Totals:
    """What the tokenizer counts, over all ranks."""

    requests: int = 0
    aborted: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    cached_tokens: int = 0
    ttft: Histogram = field(default_factory=lambda: Histogram(TTFT_EDGES))
    itl: Histogram = field(default_factory=lambda: Histogram(ITL_EDGES))
    e2e: Histogram = field(default_factory=lambda: Histogram(E2E_EDGES))
