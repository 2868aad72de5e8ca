"""Bytes and GiB. SGLang prints GiB and calls it "GB"; only HiCache's figures are decimal GB."""

from __future__ import annotations

from typing import Final

GIB: Final = 1 << 30
"""Bytes in a GiB."""
MIB: Final = 1 << 20
"""Bytes in a MiB."""
GB: Final = 10**9
"""Bytes in a decimal GB (HiCache flags and lines)."""


def duration(seconds: float) -> str:
    """Seconds as a person says them: ``45 s``, ``12 min``, ``3.5 h``, ``2 d``."""
    for limit, unit, name in ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (86_400.0, 3600.0, "h")):
        if seconds < limit:
            number = f"{seconds / unit:.1f}" if name == "h" else f"{seconds / unit:.0f}"
            return f"{number.removesuffix('.0')} {name}"
    return f"{seconds / 86_400:.1f}".removesuffix(".0") + " d"


def gib(size: float) -> float:
    """Bytes as GiB."""
    return size / GIB


def gb_to_gib(size: float) -> float:
    """Decimal GB, as HiCache prints it, as GiB."""
    return size * GB / GIB
