"""How many requests of a size can run: the scheduler's admission rule as arithmetic.

A waiting request enters where its whole prompt and its answer, the answer counted at most ``CLIP_NEW_TOKENS``, fit beside
what runs and what is reserved for it: ``running x remaining x ratio`` (SGLang ``managers/schedule_policy.py``, 0.4.6 to
0.5.23; facts/diagnoses.md 0.1 and 7). The scheduler looks again only when a request finishes, so running stays
anywhere in a band.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

CLIP_NEW_TOKENS: Final = 4096
"""Most of an answer that admission charges (``SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION``)."""
RATIO_INIT: Final = 0.7
"""``new_token_ratio`` at the start and after an idle gap, at conservativeness 1."""
RATIO_FLOOR_SHARE: Final = 0.14
"""The floor as a share of the start value; reached after 600 decode steps."""
RATIO_SEEN_HIGH: Final = 0.5
"""Up to where the ratio was met in life, idle gaps and retractions included (facts/diagnoses.md 7)."""
DP_ATTENTION_FACTOR: Final = 0.3
"""DP attention multiplies the conservativeness with this (0.5.9 ``server_args.py``)."""


CONSERVATIVENESS: Final = 1.0
"""``schedule_conservativeness`` where nobody sets it."""
BOLDER: Final = 0.3
"""What it is lowered to where the reservation limits (facts/diagnoses.md V3)."""
CALMER: Final = 1.3
"""What it is raised to where requests are retracted (facts/diagnoses.md V8)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is only known to lie between two."""

    low: float
    high: float
    basis: str
    """Where the two ends come from; one clause."""

    @property
    def mid(self) -> float:
        """Half way."""
        return (self.low + self.high) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Band:
    """Running requests that admission can hold, of one data-parallel rank; fractions are meant.

    ``low`` and ``high`` follow from the pool alone; the running cap is beside them, so that a view can draw both.
    """

    low: float
    high: float
    running_cap: int | None
    usage_low: float
    """Share of the pool in use at the low end, 0 to 1."""
    usage_high: float
    charge: Interval
    """``c``: pool tokens that one running request takes, its reservation included."""
    reserved: Interval
    """Share of ``c`` that is reservation, 0 to 1."""
    basis: str

    @property
    def capped(self) -> bool:
        """True where the running cap holds below the pool's low end."""
        return self.running_cap is not None and self.running_cap <= self.low


def admission_band(
    *,
    pool: int,
    resident: float,
    need: Interval,
    ratio: Interval,
    remaining: Interval,
    running_cap: int | None,
) -> Band:
    """The band ``1 + (P - 2 need)/c`` to ``1 + (P - need)/c`` with ``c = m + ratio x remaining`` (facts/diagnoses.md 7).

    ``pool``: tokens of one rank. ``resident``: ``m``, tokens a running request holds. ``need``: tokens charged for a
    candidate (uncached prompt and clipped answer). ``remaining``: mean clipped tokens a running request may still
    generate. Each end takes the interval ends that are worst and best for it.
    Raises ValueError where ``pool`` or ``resident`` is not positive and finite.
    """
    if not (pool > 0 and resident > 0 and math.isfinite(resident)):
        raise ValueError("pool and resident tokens must be positive")
    charge = Interval(resident + ratio.low * remaining.low, resident + ratio.high * remaining.high, "m + ratio x remaining")
    low = _floor_of_band(1 + (pool - 2 * need.high) / charge.high, pool, need.high)
    high = max(low, _floor_of_band(1 + (pool - need.low) / charge.low, pool, need.low))
    return Band(
        low=low,
        high=high,
        running_cap=running_cap,
        usage_low=min(1.0, low * resident / pool),
        usage_high=min(1.0, high * resident / pool),
        charge=charge,
        reserved=Interval(
            reservation_share(resident=resident, ratio=ratio.low, remaining=remaining.low),
            reservation_share(resident=resident, ratio=ratio.high, remaining=remaining.high),
            "ratio x remaining over m + ratio x remaining",
        ),
        basis=f"need: {need.basis}; ratio: {ratio.basis}; remaining: {remaining.basis}",
    )


def _floor_of_band(value: float, pool: int, need: float) -> float:
    """One request always runs where it fits an empty pool at all, and none where it does not."""
    return max(value, 1.0) if need <= pool else 0.0


def reservation_share(*, resident: float, ratio: float, remaining: float) -> float:
    """Share of a running request's charge that is reserved and not used, 0 to 1; 0 where nothing is charged."""
    charge = resident + ratio * remaining
    return ratio * remaining / charge if charge > 0 else 0.0


def fits(pool: float, size: float) -> float:
    """Requests of ``size`` tokens that a pool holds, reservation left out; 0 where the size is not positive."""
    return pool / size if size > 0 else 0.0


def ratio_interval(
    *,
    conservativeness: float | None,
    dp_attention: bool,
    after_retraction: float | None = None,
) -> Interval:
    """What ``new_token_ratio`` may be when no one reports it.

    ``conservativeness``: ``schedule_conservativeness`` as set, None where unset (1.0). ``dp_attention`` scales it by 0.3.
    ``after_retraction``: the highest ratio that a retraction line of the window set; it decays from there.
    """
    asked = 1.0 if conservativeness is None or not 0 <= conservativeness < 100 else conservativeness
    scale = asked * (DP_ATTENTION_FACTOR if dp_attention else 1.0)
    start = min(RATIO_INIT * scale, 1.0)
    floor = start * RATIO_FLOOR_SHARE
    high = max(floor, min(RATIO_SEEN_HIGH, start))
    told = f"conservativeness {scale:g}: floor {floor:.3f}, start {start:.2f}"
    if after_retraction is not None and math.isfinite(after_retraction) and after_retraction > high:
        return Interval(floor, min(1.0, after_retraction), f"{told}; a retraction raised it to {after_retraction:.2f}")
    return Interval(floor, high, told)


def calmer(today: float) -> float | None:
    """What to raise ``schedule_conservativeness`` to where requests are retracted; None where it is as high already."""
    higher = CALMER if today >= CONSERVATIVENESS else CONSERVATIVENESS
    return higher if today < higher else None


def bolder(today: float) -> float | None:
    """What to lower ``schedule_conservativeness`` to where the reservation limits; None where it is as low already."""
    return BOLDER if today > BOLDER else None


def need_interval(*, prompt: float, output: float | None, max_new: float | None = None, context_len: int | None = None) -> Interval:
    """Tokens admission charges for a candidate: uncached prompt and answer, the answer clipped.

    ``output``: mean answer where known, a lower bound of what clients ask for. ``max_new``: what clients ask for, where known.
    """
    if max_new is not None:
        charge = prompt + min(max_new, CLIP_NEW_TOKENS)
        return Interval(charge, charge, "prompt and stated max_new_tokens")
    room = CLIP_NEW_TOKENS if context_len is None else max(1.0, min(CLIP_NEW_TOKENS, context_len - prompt))
    low = min(room, max(1.0, output or 1.0))
    return Interval(prompt + low, prompt + room, f"max_new_tokens is not in the log: {low:,.0f} to {room:,.0f}")


def remaining_interval(*, output: float | None, max_new: float | None = None, context_len: int | None = None) -> Interval:
    """Mean clipped tokens that a running request may still generate (half its answer is done, on average)."""
    done = (output or 0.0) / 2
    if max_new is not None:
        left = min(CLIP_NEW_TOKENS, max(0.0, max_new - done))
        return Interval(left, left, "stated max_new_tokens less half an answer")
    room = CLIP_NEW_TOKENS if context_len is None else min(CLIP_NEW_TOKENS, max(1, context_len))
    return Interval(min(done, room), float(room), "max_new_tokens is not in the log: from the answers seen to the clip")
