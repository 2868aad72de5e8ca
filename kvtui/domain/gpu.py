"""What the driver tells of one machine's GPUs at one moment.

Each figure stands alone: the driver may refuse any single call (NotSupported, NoPermission), so each is a ``Reading``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtui.domain.reading import Known, Missing, Reading, Where

if TYPE_CHECKING:
    # Only for the annotation: a frame may hold a GpuReading.
    from kvtui.domain.frame import SourceHealth

NOT_ASKED: Final = Missing("not asked of the driver yet")

CLOCK_REASONS: Final = (
    (0x1, "gpu idle"),
    (0x2, "application clocks setting"),
    (0x4, "software power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
    (0x100, "display clock setting"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)
"""Bits of NVML's clocks event reasons and their names (nvml.h, group nvmlClocksEventReasons)."""


def clock_reasons(bits: int) -> tuple[str, ...]:
    """Names of the bits that are set; a bit without a name is given as a number."""
    named = tuple(name for bit, name in CLOCK_REASONS if bits & bit)
    rest = bits & ~sum(bit for bit, _ in CLOCK_REASONS)
    return (*named, f"reason {rest:#x}") if rest > 0 else named


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Device memory in bytes: ``total = reserved + used + free``."""

    total: int
    used: int
    """By processes and their contexts; with ``reserved`` inside where that is Missing."""
    free: int
    reserved: Reading[int] = NOT_ASKED
    """By the driver and firmware; Missing on drivers that do not tell it apart."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds memory of a GPU. The pid is the machine's, not that of a container."""

    pid: int
    memory: Reading[int]
    """Bytes; Missing where the driver does not tell (some containers, no permission)."""
    instance: int | None = None
    """Id of the MIG GPU instance, or None."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """MHz, and what holds them down."""

    sm: Reading[int] = NOT_ASKED
    sm_max: Reading[int] = NOT_ASKED
    memory: Reading[int] = NOT_ASKED
    memory_max: Reading[int] = NOT_ASKED
    reasons: Reading[tuple[str, ...]] = NOT_ASKED
    """Names of ``CLOCK_REASONS`` in force. "software power cap" alone is ordinary under load."""


@dataclass(frozen=True, slots=True)
class PcieLink:
    """The GPU's PCIe link. An idle link drops its generation: compare with the maximum only under load."""

    generation: Reading[int] = NOT_ASKED
    width: Reading[int] = NOT_ASKED
    """Lanes."""
    max_generation: Reading[int] = NOT_ASKED
    max_width: Reading[int] = NOT_ASKED
    sent: Reading[int] = NOT_ASKED
    """Bytes a second from the GPU, over a 20 ms window."""
    received: Reading[int] = NOT_ASKED
    """Bytes a second to the GPU, over a 20 ms window."""
    replays: Reading[int] = NOT_ASKED
    """Packets sent again since the driver was loaded; a rising count is a bad link."""


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """ECC counts since the driver was loaded, and rows replaced by spare ones."""

    ecc: Reading[bool] = NOT_ASKED
    """Whether ECC is on."""
    corrected: Reading[int] = NOT_ASKED
    uncorrected: Reading[int] = NOT_ASKED
    remapped_corrected: Reading[int] = NOT_ASKED
    """Rows replaced after correctable errors."""
    remapped_uncorrected: Reading[int] = NOT_ASKED
    """Rows replaced after uncorrectable errors."""
    remap_pending: Reading[bool] = NOT_ASKED
    """True: a row waits for a GPU reset to be replaced."""
    remap_failed: Reading[bool] = NOT_ASKED
    """True: a row could not be replaced; the card is to be exchanged."""


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One MIG device of a GPU."""

    index: int
    uuid: Reading[str]
    name: Reading[str]
    memory: Reading[GpuMemory]
    gpu_instance: Reading[int]
    compute_instance: Reading[int]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Percent, watts, degrees Celsius, MHz, bytes."""

    index: int
    """The driver's index; CUDA_VISIBLE_DEVICES may number otherwise."""
    name: Reading[str]
    uuid: Reading[str]
    bus_id: Reading[str]
    """PCI address as the driver prints it, ``00000000:1B:00.0``."""
    memory: Reading[GpuMemory]
    unified: bool = False
    """True: no memory of its own (GB10, Jetson); the host's memory is what counts."""
    lost: bool = False
    """True: the driver lists it but can no longer reach it."""
    processes: Reading[tuple[GpuProcess, ...]] = NOT_ASKED
    utilisation: Reading[int] = NOT_ASKED
    """Percent of time a kernel was resident: not a measure of load."""
    memory_busy: Reading[int] = NOT_ASKED
    """Percent of time the memory was read or written: not bandwidth."""
    power: Reading[float] = NOT_ASKED
    power_limit: Reading[float] = NOT_ASKED
    temperature: Reading[int] = NOT_ASKED
    clocks: Clocks = Clocks()
    pcie: PcieLink = PcieLink()
    nvlinks: Reading[int] = NOT_ASKED
    """Active NVLink links; 0 where it has none."""
    bus_width: Reading[int] = NOT_ASKED
    """Bits of the memory bus."""
    numa_node: Reading[int] = NOT_ASKED
    errors: MemoryErrors = MemoryErrors()
    mig: Reading[bool] = NOT_ASKED
    instances: tuple[MigInstance, ...] = ()

    @property
    def label(self) -> str:
        """``GPU 0``."""
        return f"GPU {self.index}"

    @property
    def peak_bandwidth(self) -> Known[float] | Missing:
        """Peak memory bandwidth in bytes a second: ``2 * clock * bus / 8`` (facts/diagnoses.md V16).

        The clock is today's where the GPU works, since CUDA may run the memory below its maximum, else the maximum.
        """
        if isinstance(self.bus_width, Missing):
            return Missing(f"memory bus width unknown: {self.bus_width.reason}")
        busy = isinstance(self.utilisation, Known) and self.utilisation.value > 0
        first, second = (self.clocks.memory, self.clocks.memory_max) if busy else (self.clocks.memory_max, self.clocks.memory)
        clock = first if isinstance(first, Known) else second
        if isinstance(clock, Missing):
            return Missing(f"memory clock unknown: {clock.reason}")
        rate = 2 * clock.value * 1e6 * self.bus_width.value / 8
        return Known(rate, clock.at, Where("formula", f"2 × {clock.value} MHz × {self.bus_width.value} bit / 8"))


@dataclass(frozen=True, slots=True)
class GpuReading:
    """All GPUs of this machine, and how asking for them went."""

    gpus: tuple[Gpu, ...]
    health: SourceHealth
    at: float | None
    """Wall-clock seconds of the newest figures; while the driver hangs they grow old. None: nothing was read."""
    driver: Reading[str] = NOT_ASKED
    """Version of the NVIDIA driver."""
    stale: bool = False
    """True: the driver did not answer this time; the figures are those of ``at``."""
    notes: tuple[str, ...] = ()
    """What is amiss with a GPU as a whole: lost, no longer listed; sentences."""
