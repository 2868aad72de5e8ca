"""HiCache's host memory: tokens and bytes of each rank, and what the server would refuse (facts/memory.md 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from kvtui.domain.geometry import Attention
from kvtui.domain.release import Release, Table
from kvtui.domain.sizing import SizingError
from kvtui.domain.units import GB, GIB

DEFAULT_RATIO: Final = 2.0
"""Host tokens for each device token where neither a ratio nor a size is given."""
KEPT_FREE: Final = 10 * GIB
"""Host memory that the check leaves to others, bytes."""

PAGES: Final[Table[Literal["down", "one more"]]] = Table("host pages", (("0.4.6", "down"), ("0.5.6", "one more")))
"""Whole pages below the wish, or one more than that."""
SMALLER_THAN_DEVICE: Final[Table[Literal["refused", "warned"]]] = Table(
    "host pools below the device pool", (("0.4.6", "refused"), ("0.5.15", "warned"))
)
SHARED_CHECK: Final[Table[bool]] = Table("check of host memory", (("0.4.6", False), ("0.5.21", True)))
"""True: the ranks of a host share what is free; False: each rank checks alone, so that together they may run out."""
FITTED: Final[Table[bool]] = Table("automatic host size", (("0.4.6", False), ("0.5.23", True)))
"""True: without a ratio and a size the ratio is lowered until the host has room."""
SINCE: Final[Mapping[Attention, str]] = MappingProxyType(
    {Attention.DSA: "0.5.9", Attention.MAMBA_HYBRID: "0.5.10", Attention.SWA: "0.5.15", Attention.DSV4: "0.5.15"}
)
"""Release from which the host mirrors the pools of that kind of attention; those of the others from 0.4.6 on."""


@dataclass(frozen=True, slots=True)
class HostRequest:
    """What is asked of the host. Decimal GB, as HiCache's flags and lines have it."""

    release: Release | None
    device_tokens: int
    """The pool of one rank."""
    token_bytes: int
    """Host bytes of one token on one rank: those that a token takes in the device pool."""
    page_size: int = 1
    ratio: float | None = None
    size_gb: float = 0.0
    """``--hicache-size``: of each rank, not of the host; above 0 it wins over the ratio."""
    ranks: int = 1
    """Ranks on this host; each keeps its own copy, MLA too."""
    available_gb: float | None = None
    """Host memory that is available, decimal GB; None: unknown, nothing is checked."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """The host pools that a request leads to."""

    tokens: int
    """Of one rank."""
    rank_gb: float
    host_gb: float
    """All ranks of this host together."""
    refused: str = ""
    """The server's error, where it would not start; empty where it would."""
    notes: tuple[str, ...] = ()


def plan_host(request: HostRequest) -> HostPlan:
    """Host tokens, bytes and the checks of a rank.

    Raises SizingError for sizes that are not positive.
    """
    if request.token_bytes <= 0 or request.page_size <= 0 or request.device_tokens <= 0 or request.ranks <= 0:
        raise SizingError("invalid", "The host pool needs positive tokens, bytes, pages and ranks.")
    ratio = DEFAULT_RATIO if request.ratio is None else request.ratio
    wish = int(request.size_gb * GB // request.token_bytes) if request.size_gb > 0 else int(request.device_tokens * ratio)
    pages = wish // request.page_size + (PAGES.at(request.release) == "one more")
    tokens = pages * request.page_size
    rank_bytes = tokens * request.token_bytes
    refused = _check_device(request, tokens)
    notes: list[str] = []
    if not refused and request.available_gb is not None:
        refused, notes = _check_host(request, rank_bytes)
    if tokens <= request.device_tokens and not refused:
        notes.append("The host pool is not larger than the device pool: little more can be kept.")
    if FITTED.at(request.release) and request.ratio is None and request.size_gb <= 0:
        notes.append("Without a ratio and a size the server lowers the ratio until the host has room.")
    return HostPlan(tokens, rank_bytes / GB, rank_bytes * request.ranks / GB, refused, tuple(notes))


def must_exceed_device(release: Release | None) -> bool:
    """True where a host pool that is not larger than the device's is refused."""
    return SMALLER_THAN_DEVICE.at(release) == "refused"


def _check_device(request: HostRequest, tokens: int) -> str:
    """Older releases refuse a host pool that is not larger than the device's."""
    if tokens > request.device_tokens or not must_exceed_device(request.release):
        return ""
    return f"The host pool ({tokens:,} tokens) must be larger than the device pool ({request.device_tokens:,} tokens)."


def _check_host(request: HostRequest, rank_bytes: int) -> tuple[str, list[str]]:
    """Each rank's check of free host memory, and the race between ranks that it leaves open."""
    room = (request.available_gb or 0.0) * GB - KEPT_FREE
    share = room / request.ranks if SHARED_CHECK.at(request.release) else room
    if rank_bytes > share:
        return f"Not enough host memory: {rank_bytes / GB:.2f} GB are asked for a rank, {max(share, 0) / GB:.2f} GB are free for it.", []
    if rank_bytes * request.ranks > room:
        return "", ["Each rank checks alone and passes, but together they ask for more than the host has."]
    return "", []
