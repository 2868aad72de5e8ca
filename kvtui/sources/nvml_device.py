"""One GPU through NVML: what never changes is asked once, what moves slowly or costs time seldom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pynvml

from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, MemoryErrors, MigInstance, PcieLink, clock_reasons
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.procfs import numa_node, sysfs_address
from kvtui.sources.nvml_calls import LOST, NOT_SUPPORTED, Asker, count, label, mapped
from kvtui.sources.nvml_lists import active_links, processes_of

_SLOW_EVERY: Final = 10.0
"""Seconds between two readings of link, ECC, remapped rows, temperature, the memory's clock, and of the processes of a GPU whose
memory does not move."""
_LINKS_EVERY: Final = 60.0
"""Seconds between two counts of NVLinks, which are a call each and tell how the machine is built."""
_NO_RESERVED: Final = Missing("this driver does not tell reserved memory apart from used")
UNIFIED: Final = Missing("this GPU has no memory of its own (unified memory, as on GB10 and Jetson): host memory is what counts")
_MIG_SLOTS: Final = 16


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What does not change while the driver is loaded."""

    name: Reading[str]
    uuid: Reading[str]
    bus_id: Reading[str]
    numa_node: Reading[int]
    bus_width: Reading[int]
    sm_max: Reading[int]
    memory_max: Reading[int]
    max_generation: Reading[int]
    max_width: Reading[int]


@dataclass(frozen=True, slots=True)
class _Slow:
    """What is asked every ten seconds."""

    at: float
    power_limit: Reading[float]
    temperature: Reading[int]
    memory_clock: Reading[int]
    nvlinks: Reading[int]
    errors: MemoryErrors
    mig: Reading[bool]
    generation: Reading[int]
    width: Reading[int]
    replays: Reading[int]


@dataclass(frozen=True, slots=True)
class _Listed:
    """The processes, and the memory that was in use when they were listed."""

    at: float
    used: int
    processes: Reading[tuple[GpuProcess, ...]]


class Device:
    """A GPU of the driver's list; blocking, for the worker's thread only."""

    def __init__(self, index: int, handle: object, pci_devices: Path) -> None:
        self._index = index
        self._handle = handle
        self._pci_devices = pci_devices
        self._fixed: _Fixed | None = None
        self._slow: _Slow | None = None
        self._traffic: tuple[Reading[int], Reading[int]] = (Missing("not measured yet"), Missing("not measured yet"))
        self._listed: _Listed | None = None
        self._counted: tuple[float, Known[int] | Missing] | None = None

    def read(self, at: float, *, traffic: bool) -> tuple[Gpu, frozenset[int]]:
        """The GPU now, and the codes of the calls that failed.

        ``traffic``: measure PCIe throughput, for which the driver takes 20 ms each way.
        """
        asker = Asker(at)
        memory, unified = _memory(asker, self._handle)
        if asker.codes & LOST:
            gone = memory if isinstance(memory, Missing) else Missing("the GPU is lost")
            return self._gone(gone), frozenset(asker.codes)
        if self._fixed is None:
            self._fixed = self._ask_fixed(asker)
        if self._slow is None or at - self._slow.at >= _SLOW_EVERY or at < self._slow.at:
            self._slow = self._ask_slow(asker)
        if traffic:
            self._traffic = (
                self._ask(asker, "nvmlDeviceGetPcieThroughput", pynvml.NVML_PCIE_UTIL_TX_BYTES, scale=1000),
                self._ask(asker, "nvmlDeviceGetPcieThroughput", pynvml.NVML_PCIE_UTIL_RX_BYTES, scale=1000),
            )
        return self._gpu(asker, (memory, unified), self._fixed, self._slow), frozenset(asker.codes)

    def _gpu(self, asker: Asker, held: tuple[Reading[GpuMemory], bool], fixed: _Fixed, slow: _Slow) -> Gpu:
        handle = self._handle
        memory, unified = held
        busy = asker.ask(lambda rates: (count(rates.gpu), count(rates.memory)), "nvmlDeviceGetUtilizationRates", handle)
        split = isinstance(slow.mig, Known) and slow.mig.value
        return Gpu(
            index=self._index,
            name=fixed.name,
            uuid=fixed.uuid,
            bus_id=fixed.bus_id,
            memory=memory,
            unified=unified,
            processes=self._processes(asker, memory),
            utilisation=mapped(busy, lambda pair: pair[0]),
            memory_busy=mapped(busy, lambda pair: pair[1]),
            power=asker.ask(lambda milli: count(milli) / 1000, "nvmlDeviceGetPowerUsage", handle),
            power_limit=slow.power_limit,
            temperature=slow.temperature,
            clocks=Clocks(
                sm=self._ask(asker, "nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM),
                sm_max=fixed.sm_max,
                memory=slow.memory_clock,
                memory_max=fixed.memory_max,
                reasons=asker.first(
                    lambda bits: clock_reasons(count(bits)),
                    ("nvmlDeviceGetCurrentClocksEventReasons", (handle,)),
                    ("nvmlDeviceGetCurrentClocksThrottleReasons", (handle,)),
                ),
            ),
            pcie=PcieLink(
                slow.generation, slow.width, fixed.max_generation, fixed.max_width, self._traffic[0], self._traffic[1], slow.replays
            ),
            nvlinks=slow.nvlinks,
            bus_width=fixed.bus_width,
            numa_node=fixed.numa_node,
            errors=slow.errors,
            mig=slow.mig,
            instances=_instances(asker, handle) if split else (),
        )

    def _processes(self, asker: Asker, memory: Reading[GpuMemory]) -> Reading[tuple[GpuProcess, ...]]:
        """The processes; those of the last list while the memory in use is the same to the byte, for ten seconds at most.

        Six calls make a list, more than all else that is asked each time, and a process that comes, goes or grows moves what is in use.
        """
        used = memory.value.used if isinstance(memory, Known) else None
        before = self._listed
        if before is not None and used == before.used and 0 <= asker.at - before.at < _SLOW_EVERY:
            return before.processes
        found = processes_of(asker, self._handle)
        self._listed = _Listed(asker.at, used, found) if used is not None and isinstance(found, Known) else None
        return found

    def _gone(self, reason: Missing) -> Gpu:
        """All that is still known of a GPU that is lost."""
        fixed = self._fixed
        return lost_gpu(
            self._index, reason, fixed.name if fixed else reason, fixed.uuid if fixed else reason, fixed.bus_id if fixed else reason
        )

    def _ask(self, asker: Asker, name: str, *arguments: object, scale: int = 1) -> Known[int] | Missing:
        return asker.ask(lambda value: count(value) * scale, name, self._handle, *arguments)

    def _ask_fixed(self, asker: Asker) -> _Fixed:
        handle = self._handle
        bus_id = asker.ask(lambda pci: label(pci.busId), "nvmlDeviceGetPciInfo", handle)
        return _Fixed(
            name=asker.ask(label, "nvmlDeviceGetName", handle),
            uuid=asker.ask(label, "nvmlDeviceGetUUID", handle),
            bus_id=bus_id,
            numa_node=self._numa(bus_id, asker.at),
            bus_width=self._ask(asker, "nvmlDeviceGetMemoryBusWidth"),
            sm_max=self._ask(asker, "nvmlDeviceGetMaxClockInfo", pynvml.NVML_CLOCK_SM),
            memory_max=self._ask(asker, "nvmlDeviceGetMaxClockInfo", pynvml.NVML_CLOCK_MEM),
            max_generation=self._ask(asker, "nvmlDeviceGetMaxPcieLinkGeneration"),
            max_width=self._ask(asker, "nvmlDeviceGetMaxPcieLinkWidth"),
        )

    def _ask_slow(self, asker: Asker) -> _Slow:
        handle = self._handle
        return _Slow(
            at=asker.at,
            power_limit=asker.ask(lambda milli: count(milli) / 1000, "nvmlDeviceGetEnforcedPowerLimit", handle),
            temperature=asker.first(int, ("nvmlDeviceGetTemperatureV", (handle, 0)), ("nvmlDeviceGetTemperature", (handle, 0))),
            memory_clock=self._ask(asker, "nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_MEM),
            nvlinks=self._links(asker),
            errors=_errors(asker, handle),
            mig=asker.ask(lambda modes: modes[0] == 1, "nvmlDeviceGetMigMode", handle),
            generation=self._ask(asker, "nvmlDeviceGetCurrPcieLinkGeneration"),
            width=self._ask(asker, "nvmlDeviceGetCurrPcieLinkWidth"),
            replays=self._ask(asker, "nvmlDeviceGetPcieReplayCounter"),
        )

    def _links(self, asker: Asker) -> Known[int] | Missing:
        before = self._counted
        if before is None or not 0 <= asker.at - before[0] < _LINKS_EVERY:
            before = self._counted = (asker.at, active_links(asker, self._handle))
        return before[1]

    def _numa(self, bus_id: Reading[str], at: float) -> Known[int] | Missing:
        if isinstance(bus_id, Missing):
            return Missing(f"PCI address unknown: {bus_id.reason}")
        address = sysfs_address(bus_id.value)
        if address is None:
            return Missing("the driver's PCI address has an unknown form")
        try:
            node = numa_node((self._pci_devices / address / "numa_node").read_text()[:32])
        except (OSError, ValueError):
            return Missing("the system has no NUMA entry for this GPU")
        return Missing("the firmware names no NUMA node for this GPU") if node is None else Known(node, at, Where("host", "numa_node"))


def lost_gpu(index: int, reason: Missing, name: Reading[str], uuid: Reading[str], bus_id: Reading[str]) -> Gpu:
    """A GPU of which the driver says nothing any more: every figure is missing for the one reason."""
    return Gpu(
        index=index,
        name=name,
        uuid=uuid,
        bus_id=bus_id,
        memory=reason,
        lost=True,
        processes=reason,
        utilisation=reason,
        memory_busy=reason,
        power=reason,
        power_limit=reason,
        temperature=reason,
        clocks=Clocks(reason, reason, reason, reason, reason),
        pcie=PcieLink(reason, reason, reason, reason, reason, reason, reason),
        nvlinks=reason,
        bus_width=reason,
        numa_node=reason,
        errors=MemoryErrors(reason, reason, reason, reason, reason, reason, reason),
        mig=reason,
    )


def _memory(asker: Asker, handle: object) -> tuple[Reading[GpuMemory], bool]:
    """Memory, and whether the GPU has none of its own."""

    def with_reserved(answer: Any) -> GpuMemory:  # noqa: ANN401 (a ctypes structure)
        reserved = Known(count(answer.reserved), asker.at, Where("nvml", "nvmlDeviceGetMemoryInfo_v2"))
        return GpuMemory(count(answer.total), count(answer.used), count(answer.free), reserved)

    found = asker.ask(with_reserved, "nvmlDeviceGetMemoryInfo", handle, version=pynvml.nvmlMemory_v2)
    if isinstance(found, Missing) and not asker.codes & LOST:
        # Older drivers know only the first form, in which used includes reserved.
        found = asker.ask(
            lambda answer: GpuMemory(count(answer.total), count(answer.used), count(answer.free), _NO_RESERVED),
            "nvmlDeviceGetMemoryInfo",
            handle,
        )
        if isinstance(found, Missing) and NOT_SUPPORTED in asker.codes:
            return UNIFIED, True
    if isinstance(found, Known) and found.value.total == 0:
        return UNIFIED, True
    return found, False


def _errors(asker: Asker, handle: object) -> MemoryErrors:
    def total(kind: int) -> Known[int] | Missing:
        return asker.ask(count, "nvmlDeviceGetTotalEccErrors", handle, kind, pynvml.NVML_VOLATILE_ECC)

    rows: Reading[tuple[int, ...]] = asker.ask(tuple, "nvmlDeviceGetRemappedRows", handle)
    return MemoryErrors(
        ecc=asker.ask(lambda modes: modes[0] == 1, "nvmlDeviceGetEccMode", handle),
        corrected=total(pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
        uncorrected=total(pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        remapped_corrected=mapped(rows, lambda row: row[0]),
        remapped_uncorrected=mapped(rows, lambda row: row[1]),
        remap_pending=mapped(rows, lambda row: bool(row[2])),
        remap_failed=mapped(rows, lambda row: bool(row[3])),
    )


def _instances(asker: Asker, handle: object) -> tuple[MigInstance, ...]:
    """The MIG devices; free slots answer "not found"."""
    own = Asker(asker.at)
    slots = own.ask(count, "nvmlDeviceGetMaxMigDeviceCount", handle)
    found: list[MigInstance] = []
    for index in range(min(slots.value, _MIG_SLOTS) if isinstance(slots, Known) else 0):
        part = own.ask(lambda answer: answer, "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if isinstance(part, Missing):
            continue
        found.append(
            MigInstance(
                index=index,
                uuid=own.ask(label, "nvmlDeviceGetUUID", part.value),
                name=own.ask(label, "nvmlDeviceGetName", part.value),
                memory=_memory(own, part.value)[0],
                gpu_instance=own.ask(count, "nvmlDeviceGetGpuInstanceId", part.value),
                compute_instance=own.ask(count, "nvmlDeviceGetComputeInstanceId", part.value),
            )
        )
    return tuple(found)
