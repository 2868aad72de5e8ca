"""V16: something holds the clocks down, or one GPU is slower than the others and all wait for it."""

from __future__ import annotations

from statistics import median
from typing import Final

from kvtui.diagnose.context import Context
from kvtui.diagnose.machine import driver_gpus, is_busy, nvml_at, server_gpus
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Confidence, Evidence, Finding, Ruled
from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Known

_HARDWARE: Final = frozenset(("hardware slowdown", "hardware thermal slowdown", "hardware power brake"))
_THERMAL: Final = "software thermal slowdown"
_STRAGGLER: Final = 0.9
"""A clock below this share of the median of busy GPUs (facts/diagnoses.md V16)."""
_MEMORY: Final = 0.9
"""CUDA itself runs the memory of some cards a few per cent below the maximum."""


@rule("clocks")
def clocks(context: Context) -> Finding | None:
    """A hardware or thermal slowdown, a straggler, or a reduced memory clock, under load; a power cap alone is ordinary."""
    busy = tuple(gpu for gpu in server_gpus(context) or driver_gpus(context) if is_busy(gpu) and not gpu.lost)
    held = [(gpu, reasons) for gpu in busy if (reasons := _reasons(gpu))]
    slow = _stragglers(busy)
    memory = [gpu for gpu in busy if _memory_reduced(gpu)]
    if not held and not slow and not memory:
        return None
    at = nvml_at(context)
    evidence = [
        *(
            Evidence(f"{gpu.label}: {', '.join(reasons)}{_clock(gpu)}{_heat(gpu)}", "nvml: clocks event reasons", at)
            for gpu, reasons in held
        ),
        *(Evidence(f"{gpu.label}{_clock(gpu)} against {usual:.0f} MHz of the others", "nvml: clocks", at) for gpu, usual in slow),
        *(Evidence(f"{gpu.label}: the memory clock is reduced{_memory(gpu)}", "nvml: clocks", at) for gpu in memory),
    ]
    hard = any(reason in _HARDWARE for _, reasons in held for reason in reasons)
    confidence: Confidence = "high" if hard else "medium"
    names = ", ".join(dict.fromkeys(gpu.label for gpu in (*(g for g, _ in held), *(g for g, _ in slow), *memory)))
    why = held[0][1][0] if held else "a lower clock than the other GPUs" if slow else "a reduced memory clock"
    return Finding(
        id="clocks",
        title="Clocks are held down",
        sentence=f"{names} of {len(busy)} busy GPUs: {why}; with tensor parallelism the slowest GPU sets the step of all.",
        axis="step",
        confidence=confidence,
        since=at,
        evidence=tuple(evidence[:8]),
        ruled_out=(Ruled("healthy", "a software power cap alone would be ordinary; it is not what is told here"),),
        advice=("Look at nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER; check air flow, power supply and power limit of the GPUs named.",),
        verify=("the reasons are gone under the same load, and the step is shorter",),
        needs=() if server_gpus(context) else ("which GPUs are the server's: its processes are not visible from here",),
    )


def _reasons(gpu: Gpu) -> tuple[str, ...]:
    told = gpu.clocks.reasons.value if isinstance(gpu.clocks.reasons, Known) else ()
    return tuple(reason for reason in told if reason in _HARDWARE or reason == _THERMAL)


def _stragglers(busy: tuple[Gpu, ...]) -> list[tuple[Gpu, float]]:
    told = [gpu.clocks.sm.value for gpu in busy if isinstance(gpu.clocks.sm, Known)]
    if len(told) < 3:
        return []
    usual = float(median(told))
    return [(gpu, usual) for gpu in busy if isinstance(gpu.clocks.sm, Known) and gpu.clocks.sm.value < _STRAGGLER * usual]


def _memory_reduced(gpu: Gpu) -> bool:
    now, most = gpu.clocks.memory, gpu.clocks.memory_max
    return isinstance(now, Known) and isinstance(most, Known) and now.value < _MEMORY * most.value


def _clock(gpu: Gpu) -> str:
    return f", {gpu.clocks.sm.value} MHz" if isinstance(gpu.clocks.sm, Known) else ""


def _heat(gpu: Gpu) -> str:
    return f", {gpu.temperature.value} °C" if isinstance(gpu.temperature, Known) else ""


def _memory(gpu: Gpu) -> str:
    now, most = gpu.clocks.memory, gpu.clocks.memory_max
    return f": {now.value} of {most.value} MHz" if isinstance(now, Known) and isinstance(most, Known) else ""
