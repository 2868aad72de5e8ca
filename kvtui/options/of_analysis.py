"""What the levers look at, from an analysis: the same for every source."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.live import boot_of
from kvtui.domain.boot import Boot
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.gpu import Gpu
from kvtui.domain.live_ledgers import held_by_others
from kvtui.domain.process import gpus_of
from kvtui.domain.reading import Known, Missing, Reading, optional
from kvtui.domain.samples import EMPTY_TIMELINE
from kvtui.domain.step_samples import step_curve
from kvtui.domain.throughput import Interconnect
from kvtui.domain.units import GB, gib
from kvtui.domain.workload import observe
from kvtui.options.context import OptionContext

EMPTY_BOOT: Final = Boot(0, 0, 0, None, None, "starting", Missing("no start in the log"))
NO_LOAD: Final = observe(EMPTY_TIMELINE, (), pool_tokens=None)
_NO_DRIVER: Final = Missing("the driver was not asked")


def context_of(analysis: Analysis, fraction: float | None = None) -> OptionContext:
    """What a lever may look at; ``fraction``: the ``mem_fraction_static`` under the cursor."""
    frame = analysis.frame
    gpus = _used(frame, analysis)
    return OptionContext(
        account=analysis.account,
        workload=analysis.workload or NO_LOAD,
        findings=analysis.last_load or analysis.findings,
        fraction=fraction,
        boot=frame.boot or boot_of(frame.http, analysis.account) or EMPTY_BOOT,
        host_available_gb=_host_gb(frame),
        fit=step_curve(frame.timeline),
        interconnect=_link(gpus),
        events=frame.events,
        bandwidth=_bandwidth(gpus),
        foreign_gib=_foreign(frame, gpus),
    )


def _host_gb(frame: Frame) -> float | None:
    available = optional(frame.host.memory_available) if frame.host is not None else None
    return available / GB if available is not None else None


def _used(frame: Frame, analysis: Analysis) -> tuple[Gpu, ...]:
    """GPUs of the server; all where its processes do not tell and their number is that of its ranks."""
    if frame.gpus is None:
        return ()
    gpus = tuple(gpu for gpu in frame.gpus.gpus if not gpu.lost)
    used = gpus_of(frame.found, gpus) if frame.found is not None else _NO_DRIVER
    if isinstance(used, Known):
        return tuple(gpu for gpu in gpus if gpu.index in used.value)
    world = (optional(analysis.account.identity.tp) or 0) * (optional(analysis.account.identity.pp) or 1)
    return gpus if len(gpus) == world else ()


def _link(gpus: tuple[Gpu, ...]) -> Interconnect | None:
    """NVLink where every GPU has active links, PCIe where none has; None where the driver does not tell."""
    counts = [optional(gpu.nvlinks) for gpu in gpus]
    told = [count for count in counts if count is not None]
    if not told or len(told) < len(counts) or len(counts) < 2:
        return None
    return "nvlink" if min(told) > 0 else "pcie" if max(told) == 0 else None


def _bandwidth(gpus: tuple[Gpu, ...]) -> Reading[float]:
    """The slowest GPU sets the step."""
    if not gpus:
        return _NO_DRIVER
    peaks = [gpu.peak_bandwidth for gpu in gpus]
    missing = next((peak for peak in peaks if isinstance(peak, Missing)), None)
    if missing is not None:
        return missing
    return min((peak for peak in peaks if isinstance(peak, Known)), key=lambda peak: peak.value)


def _foreign(frame: Frame, gpus: tuple[Gpu, ...]) -> Reading[float]:
    """What others hold on the GPU where they hold most."""
    if not gpus:
        return Missing("which GPUs are the server's is not known")
    held = [held_by_others(gpu, frame.found) for gpu in gpus]
    missing = next((size for size in held if isinstance(size, Missing)), None)
    if missing is not None:
        return missing
    most = max((size for size in held if isinstance(size, Known)), key=lambda size: size.value)
    return Known(gib(most.value), most.at, most.where)
