"""The server's GPUs and processes out of what the driver and the host tell."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, count, read
from kvtui.domain.events import Event
from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Known, Missing, Where

BUSY_PCT: Final = 50
"""GPU utilisation from which on a GPU counts as under load; it is no measure of how loaded it is."""

NO_GPUS: Final = "the GPUs of this machine (NVML): run kvtui on the server's own host, with access to the driver"
NO_HOST: Final = "the host's /proc: run kvtui on the server's own host"


def driver_gpus(context: Context) -> tuple[Gpu, ...]:
    """All GPUs as the driver told them just now; none where it does not answer."""
    reading = context.frame.gpus
    return () if reading is None or reading.stale else reading.gpus


def server_pids(context: Context) -> frozenset[int]:
    """Pids of the server's processes, as the machine numbers them."""
    host, server = context.frame.host, context.frame.found
    listed = frozenset(process.pid for process in host.processes) if host is not None else frozenset()
    return listed | (server.pids if server is not None else frozenset())


def known_gpus(context: Context) -> tuple[Gpu, ...]:
    """The GPUs on which the driver lists a process of the server; none where it lists none of them."""
    pids = server_pids(context)
    return tuple(
        gpu
        for gpu in driver_gpus(context)
        if isinstance(gpu.processes, Known) and any(process.pid in pids for process in gpu.processes.value)
    )


def server_gpus(context: Context) -> tuple[Gpu, ...]:
    """The server's GPUs: by its processes, else all where their number is that of its ranks; else none."""
    known, every = known_gpus(context), driver_gpus(context)
    if known:
        return known
    size = gpu_count(context)
    return every if size is not None and size == len(every) else ()


def gpu_count(context: Context) -> int | None:
    """GPUs that the server's ranks take."""
    tp, pp, dp = (_parallel(context, name, reading) for name, reading in _sizes(context))
    if tp is None:
        return None
    identity = context.account.identity
    boot = context.boot
    shared = identity.dp_attention or (boot is not None and boot.switch("enable_dp_attention"))
    return tp * (pp or 1) * (1 if shared else dp or 1)


def _sizes(context: Context) -> tuple[tuple[str, Known[int] | Missing], ...]:
    identity = context.account.identity
    return (("tp_size", identity.tp), ("pp_size", identity.pp), ("dp_size", identity.dp))


def _parallel(context: Context, name: str, reading: Known[int] | Missing) -> int | None:
    told = count(reading)
    if told is not None:
        return told
    number = context.boot.number(name) if context.boot is not None else None
    return int(number) if number is not None and 1 <= number < 1e5 else None


def tensor_parallel(context: Context) -> int | None:
    """Tensor-parallel ranks."""
    return _parallel(context, "tp_size", context.account.identity.tp)


def is_busy(gpu: Gpu) -> bool:
    """True where kernels run on it most of the time."""
    return (count(gpu.utilisation) or 0) >= BUSY_PCT


def without_nvlink(gpus: tuple[Gpu, ...]) -> bool | None:
    """True where none has an active NVLink, False where one has; None where the driver does not tell."""
    told = [gpu.nvlinks.value for gpu in gpus if isinstance(gpu.nvlinks, Known)]
    return None if not told or len(told) < len(gpus) else not any(told)


def pcie_only(context: Context) -> Event | None:
    """The start line that says that custom all-reduce is off because the GPUs share PCIe only; or None."""
    return next(
        (event for event in context.events("forced-setting", "warning") if "custom allreduce is disabled" in event.text.lower()), None
    )


def bandwidth(context: Context) -> Known[float] | Missing:
    """Peak memory bandwidth of the slowest of the server's GPUs, bytes a second."""
    peaks = [gpu.peak_bandwidth for gpu in server_gpus(context)]
    known = [peak for peak in peaks if isinstance(peak, Known) and peak.value > 0]
    if not known or len(known) < len(peaks):
        return Missing("memory clock and bus width of the server's GPUs are unknown")
    slowest = min(known, key=lambda peak: peak.value)
    return Known(slowest.value, slowest.at, Where("nvml", slowest.where.detail))


def nvml_at(context: Context) -> float | None:
    """When the driver was asked, on the clock of the samples."""
    return context.stamp(context.frame.gpus.at) if context.frame.gpus is not None else None


def step_of(context: Context) -> float | None:
    """Seconds of a decode step, without prefill where that can be told."""
    rank = context.rank
    if rank is None:
        return None
    pure = read(rank.pure_step_s)
    return pure if pure is not None else read(rank.step_s)
