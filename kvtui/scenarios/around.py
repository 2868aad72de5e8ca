"""The machine around a server: its GPUs, host and processes as the readers of those would tell them."""

from __future__ import annotations

import shlex
from types import MappingProxyType
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, GpuReading, MemoryErrors, PcieLink
from kvtui.domain.health import SourceHealth
from kvtui.domain.host import HostReading, Pressure, ProcessUse
from kvtui.domain.process import FoundServer, LogTarget, ServerProcess
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.units import GIB, MIB
from kvtui.scenarios.box import Box
from kvtui.scenarios.situation import GpuQuirk, Machine
from kvtui.scenarios.start import Start
from kvtui.scenarios.starting import prefixes

MAIN_PID: Final = 4_000
_DETOKENIZER_PID: Final = 4_050
_SCHEDULER_PID: Final = 4_100
_FOREIGN_PID: Final = 9_100
_LANES: Final = 16
_LANE_BYTES: Final = {4: 1.969e9, 5: 3.938e9}
_NVML = Where("nvml", "simulated card")
_HOST = Where("host", "simulated host")
_SPELLED: Final = (("tp_size", "--tp-size"), ("dp_size", "--dp-size"))
_NEITHER: Final = frozenset(("host", "port", "model_path"))


def command_of(box: Box) -> str:
    """The launch command: what somebody typed."""
    words = ["python", "-m", "sglang.launch_server", "--model-path", box.model]
    for name, flag in _SPELLED:
        size = box.tp if name == "tp_size" else box.dp
        if size > 1:
            words += [flag, str(size)]
    draft = box.draft
    if draft is not None:
        words += ["--speculative-algorithm", draft.algorithm, "--speculative-draft-model-path", draft.path]
        words += ["--speculative-num-steps", str(draft.steps), "--speculative-eagle-topk", str(draft.topk)]
        words += ["--speculative-num-draft-tokens", str(draft.tokens)]
    for name, value in box.flags.items():
        if name not in _NEITHER and value not in (None, False):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    words += ["--host", "127.0.0.1", "--port", str(box.value("port"))]
    return shlex.join(words)


def found_server(box: Box) -> FoundServer:
    """The server's processes, as /proc shows them."""
    names = [("main", "python -m sglang.launch_server", MAIN_PID), ("detokenizer", "sglang::detokenizer", _DETOKENIZER_PID)]
    processes = [ServerProcess(pid, role, title) for role, title, pid in names]  # type: ignore[arg-type] # both are roles
    processes += [
        ServerProcess(_SCHEDULER_PID + i, "scheduler", f"sglang::scheduler{prefix.replace(' ', '_')}")
        for i, prefix in enumerate(prefixes(box))
    ]
    port = box.value("port")
    settings: dict[str, Scalar] = {"model_path": box.model, "tp_size": box.tp, "dp_size": box.dp, **box.flags}
    return FoundServer(
        main=Known(MAIN_PID, where=_HOST),
        processes=tuple(processes),
        command=Known(command_of(box), where=_HOST),
        settings=MappingProxyType(settings),
        model=Known(box.model, where=_HOST),
        host=Known("127.0.0.1", where=_HOST),
        port=Known(port, where=_HOST) if isinstance(port, int) else Missing("the port is not a number"),
        log=LogTarget("none", note="A simulated server: its log is made as it goes."),
    )


def gpu_reading(box: Box, start: Start | None, machine: Machine, at: float, *, busy: bool) -> GpuReading:
    """All GPUs of the server; ``start`` None: nothing of it runs."""
    quirks = {quirk.index: quirk for quirk in machine.quirks}
    count = box.tp * box.dp
    gpus = tuple(_gpu(box, start, machine, i, at, quirks.get(i, GpuQuirk(i)), busy=busy) for i in range(count))
    health = SourceHealth("nvml", "simulated cards", "live", "", None, at)
    return GpuReading(gpus, health, at, driver=Known("580.95", at, _NVML))


def _gpu(box: Box, start: Start | None, machine: Machine, index: int, at: float, quirk: GpuQuirk, *, busy: bool) -> Gpu:
    card = box.card
    total = card.total_mib * MIB
    reserved = min(int(0.006 * total), total)
    # What is gone before the server measures: its context, and the card's part that CUDA never shows.
    held = max(0, int((card.total_gib - box.free_gib) * GIB) - reserved)
    own = held + int((box.pre_gib - max(start.available_gib, 0.05)) * GIB) if start is not None else 0
    foreign = int(box.foreign.get(index, 0.0) * GIB)
    used = min(total - reserved, own + foreign)
    processes = [GpuProcess(_SCHEDULER_PID + index, Known(own, at, _NVML))] if start is not None else []
    if foreign:
        processes.append(GpuProcess(_FOREIGN_PID + index, Known(foreign, at, _NVML)))
    return Gpu(
        index=index,
        name=Known(card.name, at, _NVML),
        uuid=Known(f"GPU-00000000-0000-0000-0000-{index:012d}", at, _NVML),
        bus_id=Known(f"00000000:{index + 1:02X}:00.0", at, _NVML),
        memory=Known(GpuMemory(total, used, total - used - reserved, Known(reserved, at, _NVML)), at, _NVML),
        lost=quirk.lost,
        processes=Known(tuple(processes), at, _NVML),
        utilisation=Known(97 if busy else 0, at, _NVML),
        power=Known(card.power_w * (machine.power_share if busy else 0.12), at, _NVML),
        power_limit=Known(float(card.power_w), at, _NVML),
        temperature=Known(88 if "hardware thermal slowdown" in quirk.reasons else 64 if busy else 38, at, _NVML),
        clocks=_clocks(box, at, quirk, busy=busy),
        pcie=_link(box, machine, at),
        nvlinks=Known(card.nvlinks, at, _NVML),
        bus_width=Known(card.bus_bits, at, _NVML),
        numa_node=Known(index * 2 // max(1, box.tp * box.dp), at, _NVML),
        errors=MemoryErrors(ecc=Known(True, at, _NVML), uncorrected=Known(0, at, _NVML), remap_failed=Known(quirk.remap_failed, at, _NVML)),
    )


def _clocks(box: Box, at: float, quirk: GpuQuirk, *, busy: bool) -> Clocks:
    card = box.card
    return Clocks(
        sm=Known(int(card.sm_mhz * (quirk.sm_share if busy else 0.15)), at, _NVML),
        sm_max=Known(card.sm_mhz, at, _NVML),
        memory=Known(card.memory_mhz, at, _NVML),
        memory_max=Known(card.memory_mhz, at, _NVML),
        reasons=Known(quirk.reasons if busy else ("gpu idle",), at, _NVML),
    )


def _link(box: Box, machine: Machine, at: float) -> PcieLink:
    generation = box.card.pcie_generation
    moved = int(machine.pcie_share * _LANE_BYTES.get(generation, 3.938e9) * _LANES)
    return PcieLink(
        generation=Known(generation, at, _NVML),
        width=Known(_LANES, at, _NVML),
        max_generation=Known(generation, at, _NVML),
        max_width=Known(_LANES, at, _NVML),
        sent=Known(moved // 3, at, _NVML),
        received=Known(moved, at, _NVML),
        replays=Known(0, at, _NVML),
    )


def host_reading(box: Box, machine: Machine, at: float) -> HostReading:
    """The host and the server's processes."""
    total = int(box.host_gib * GIB)
    swap = machine.swap_mb_s * 1e6
    rows = [
        ProcessUse(process.pid, process.title, Known(6 * GIB, at, _HOST), Known(load, at, _HOST), Known(load, at, _HOST))
        for process in found_server(box).processes
        for load in (100.0 if process.role == "scheduler" else machine.helper_pct if process.role == "detokenizer" else 15.0,)
    ]
    return HostReading(
        health=SourceHealth("host", "simulated host", "live", "", None, at),
        at=at,
        memory_total=Known(total, at, _HOST),
        memory_available=Known(int(min(machine.available_gib, 0.9 * box.host_gib) * GIB), at, _HOST),
        swap_total=Known(32 * GIB, at, _HOST),
        swap_used=Known(20 * GIB if swap else 0, at, _HOST),
        swap_in=Known(swap, at, _HOST),
        swap_out=Known(swap / 3, at, _HOST),
        pressure=Known(Pressure(machine.stalled_pct, machine.stalled_pct / 3), at, _HOST),
        cpus=Known(128, at, _HOST),
        processes=tuple(rows),
    )
