"""Decode ticks that are fit to learn step times from; the others and why they are left out.

A decode line reports tokens over the wall time since the previous such line of its rank, so a tick
with prefill, an idle gap or a changing batch in it does not tell the step time (facts/diagnoses.md 0.3, 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from kvtui.domain.reading import Missing
from kvtui.domain.samples import DECODE, PREFILL, Timeline
from kvtui.domain.throughput import Curve, StepSample, fit

KEPT: Final = 2_000
"""Newest clean samples that are kept; more add nothing and cost time."""
LOOKED_AT: Final = 2 * KEPT
"""Newest lines in which they are looked for: the history of a day takes no longer than that of an hour."""
_CHANGE: Final = 0.10
_NAMES: Final = ("kind", "dp", "running", "gen_tput", "graph", "accept_len")


_UNKNOWN: Final = (math.nan, math.nan, False)


class _Same:
    """A stretch of samples as a key: stretches of one store are the same where they begin and end alike."""

    __slots__ = ("timeline",)

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return NotImplemented
        one, two = self.timeline, other.timeline
        return one.columns is two.columns and (one.start, one.stop) == (two.start, two.stop)

    def __hash__(self) -> int:
        return hash((id(self.timeline.columns), self.timeline.start, self.timeline.stop))


def step_curve(timeline: Timeline) -> Curve | Missing:
    """``fit`` of the clean samples; rules and levers ask for it several times in one judgement."""
    return _curve(_Same(timeline))


@lru_cache(maxsize=2)
def _curve(of: _Same) -> Curve | Missing:
    return fit(clean_samples(of.timeline))


def clean_samples(timeline: Timeline) -> tuple[StepSample, ...]:
    """Clean ticks in order, at most the newest ``KEPT`` of the newest ``LOOKED_AT`` lines; R is per data-parallel rank.

    Left out: a prefill line since the last tick, no CUDA graph where others have one, a batch or an accept length that changed by more
    than 10 %, the first tick after a start or an idle gap. With speculation a step yields ``accept_len`` tokens a request.
    """
    return tuple(_clean(timeline.slice(len(timeline) - LOOKED_AT, len(timeline))))[-KEPT:]


def _clean(timeline: Timeline) -> Iterator[StepSample]:
    last: dict[float, tuple[float, float, bool]] = {}
    # A server that never uses graphs is consistent with itself; one that does steps differently without them.
    mixed = 1.0 in timeline.column("graph")
    for kind, rank, running, tput, graph, accept in zip(*(timeline.column(name) for name in _NAMES), strict=True):
        # What the line before of this rank said; not clean: a prefill or an idle tick came since.
        before, gain, clean = last.get(rank, _UNKNOWN)
        if kind == PREFILL:
            last[rank] = (before, gain, False)
        elif kind == DECODE:
            works = running > 0 and tput > 0
            last[rank] = (running, accept, works)
            if not (clean and works) or (mixed and graph == 0) or not abs(running - before) <= _CHANGE * before:
                continue
            if abs(accept - gain) <= _CHANGE * gain or (math.isnan(accept) and math.isnan(gain)):
                yield StepSample(running, running * (accept if accept > 1 else 1.0) / tput)
