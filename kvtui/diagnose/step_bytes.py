"""What one decode step reads from memory, and what share of the peak bandwidth that is (facts/diagnoses.md 3.3).

Only where the model's geometry is known: a default would make a wrong number. Routing is taken as even, so a mixture of
experts reads somewhat less in life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.diagnose.context import Context, read
from kvtui.diagnose.machine import bandwidth, step_of
from kvtui.domain import roofline
from kvtui.domain.picture import Level, Picture
from kvtui.domain.reading import Known, Missing

_IMPOSSIBLE: Final = 1.05
"""More than the peak: then an input is wrong, and nothing is told."""


@dataclass(frozen=True, slots=True)
class StepBytes:
    """Bytes that one GPU reads in one decode step of the busiest rank."""

    weights: float
    kv: float

    @property
    def total(self) -> float:
        """Weights and KV together."""
        return self.weights + self.kv

    @property
    def kv_share(self) -> float:
        """Share of KV, 0 to 1."""
        return self.kv / self.total if self.total else 0.0


def step_bytes(context: Context) -> StepBytes | Missing:
    """The byte budget of one step, or why it cannot be told."""
    model, rank = roofline.decode_model(context.account), context.rank
    if isinstance(model, Missing):
        return model
    running, resident = (read(rank.running), read(rank.resident)) if rank is not None else (None, None)
    if running is None or resident is None or running <= 0:
        return Missing("running requests and their size are unknown")
    verified = _verified(context)
    total = roofline.step_bytes(model, running, resident, verified=verified)
    weights = roofline.step_bytes(model, running, 0.0, verified=verified)
    return StepBytes(weights, total - weights)


def _verified(context: Context) -> float:
    """Tokens a request computes in a step: 1, or the draft tokens to verify."""
    if read(context.workload.accept_len) is None or context.boot is None:
        return 1.0
    return max(1.0, min(1e3, context.boot.number("speculative_num_draft_tokens") or 1.0))


def step_picture(least_s: float, share: float, seen: str, limit: str) -> Picture:
    """The step beside what its bytes take: at the full bandwidth (``least_s`` seconds), and at the ``share`` of it that decides."""
    return Picture(
        "step",
        seen,
        (
            Level(least_s / share, f"{limit} below {least_s / share * 1000:.1f} ms"),
            Level(least_s, f"its bytes at full speed {least_s * 1000:.1f} ms"),
        ),
    )


def efficiency(context: Context) -> Known[float] | Missing:
    """``eta``: bytes of a step over what the memory could deliver in its time, 0 to 1."""
    budget, peak, step = step_bytes(context), bandwidth(context), step_of(context)
    if isinstance(budget, Missing):
        return budget
    if isinstance(peak, Missing):
        return peak
    if step is None or step <= 0:
        return Missing("the time of a decode step is unknown")
    eta = budget.total / (step * peak.value)
    if not 0 < eta <= _IMPOSSIBLE:
        return Missing(f"the byte estimate gives {eta:.0%} of the peak bandwidth, so an input of it is wrong")
    return Known(eta, peak.at, peak.where)
