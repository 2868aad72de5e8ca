"""The series that prove a verdict, with the levels that decided it: what a page draws beside the words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Signal = Literal[
    "load", "usage", "prefill-share", "rates", "step", "accept-length", "graph", "hits", "retractions", "rank-rates", "rank-queues",
    "prealloc", "transfer", "bootstrap", "inflight", "occupancy", "memory",
]  # fmt: skip
"""``load``: running and what waits above it, requests. ``usage``, ``prefill-share``, ``graph``, ``hits``: shares, 0 to 1.
``rates``: prompt and generated tokens a second. ``step``: seconds of one decode step. ``accept-length``: tokens a step and request.
``retractions``: requests put back a minute. ``rank-rates``, ``rank-queues``: tokens a second, waiting requests, of the ranks named.
The queues of disaggregation: requests. ``occupancy``: percent of the time that the GPU computes.
``memory`` is no series: the bars of the GPUs as they stand."""
SIGNALS: Final[tuple[Signal, ...]] = get_args(Signal)


@dataclass(frozen=True, slots=True)
class Level:
    """A value that a rule holds a series against, in the units of the series; of one data-parallel rank."""

    at: float
    text: str
    """What it is, in a few words: "full from 0.90"."""
    fault: bool = False
    """True for a hard end; else it is a mark to compare with."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One series and what to see in it."""

    signal: Signal
    seen: str
    """A sentence for somebody who sees such a chart for the first time."""
    levels: tuple[Level, ...] = ()
    ranks: tuple[int, ...] = ()
    """The data-parallel ranks that are compared; the first of them is the one that is judged."""
