"""Bytes and GiB. SGLang prints GiB and calls it "GB"; only HiCache's figures are decimal GB."""

from __future__ import annotations

from typing import Final

GIB: Final = 1 << 30
"""Bytes in a GiB."""
MIB: Final = 1 << 20
"""Bytes in a MiB."""
GB: Final = 10**9
"""Bytes in a decimal GB (HiCache flags and lines)."""


def gib(size: float) -> float:
    """Bytes as GiB."""
    return size / GIB


def gb_to_gib(size: float) -> float:
    """Decimal GB, as HiCache prints it, as GiB."""
    return size * GB / GIB
