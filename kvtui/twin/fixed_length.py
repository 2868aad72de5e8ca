"""Admission of requests that ignore EOS where the radix cache is off: a look ahead to the end of every request."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.twin.batch import Live


def fits_to_the_end(newcomer: Live, others: Sequence[tuple[Live, int]], ratio: float, free: float) -> bool:
    """Whether the newcomer can run beside the others until each has ended, one after the other.

    ``others`` are requests and the tokens they have produced, ``free`` the pool's tokens once the newcomer's prompt
    is written. Follows ``PrefillAdder.add_one_req_ignore_eos`` (0.5.9 and 0.5.23 ``managers/schedule_policy.py``):
    fixed lengths count in full, others with the reservation; one token a request is kept back.
    """
    ends = []
    for live, produced in [(newcomer, newcomer.produced), *others]:
        left = live.max_new * (1.0 if live.asked.ignore_eos else ratio) - produced
        if left > 0:
            ends.append((left, live.asked.prompt + produced))
    ends.sort(key=lambda end: end[0])
    freed = 0
    for index, (left, held) in enumerate(ends):
        beside = len(ends) - index
        if free + freed - left * beside <= beside:
            return False
        freed += held
    return True
