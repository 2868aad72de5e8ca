"""What a scenario is made of: a server, what clients ask of it, and what is laid over it by hand. All of it data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kvtui.domain.finding import Axis, VerdictId
from kvtui.domain.gpu import GpuReading
from kvtui.domain.host import HostReading
from kvtui.domain.process import FoundServer
from kvtui.scenarios.box import Box
from kvtui.twin import Demand, StepTimes

Strength = Literal["mild", "plain", "strong"]
STRENGTHS: tuple[Strength, ...] = ("mild", "plain", "strong")
View = Literal["log", "metrics"]
Crash = Literal["", "nccl"]


@dataclass(frozen=True, slots=True)
class GpuQuirk:
    """What is unlike the other GPUs, or unlike a well GPU."""

    index: int = 0
    reasons: tuple[str, ...] = ()
    """Clocks event reasons in force."""
    sm_share: float = 1.0
    """SM clock over its maximum."""
    lost: bool = False
    remap_failed: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """The GPUs and the host around the server; ``told`` False: nobody can be asked."""

    told: bool = False
    quirks: tuple[GpuQuirk, ...] = ()
    power_share: float = 0.8
    """Power draw under load over the limit."""
    pcie_share: float = 0.1
    """Use of the PCIe link."""
    available_gib: float = 400.0
    """Host memory that can be had without swapping."""
    swap_mb_s: float = 0.0
    stalled_pct: float = 0.0
    helper_pct: float = 20.0
    """Percent of a core that the detokenizer's first thread takes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A log line at a time, in seconds since the server was up."""

    after_s: float
    text: str
    every_rank: bool = False
    bare: bool = False
    """True: no stamp and no rank, as other programs print."""


@dataclass(frozen=True, slots=True)
class Decor:
    """What no scheduler shows, laid over its lines and gauges."""

    tput_noise: float = 0.02
    """Standard deviation over mean of the throughput that lines print."""
    occupancy_pct: float | None = None
    """``fwd occupancy`` (0.5.12 and later, with the device timer)."""
    grammar: float = 0.0
    """Requests in the grammar queue."""
    prealloc: float = 0.0
    transfer: float = 0.0
    preallocated_usage: float | None = None
    """Not None: the server decodes for prefill servers."""
    full_share: float | None = None
    """Not None: a sliding-window model whose window pool is what the twin plays; use of the full pool over it."""
    cached_pool: float = 0.0
    """Share of the pool's free part that holds cached prefixes (0.5.12 and later tell it)."""
    freeze_s: float | None = None
    """From then on the scheduler is dead: no batch line, no gauge moves."""
    refuse_s: float | None = None
    """From then on nothing listens."""
    lines: tuple[Line, ...] = ()
    crash: Crash = ""
    """How the start ends instead of a server."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One server under one load. ``demands``: one a data-parallel rank."""

    box: Box
    demands: tuple[Demand, ...]
    times: StepTimes
    decor: Decor = Decor()
    machine: Machine = Machine()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A situation with its right answers, in several strengths."""

    id: str
    title: str
    """A few words, fit for a list."""
    story: str
    """One sentence: what somebody sees."""
    axis: Axis
    expected: tuple[VerdictId, ...]
    """Verdicts that an expert accepts on that axis, best first."""
    make: Callable[[Strength], Situation]
    views: tuple[View, ...] = ("log", "metrics")
    """Sources that can show it by themselves (with the machine beside, where that is told)."""
    also: tuple[VerdictId, ...] = ()
    """Verdicts that have to stand somewhere in the answer, beside the first."""
    never: tuple[VerdictId, ...] = ()
    """Verdicts that would be wrong: in the first place, and for a saturated server "healthy" anywhere."""
    strengths: tuple[Strength, ...] = STRENGTHS
    seconds: float = 180.0
    """Seconds of load that it takes to show."""
    demo: bool = False
    """True: worth a place in the list of demos."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A situation as it would be met: text to be parsed, and readings of the machine."""

    log: str
    pages: tuple[tuple[float, str], ...]
    """Seconds since the epoch, and a page of ``/metrics``; empty text: nothing listened."""
    loads: tuple[tuple[float, str], ...]
    """The same for ``/v1/loads``."""
    server_info: str
    """The answer of ``/server_info``; empty where nothing came up."""
    gpus: GpuReading | None
    host: HostReading | None
    found: FoundServer | None
