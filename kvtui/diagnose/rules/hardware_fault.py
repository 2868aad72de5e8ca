"""V23: a GPU, its memory or its link is broken or degraded."""

from __future__ import annotations

import re
from typing import Final

from kvtui.diagnose.context import Context, count, witness
from kvtui.diagnose.machine import driver_gpus, is_busy, nvml_at, server_gpus
from kvtui.diagnose.registry import rule
from kvtui.domain.events import Event
from kvtui.domain.finding import Confidence, Evidence, Finding, Ruled
from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Known

_XID: Final = re.compile(r"\bXid\b\s*(?:\(PCI:[0-9A-Fa-f:.]{1,20}\))?\s*[:=]?\s*(\d{1,3})\b")
_ECC: Final = re.compile(r"(?i)uncorrectable|fallen off the bus|double[ -]bit")
_BROKEN: Final = {
    48: "uncorrectable memory error",
    64: "a memory row could not be replaced",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "the GPU's firmware does not answer",
    120: "the GPU's firmware failed",
}
"""Xid numbers that mean hardware (docs.nvidia.com/deploy/xid-errors); others are as often a program's fault."""


@rule("hardware-fault")
def hardware_fault(context: Context) -> Finding | None:
    """Xid and ECC lines, lost GPUs and failed row replacements are faults; pending ones and narrow links are hints."""
    faults = [*_log_faults(context), *(fault for gpu in driver_gpus(context) for fault in _gpu_faults(gpu, context))]
    hints = [hint for gpu in server_gpus(context) or driver_gpus(context) for hint in _gpu_hints(gpu, context)]
    if not faults and not hints:
        return None
    told = (faults or hints)[0].text
    confidence: Confidence = "high" if faults else "medium"
    return Finding(
        id="hardware-fault",
        title="A GPU is at fault" if faults else "A GPU may be degraded",
        sentence=f"{'Hardware fault' if faults else 'Sign of a degraded GPU'}: {told.rstrip('.')}.",
        axis="concurrency" if faults else "banner",
        confidence=confidence,
        since=next((evidence.at for evidence in faults if evidence.at is not None), nvml_at(context)),
        evidence=tuple([*faults, *hints][:8]),
        ruled_out=(Ruled("server-stuck", "what stopped or may stop it is the hardware under it"),) if faults else (),
        advice=(
            "Take the server out of the load balancer, then look at dmesg | grep -i xid and nvidia-smi -q -d ECC,ROW_REMAPPER.",
            "A pending row replacement needs a reset of the GPU (nvidia-smi -r) or a reboot; a failed one or a lost GPU, an exchange.",
        ),
        verify=("no Xid line and no new ECC error under load for an hour",),
        needs=() if driver_gpus(context) else ("the driver's error counters (NVML) and the kernel's log (dmesg) of the server's host",),
    )


def _log_faults(context: Context) -> list[Evidence]:
    return [witness(event) for event in context.events("warning", "program", "exception", "nccl") if _is_fault(event)][:4]


def _is_fault(event: Event) -> bool:
    xid = _XID.search(event.text)
    if xid is not None:
        return int(xid[1]) in _BROKEN
    return _ECC.search(event.text) is not None


def _gpu_faults(gpu: Gpu, context: Context) -> list[Evidence]:
    at, errors, found = nvml_at(context), gpu.errors, []
    if gpu.lost:
        found.append(Evidence(f"{gpu.label}: the driver lists it and cannot reach it", "nvml", at))
    if isinstance(errors.remap_failed, Known) and errors.remap_failed.value:
        found.append(Evidence(f"{gpu.label}: a memory row could not be replaced", "nvml: remapped rows", at))
    return found


def _gpu_hints(gpu: Gpu, context: Context) -> list[Evidence]:
    at, errors, found = nvml_at(context), gpu.errors, []
    if isinstance(errors.remap_pending, Known) and errors.remap_pending.value:
        found.append(Evidence(f"{gpu.label}: a memory row waits for a reset to be replaced", "nvml: remapped rows", at))
    uncorrected = count(errors.uncorrected)
    if uncorrected:
        found.append(Evidence(f"{gpu.label}: {uncorrected:,} uncorrected memory errors since the driver was loaded", "nvml: ECC", at))
    width, most = count(gpu.pcie.width), count(gpu.pcie.max_width)
    # An idle link saves power; only under load is a narrow or slow one a fault.
    if is_busy(gpu) and width is not None and most is not None and 0 < width < most:
        found.append(Evidence(f"{gpu.label}: PCIe runs at {width} of {most} lanes under load", "nvml: PCIe link", at))
    speed, fastest = count(gpu.pcie.generation), count(gpu.pcie.max_generation)
    if is_busy(gpu) and speed is not None and fastest is not None and 0 < speed < fastest:
        found.append(Evidence(f"{gpu.label}: PCIe runs at generation {speed} of {fastest} under load", "nvml: PCIe link", at))
    return found
