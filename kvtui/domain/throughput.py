"""Tokens a second against running requests: the step-time line, its prior, its fit and what it predicts.

One decode step takes ``t = a + c x R`` for R running requests, so throughput is ``(1/c) x R / (R0 + R)``
with ``R0 = a / c``, the batch at which half of the asymptote is reached (facts/diagnoses.md 3.1 and 7).
A prediction is anchored at the server's own (R, tokens a second): only R0 comes from a prior or a fit.
R is per data-parallel rank; tokens a second may be the whole server's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.estimate import Range
from kvtui.domain.reading import Missing

Interconnect = Literal["pcie", "nvlink"]

REFUSE_BEYOND: Final = 4.0
"""Factor of running requests beyond which nothing is predicted."""
ROUGH_BEYOND: Final = 2.0
"""Factor beyond which a prediction is called rough."""
MIN_RUNNING: Final = 8.0
"""Smaller batches bend the line (facts/diagnoses.md 7)."""
MIN_SAMPLES: Final = 12
MIN_SPREAD: Final = 1.5
"""Largest over smallest R that tells slope from noise (facts/diagnoses.md 3.1)."""
_WIDEST: Final = 0.4
"""Widest span of the elasticity that is still worth more than a prior."""
_EDGE: Final = 3
"""Samples that must lie at either end of the spread, so that one outlier does not make it."""
_REPEAT: Final = math.log(1.1)
"""Repeats of one command on a live server differ by about this much (facts/diagnoses.md 7)."""
_UP: Final = 0.20
"""By how much a doubling came out better than predicted on SGLang (facts/diagnoses.md 3.2)."""
_DOWN: Final = 0.30
"""By how much it came out worse."""
_DOWN_COVERED: Final = 0.10
"""The same where captured graphs cover the new batch and speculation is off."""


@dataclass(frozen=True, slots=True)
class Curve:
    """R0 with its range, and where it comes from."""

    r0_low: float
    r0_mid: float
    r0_high: float
    basis: str
    samples: int = 0
    """Decode samples behind it; 0 for a prior."""
    running_low: float = 0.0
    running_high: float = 0.0
    """The batches that were fitted."""

    def elasticity(self, running: float) -> float:
        """``E``: the share of the step time that does not grow with the batch, 0 to 1."""
        return self.r0_mid / (self.r0_mid + running)


_ANCHORS: Final = (
    (1_500.0, 41.0, 59.0, 68.0),
    (8_500.0, 27.0, 30.0, 37.0),
    (32_000.0, 14.0, 22.0, 32.0),
    (64_000.0, 7.0, 11.0, 18.0),
)
"""Resident tokens a request and R0 low, middle, high: facts/diagnoses.md 7; above 8.5k the slopes of 3.2 hold the upper side."""
_SPECULATION: Final = (12.0, 18.0, 25.0)
_PCIE: Final = (30.0, 36.0, 97.0)


def prior(*, resident: float | None, speculation: bool, interconnect: Interconnect | None = None) -> Curve:
    """R0 of similar servers, where this one's samples do not tell it.

    ``resident``: mean tokens a running request holds; None takes the span of all contexts.
    Source: facts/diagnoses.md 7 (25 public sweeps).
    """
    if speculation:
        low, mid, high = _SPECULATION
        return Curve(low, mid, high, f"prior R0 {mid:.0f} ({low:.0f} … {high:.0f}): speculation on")
    if resident is None or not resident > 0:
        low, mid, high = (28.0, 43.0, 67.0)
        words = "context unknown"
    else:
        low, mid, high = _interpolate(resident)
        words = f"about {resident:,.0f} tokens a request"
    if interconnect == "pcie":
        low, mid, high = min(low, _PCIE[0]), math.sqrt(mid * _PCIE[1]), max(high, _PCIE[2])
        words += ", PCIe"
    return Curve(low, mid, high, f"prior R0 {mid:.0f} ({low:.0f} … {high:.0f}): {words}")


def _interpolate(resident: float) -> tuple[float, float, float]:
    """The anchors, straight between them in logarithms, level outside."""
    if resident <= _ANCHORS[0][0]:
        return _ANCHORS[0][1:]
    for (below, *lower), (above, *upper) in itertools.pairwise(_ANCHORS):
        if resident <= above:
            share = math.log(resident / below) / math.log(above / below)
            low, mid, high = (a * (b / a) ** share for a, b in zip(lower, upper, strict=True))
            return low, mid, high
    return _ANCHORS[-1][1:]


@dataclass(frozen=True, slots=True)
class StepSample:
    """One clean decode tick: running requests of a rank and seconds a step."""

    running: float
    step_s: float


def fit(samples: Sequence[StepSample], *, min_running: float = MIN_RUNNING) -> Curve | Missing:
    """R0 from this server's own decode ticks, or why they do not tell it.

    Weighted least squares (weights 1/t²), Huber, non-negative; only R at or above ``min_running`` and within
    two octaves of the largest, because nearer points predict better (facts/diagnoses.md 3.1, 3.2 and 7).
    """
    kept = [s for s in samples if _usable(s) and s.running >= min_running]
    if kept:
        top = max(s.running for s in kept)
        kept = [s for s in kept if s.running >= top / REFUSE_BEYOND]
    if len(kept) < MIN_SAMPLES:
        return Missing(f"{len(kept)} clean decode samples at {min_running:.0f} or more running; {MIN_SAMPLES} are needed")
    ordered = sorted(s.running for s in kept)
    low, high = ordered[_EDGE - 1], ordered[-_EDGE]
    if high < MIN_SPREAD * low:
        return Missing(f"running stayed between {ordered[0]:.0f} and {ordered[-1]:.0f}: too narrow to tell the slope")
    slope, spread, mean_running, mean_step = _line(kept)
    if slope - spread <= 0:
        return Missing("the step time does not grow clearly with the batch: noise or drift hides the slope")
    r0 = [max(0.0, mean_step / c - mean_running) for c in (slope + spread, slope, slope - spread)]
    if r0[2] / (r0[2] + mean_running) - r0[0] / (r0[0] + mean_running) > _WIDEST:
        return Missing("the samples leave the slope too uncertain to predict from")
    basis = f"fit of {len(kept)} samples, {ordered[0]:.0f} to {ordered[-1]:.0f} running"
    return Curve(r0[0], r0[1], r0[2], basis, len(kept), ordered[0], ordered[-1])


def _usable(sample: StepSample) -> bool:
    return math.isfinite(sample.running) and math.isfinite(sample.step_s) and sample.running > 0 and 0 < sample.step_s < 1e6


def _line(samples: Sequence[StepSample]) -> tuple[float, float, float, float]:
    """Slope, its 90 % half-width, weighted mean R and weighted mean t."""
    weights = [1 / s.step_s**2 for s in samples]
    factors = [1.0] * len(samples)
    slope = mean_r = mean_t = sxx = 0.0
    residuals = [0.0] * len(samples)
    for _ in range(12):
        both = [w * f for w, f in zip(weights, factors, strict=True)]
        total = sum(both)
        mean_r = sum(w * s.running for w, s in zip(both, samples, strict=True)) / total
        mean_t = sum(w * s.step_s for w, s in zip(both, samples, strict=True)) / total
        sxx = sum(w * (s.running - mean_r) ** 2 for w, s in zip(both, samples, strict=True))
        slope = sum(w * (s.running - mean_r) * (s.step_s - mean_t) for w, s in zip(both, samples, strict=True)) / sxx
        # A line through the origin is the steepest that a non-negative fixed part allows.
        slope = min(slope, mean_t / mean_r)
        residuals = [(s.step_s - mean_t - slope * (s.running - mean_r)) / s.step_s for s in samples]
        scale = 1.4826 * sorted(map(abs, residuals))[len(residuals) // 2] or 1e-9
        factors = [min(1.0, 1.345 * scale / abs(r)) if r else 1.0 for r in residuals]
    freedom = len(samples) - 2
    # Variance of a Huber estimate: mean square of the clipped residuals over the squared share left unclipped.
    unclipped = sum(f == 1 for f in factors) / len(factors)
    variance = sum((f * r) ** 2 for f, r in zip(factors, residuals, strict=True)) / freedom / max(unclipped, 0.1) ** 2
    sxx = sum(w * (s.running - mean_r) ** 2 for w, s in zip(weights, samples, strict=True))
    return slope, 1.645 * math.sqrt(variance / sxx * _inflation(residuals)), mean_r, mean_t


def _inflation(residuals: Sequence[float]) -> float:
    """How much neighbouring errors that resemble each other (drift) widen the interval."""
    square = sum(r * r for r in residuals)
    if square <= 0:
        return 1.0
    lag = sum(a * b for a, b in itertools.pairwise(residuals)) / square
    lag = min(0.95, max(0.0, lag))
    return (1 + lag) / (1 - lag)


def gain(running: float, to: float, r0: float) -> float:
    """Throughput at ``to`` running over that at ``running``."""
    return to / running * (r0 + running) / (r0 + to)


def predict(
    *, running: float, tok_s: float, to: float, curve: Curve, graphs_cover: bool = False, speculation: bool = False
) -> Range | Missing:
    """Tokens a second at ``to`` running requests, anchored at what was observed at ``running``.

    ``graphs_cover``: the captured CUDA graphs reach ``to``. The range joins the spread of R0, the error seen when a
    batch is doubled (facts/diagnoses.md 3.2: -30 … +20 % on SGLang) and the repeatability of a live server.
    Refuses beyond a factor of 4 either way. It never exceeds growth in proportion to the batch.
    """
    if not (0 < running < math.inf and 0 < to < math.inf and 0 < tok_s < math.inf):
        return Missing("no running requests or no throughput to start from")
    factor = max(to / running, running / to)
    if factor > REFUSE_BEYOND:
        return Missing(f"{to:.0f} running is {factor:.1f} times what was observed: no prediction beyond {REFUSE_BEYOND:.0f}")
    octaves = math.log2(factor)
    mid, *ends = (gain(running, to, r0) for r0 in (curve.r0_mid, curve.r0_low, curve.r0_high))
    down = _DOWN_COVERED if graphs_cover and not speculation else _DOWN
    noise = _REPEAT * min(1.0, 2 * octaves)
    below = math.hypot(math.log(mid / min(mid, *ends)), -math.log(1 - min(0.6, down * octaves)), noise)
    above = math.hypot(math.log(max(mid, *ends) / mid), math.log(1 + _UP * octaves), noise)
    low, high = mid * math.exp(-below), mid * math.exp(above)
    bound = max(to / running, 1.0)
    words = curve.basis if factor <= ROUGH_BEYOND else f"{curve.basis}; rough: {factor:.1f} times the batch observed"
    return Range(tok_s * low, tok_s * min(mid, bound), tok_s * min(high, bound), words)
