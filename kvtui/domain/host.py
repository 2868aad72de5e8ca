"""The machine around the GPUs: memory, swap, pressure, limits, NUMA, and the server's processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtui.domain.reading import Missing, Reading

if TYPE_CHECKING:
    # Only for the annotation: a frame may hold a HostReading.
    from kvtui.domain.frame import SourceHealth

NOT_READ: Final = Missing("not read")


@dataclass(frozen=True, slots=True)
class Pressure:
    """Share of the last 10 s in which tasks stood still for want of memory, percent (/proc/pressure/memory)."""

    some: float
    """At least one task waited."""
    full: float
    """All tasks waited."""


@dataclass(frozen=True, slots=True)
class CgroupMemory:
    """The tightest memory limit over the server's process. Bytes."""

    path: str
    """The control group that sets it, or the process's own where none does."""
    limit: Reading[int]
    """Missing where there is no limit."""
    current: Reading[int]
    """In use in that group, page cache included."""
    cache: Reading[int]
    """Page cache in ``current`` that the kernel can drop first (inactive file pages)."""
    out_of_memory_kills: Reading[int]
    """Processes of the group that the kernel killed so far; version 2 only."""


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One memory node. Bytes."""

    index: int
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """One process of the server."""

    pid: int
    title: str
    """Process title or command, secrets removed, at most 120 characters."""
    rss: Reading[int]
    """Resident bytes; pinned HiCache pools count here."""
    cpu: Reading[float]
    """Percent of one CPU over all threads since the last reading; above 100 for several busy threads."""
    main_thread_cpu: Reading[float]
    """Percent of one CPU of the first thread, where SGLang's event loops run: near 100 is a CPU limit."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """The host at one moment. Bytes and bytes a second."""

    health: SourceHealth
    at: float | None
    memory_total: Reading[int] = NOT_READ
    memory_available: Reading[int] = NOT_READ
    """What can be had without swapping (MemAvailable)."""
    swap_total: Reading[int] = NOT_READ
    swap_used: Reading[int] = NOT_READ
    swap_in: Reading[float] = NOT_READ
    """Bytes a second read back from swap since the last reading."""
    swap_out: Reading[float] = NOT_READ
    pressure: Reading[Pressure] = NOT_READ
    cgroup: Reading[CgroupMemory] = NOT_READ
    nodes: Reading[tuple[NumaNode, ...]] = NOT_READ
    load: Reading[tuple[float, float, float]] = NOT_READ
    """Load average over 1, 5 and 15 minutes."""
    cpus: Reading[int] = NOT_READ
    processes: tuple[ProcessUse, ...] = ()
    stale: bool = False
    """True: the system did not answer this time; the figures are those of ``at``."""
