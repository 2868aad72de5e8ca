"""Decode ticks that are fit to learn step times from; the others and why they are left out.

A decode line reports tokens over the wall time since the previous such line of its rank, so a tick
with prefill, an idle gap or a changing batch in it does not tell the step time (facts/diagnoses.md 0.3, 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kvtui.domain.samples import DECODE, PREFILL, Timeline
from kvtui.domain.throughput import StepSample

KEPT: Final = 2_000
"""Newest clean samples that are kept; more add nothing and cost time."""
_CHANGE: Final = 0.10
_NAMES: Final = ("kind", "dp", "running", "gen_tput", "graph", "accept_len")


@dataclass(slots=True)
class _Last:
    """What the previous line of a rank said."""

    running: float = math.nan
    accept: float = math.nan
    clean: bool = False
    """False: a prefill or an idle tick came since, so the next tick is not clean."""


def clean_samples(timeline: Timeline) -> tuple[StepSample, ...]:
    """Clean ticks in order, at most the newest ``KEPT``; R is per data-parallel rank.

    Left out: a prefill line since the last tick, no CUDA graph where others have one, a batch or an accept length that changed by more
    than 10 %, the first tick after a start or an idle gap. With speculation a step yields ``accept_len`` tokens a request.
    """
    return tuple(_clean(timeline))[-KEPT:]


def _clean(timeline: Timeline) -> Iterator[StepSample]:
    last: dict[float, _Last] = {}
    # A server that never uses graphs is consistent with itself; one that does steps differently without them.
    mixed = 1.0 in timeline.column("graph")
    for kind, rank, running, tput, graph, accept in zip(*(timeline.column(name) for name in _NAMES), strict=True):
        state = last.setdefault(rank, _Last())
        if kind == PREFILL:
            state.clean = False
            continue
        if kind != DECODE:
            continue
        steady = _near(running, state.running) and (_near(accept, state.accept) or (math.isnan(accept) and math.isnan(state.accept)))
        if state.clean and steady and not (mixed and graph == 0) and running > 0 and tput > 0:
            tokens = accept if accept > 1 else 1.0
            yield StepSample(running, running * tokens / tput)
        state.running, state.accept = running, accept
        state.clean = running > 0 and tput > 0


def _near(value: float, before: float) -> bool:
    """True where both are known and differ by at most a tenth."""
    return abs(value - before) <= _CHANGE * before
