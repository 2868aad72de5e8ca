"""How far ``mem_fraction_static`` should come down where memory outside the pool is short: one number for verdict and option."""

from __future__ import annotations

import math
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.boot import Boot
from kvtui.domain.reading import Known
from kvtui.domain.what_if import headroom_at

STEP: Final = 0.02
"""What facts/diagnoses.md V24 gives back at least."""
RED_GIB: Final = 2.0
"""Headroom below which a long prompt is likely to run out of memory (facts/diagnoses.md V24)."""
SPARE_GIB: Final = 3.0
"""What graphs and activations want besides the pool."""
LOWEST: Final = 0.05


def lowered_fraction(account: Account) -> float | None:
    """0.02 less, or as much as brings the headroom to 2 GiB; on hundredths. None where today's fraction is unknown."""
    today = _today(account)
    if today is None:
        return None
    chosen = round(math.ceil((today - STEP) * 100 - 1e-6) / 100, 2)
    while chosen > LOWEST:
        left = headroom_at(account, chosen)
        if not isinstance(left, Known) or left.value >= RED_GIB:
            break
        chosen = round(chosen - 0.01, 2)
    return max(chosen, LOWEST)


def fraction_to_start(account: Account, boot: Boot | None) -> float | None:
    """For a start that ran out of memory: 0.02 less, or as much as leaves 3 GiB where the capture of graphs began.

    On hundredths. None where the fraction or free memory before the weights is unknown.
    """
    today = _today(account)
    if today is None or not isinstance(account.pre_gib, Known) or account.pre_gib.value <= 0:
        return None
    left, change = free_at_capture(boot), STEP
    if left is not None:
        change = max(STEP, math.ceil((SPARE_GIB - left) / account.pre_gib.value * 100) / 100)
    return max(round(today - change, 2), LOWEST)


def free_at_capture(boot: Boot | None) -> float | None:
    """GiB that were free when the capture of CUDA graphs began, on the tightest rank; None where no line tells."""
    captures = [capture for memory in boot.ranks for capture in memory.captures] if boot is not None else []
    return min((capture.begin_gib.value for capture in captures if isinstance(capture.begin_gib, Known)), default=None)


def _today(account: Account) -> float | None:
    return account.fraction.value if isinstance(account.fraction, Known) and 0 < account.fraction.value < 1 else None
