"""GPU memory cut into parts that always sum to the whole; what is not known is a part of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvtui.domain.reading import Reading

PartKind = Literal["context", "weights", "kv", "state", "draft", "graphs", "other", "processes", "free", "unknown"]


@dataclass(frozen=True, slots=True)
class Part:
    """One cut of a GPU's memory."""

    kind: PartKind
    gib: float
    detail: str = ""
    """Where the figure comes from, or what may be in it."""


@dataclass(frozen=True, slots=True)
class GpuLedger:
    """One GPU. ``sum(part.gib) == total_gib`` always."""

    label: str
    """``GPU 0`` or the rank that told, ``TP0``."""
    total_gib: float
    """The device total, or the part of it that the source can see."""
    total_is_device: bool
    """False: the source does not know the card's size, as a log and a server's pages do not."""
    parts: tuple[Part, ...]
    kv_used_share: Reading[float]
    """Share of the pool in use by running requests, 0 to 1."""
    total_is_pre: bool = False
    """The total is "free before weights"; where neither this nor ``total_is_device`` holds, it is the sum of the parts that are known."""
