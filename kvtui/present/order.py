"""The order of options that a person is reading: it changes for a reason that can be seen, not for the third digit of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtui.domain.estimate import Estimate

MARGIN: Final = 0.05
"""Ranks are shares of today's throughput: a gain that is not this much larger does not pass the row above it."""


def steady(before: Sequence[Estimate], now: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """``now`` (best first) in the order of ``before``, each moved only past rows that it beats by more than ``MARGIN``.

    What begins or ceases to apply moves at once; what is new stands where its rank puts it.
    """
    place = {estimate.id: number for number, estimate in enumerate(before)}
    if [estimate.id for estimate in now] == list(place):
        return now
    order: list[Estimate] = sorted((e for e in now if e.id in place), key=lambda estimate: place[estimate.id])
    for number in range(1, len(order)):
        at = number
        while at and _passes(order[at], order[at - 1]):
            order[at - 1], order[at] = order[at], order[at - 1]
            at -= 1
    for estimate in now:
        if estimate.id not in place:
            order.insert(next((n for n, other in enumerate(order) if _above(estimate, other)), len(order)), estimate)
    return tuple(order) if order != list(now) else now


def _above(one: Estimate, other: Estimate) -> bool:
    return (one.applies, one.rank) > (other.applies, other.rank)


def _passes(one: Estimate, other: Estimate) -> bool:
    if one.applies != other.applies:
        return one.applies
    return one.rank > other.rank + MARGIN
