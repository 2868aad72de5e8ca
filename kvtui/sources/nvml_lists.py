"""What a GPU's driver tells in many calls: the processes on it, and its links to others."""

from __future__ import annotations

from typing import Final

import pynvml

from kvtui.domain.gpu import GpuProcess
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.sources.nvml_calls import NOT_SUPPORTED, Asker

_NO_INSTANCE: Final = 0xFFFFFFFF


def processes_of(asker: Asker, handle: object) -> Reading[tuple[GpuProcess, ...]]:
    """Compute, graphics and MPS processes; one that is in several lists once."""
    names = ("Compute", "Graphics", "MPSCompute")
    lists = [asker.ask(list, f"nvmlDeviceGet{name}RunningProcesses", handle) for name in names]
    if isinstance(lists[0], Missing):
        return lists[0]
    merged: dict[tuple[int, int | None], GpuProcess] = {}
    for found in lists:
        for entry in found.value if isinstance(found, Known) else ():
            instance = None if entry.gpuInstanceId in {_NO_INSTANCE, None} else int(entry.gpuInstanceId)
            key = (int(entry.pid), instance)
            size = entry.usedGpuMemory
            memory = (
                Missing("the driver does not tell this process' memory (container, or no permission)")
                if size is None
                else Known(int(size), asker.at, Where("nvml", "usedGpuMemory"))
            )
            before = merged.get(key)
            if before is None or (isinstance(before.memory, Missing) and isinstance(memory, Known)):
                merged[key] = GpuProcess(key[0], memory, instance)
    return Known(tuple(merged.values()), asker.at, Where("nvml", "running processes"))


def active_links(asker: Asker, handle: object) -> Known[int] | Missing:
    """Active links; a GPU without NVLink does not support the call."""
    own = Asker(asker.at)
    active = 0
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        state = own.ask(int, "nvmlDeviceGetNvLinkState", handle, link)
        if isinstance(state, Missing):
            if link == 0 and NOT_SUPPORTED not in own.codes:
                return state
            break
        active += state.value == 1
    return Known(active, asker.at, Where("nvml", "nvmlDeviceGetNvLinkState"))
