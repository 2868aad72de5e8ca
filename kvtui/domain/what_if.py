"""The pool at another ``mem_fraction_static``, anchored at what the server reports.

The law is linear in the fraction: every 0.01 adds ``pre / 100``, whatever is left of it
(facts/diagnoses.md 0.2). So the change is computed from ``pre`` alone and added to the reported
pool; nothing that the log rounds in ``post`` enters.
"""

from __future__ import annotations

import math

from kvtui.domain.account import Account, WhatIf
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.units import GIB

FORMULA = Where("formula", "reported pool + pre x change of fraction / cell")


def _missing(account: Account) -> Missing | None:
    for name, reading in (
        ("the pool", account.tokens_reported),
        ("free before weights", account.pre_gib),
        ("the fraction", account.fraction),
        ("bytes per token", account.divisor_bytes),
    ):
        if isinstance(reading, Missing):
            return Missing(f"{name} is unknown: {reading.reason}")
        if not math.isfinite(reading.value) or reading.value <= 0:
            return Missing(f"{name} is not a number to compute with")
    return None


def tokens_at(account: Account, fraction: float) -> Reading[int]:
    """Pool tokens at ``fraction``: 0 where the weights would leave nothing; Missing where an input is."""
    missing = _missing(account)
    if missing is not None:
        return missing
    reported, pre = account.tokens_reported, account.pre_gib
    today, cell = account.fraction, account.divisor_bytes
    if not (isinstance(reported, Known) and isinstance(pre, Known) and isinstance(today, Known) and isinstance(cell, Known)):
        return Missing("an input is unknown")
    if fraction == today.value:
        return Known(reported.value, None, FORMULA)
    if is_capped(account) and fraction > today.value:
        return Known(reported.value, None, Where("formula", "max_total_tokens caps the pool"))
    base = uncapped(account) if is_capped(account) else Known(float(reported.value))
    if isinstance(base, Missing):
        return base
    change = pre.value * (fraction - today.value) * account.kv_share * GIB / cell.value
    page = account.identity.page_size.value if isinstance(account.identity.page_size, Known) else 1
    tokens = max(0, math.floor((base.value + change) / page) * page)
    if isinstance(account.cap_tokens, Known):
        tokens = min(tokens, account.cap_tokens.value)
    return Known(tokens, None, FORMULA)


def is_capped(account: Account) -> bool:
    """True where ``max_total_tokens`` decides the pool."""
    cap, reported = account.cap_tokens, account.tokens_reported
    return isinstance(cap, Known) and isinstance(reported, Known) and reported.value >= cap.value - _page(account)


def _page(account: Account) -> int:
    return account.identity.page_size.value if isinstance(account.identity.page_size, Known) else 1


def uncapped(account: Account) -> Reading[float]:
    """What the formula gives without the cap, in tokens."""
    if isinstance(account.rest_gib, Known) and isinstance(account.divisor_bytes, Known):
        return Known(account.rest_gib.value * GIB / account.divisor_bytes.value, None, Where("formula", "rest / cell"))
    return Missing("a cap decides the pool, and the formula's own figure is unknown")


def headroom_at(account: Account, fraction: float) -> Reading[float]:
    """Today's headroom minus ``pre x change of fraction``, GiB (DESIGN.md section 1)."""
    if isinstance(account.headroom_gib, Missing):
        return account.headroom_gib
    if not isinstance(account.pre_gib, Known) or not isinstance(account.fraction, Known):
        return Missing("free before weights or the fraction is unknown")
    change = account.pre_gib.value * (fraction - account.fraction.value)
    if is_capped(account):
        tokens = tokens_at(account, fraction)
        if isinstance(tokens, Known) and isinstance(account.tokens_reported, Known) and isinstance(account.divisor_bytes, Known):
            change = (tokens.value - account.tokens_reported.value) * account.divisor_bytes.value / GIB
    return Known(account.headroom_gib.value - change, None, Where("formula", "headroom today - pre x change of fraction"))


def what_if(account: Account, fraction: float) -> WhatIf:
    """This server at ``fraction``; nothing is estimated that the account does not hold.

    Raises ValueError for a fraction outside 0 to 1.
    """
    if not 0 < fraction < 1:
        raise ValueError("a fraction lies between 0 and 1")
    tokens = tokens_at(account, fraction)
    rest: Reading[float] = Missing("free before or after the weights is unknown")
    if isinstance(account.pre_gib, Known) and isinstance(account.post_gib, Known):
        extras = account.extras_gib.value if isinstance(account.extras_gib, Known) else 0.0
        rest = Known(
            account.post_gib.value - account.pre_gib.value * (1 - fraction) - extras, None, Where("formula", "post - pre x (1 - f)")
        )
    kv: Reading[float] = Missing("the pool or the cell is unknown")
    if isinstance(tokens, Known) and isinstance(account.divisor_bytes, Known):
        kv = Known(tokens.value * account.divisor_bytes.value / GIB, None, Where("formula", "tokens x cell"))
    shortcut: Reading[int] | None = None
    if isinstance(account.tokens_reported, Known) and isinstance(account.fraction, Known):
        shortcut = Known(
            int(account.tokens_reported.value * fraction / account.fraction.value), None, Where("formula", "tokens x f / f today")
        )
    capped = is_capped(account) and isinstance(account.fraction, Known) and fraction >= account.fraction.value
    return WhatIf(
        fraction=fraction,
        rest_gib=rest,
        tokens=tokens,
        kv_gib=kv,
        headroom_gib=headroom_at(account, fraction),
        capped=capped,
        shortcut_tokens=shortcut,
    )


def fraction_for(account: Account, tokens: float) -> Reading[float]:
    """The fraction at which the pool would hold ``tokens``: the law, turned round."""
    if not isinstance(account.tokens_reported, Known) or not isinstance(account.divisor_bytes, Known):
        return Missing("the pool or the cell is unknown")
    if not isinstance(account.pre_gib, Known) or not isinstance(account.fraction, Known):
        return Missing("free before weights or the fraction is unknown")
    change = (tokens - account.tokens_reported.value) * account.divisor_bytes.value / (account.pre_gib.value * account.kv_share * GIB)
    return Known(account.fraction.value + change, None, Where("formula", "fraction + change of tokens x cell / pre"))
