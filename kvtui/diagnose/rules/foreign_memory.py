"""V17: other processes hold memory of the server's GPUs."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, count, proof, read, witness
from kvtui.diagnose.machine import driver_gpus, known_gpus, nvml_at, server_gpus, server_pids
from kvtui.diagnose.registry import rule
from kvtui.domain.events import Event
from kvtui.domain.finding import Confidence, Evidence, Finding, Ruled
from kvtui.domain.gpu import Gpu
from kvtui.domain.picture import Picture
from kvtui.domain.reading import Known
from kvtui.domain.units import GIB

_CERTAIN_GIB: Final = 1.0
_CONTEXT_GIB: Final = 2.0
"""What context and NCCL may take before the weights load, beyond what the log itself tells of them."""
_UNTOLD_CONTEXT_GIB: Final = 4.0


@rule("foreign-memory")
def foreign_memory(context: Context) -> Finding | None:
    """A process on a GPU of the server that is not the server's; ranks that see unequal memory; a start far below the card."""
    held = _foreign(context)
    line = next(context.events("unbalanced"), None)
    gap = _missing_at_start(context)
    if not held and line is None and gap is None:
        return None
    worst = max((size for _, _, size in held), default=0.0)
    confidence: Confidence = "high" if worst >= _CERTAIN_GIB else "medium"
    if not held:
        confidence = "medium" if line is not None else "low"
    return Finding(
        id="foreign-memory",
        title="Other processes hold GPU memory",
        sentence=_sentence(context, held, line, gap),
        axis="banner",
        confidence=confidence,
        since=nvml_at(context) if held else line.at if line is not None else None,
        evidence=_evidence(context, held, line, gap),
        ruled_out=(Ruled("headroom", "it is not the server's own pool that takes it"),) if held else (),
        fixes=("free-other-processes",),
        advice=_advice(context, held),
        verify=("free memory before the weights load is higher in the next start, and the pool with it",),
        needs=()
        if known_gpus(context)
        else ("the GPUs' process list beside the server's own pids: run kvtui as root on the server's host",),
        pictures=(Picture("memory", "What the others hold is missing in the pool, on every GPU: the fullest one sizes it."),),
    )


def _foreign(context: Context) -> list[tuple[Gpu, int, float]]:
    """GPU, pid and GiB of each process that is not the server's, on GPUs where the driver lists the server."""
    pids, worth = server_pids(context), context.thresholds.foreign_memory_gib
    return [
        (gpu, process.pid, process.memory.value / GIB)
        for gpu in known_gpus(context)
        if isinstance(gpu.processes, Known)
        for process in gpu.processes.value
        if process.pid not in pids and isinstance(process.memory, Known) and process.memory.value / GIB > worth
    ]


def _missing_at_start(context: Context) -> float | None:
    """GiB that were gone before the weights loaded and that nothing explains, on cards of one size."""
    pre, context_gib = read(context.account.pre_gib), read(context.account.context_gib)
    totals = [gpu.memory.value.total / GIB for gpu in server_gpus(context) if isinstance(gpu.memory, Known) and not gpu.unified]
    if pre is None or pre <= 0 or not totals or len(totals) < len(driver_gpus(context)):
        return None
    gap = min(totals) - pre - (context_gib or 0.0)
    return gap if gap > (_CONTEXT_GIB if context_gib is not None else _UNTOLD_CONTEXT_GIB) else None


def _sentence(context: Context, held: list[tuple[Gpu, int, float]], line: Event | None, gap: float | None) -> str:
    if held:
        gpu, pid, size = max(held, key=lambda entry: entry[2])
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        return f"Process {pid}{more} holds {size:.1f} GiB of {gpu.label}, which the server uses too: the fullest GPU sizes the pool of all."
    if line is not None:
        return "The ranks saw very different free memory when they started: the least of them sizes the pool of all."
    pre = read(context.account.pre_gib) or 0.0
    return f"Only {pre:.1f} GiB were free before the weights, {gap or 0.0:.1f} GiB less than card and context explain."


def _evidence(context: Context, held: list[tuple[Gpu, int, float]], line: Event | None, gap: float | None) -> tuple[Evidence, ...]:
    found = [
        Evidence(f"{gpu.label}: pid {pid} holds {size:.2f} GiB", "nvml: running processes", nvml_at(context)) for gpu, pid, size in held[:6]
    ]
    if line is not None:
        found.append(witness(line))
    if gap is not None:
        found.append(
            proof(
                f"free before weights {read(context.account.pre_gib) or 0.0:.2f} GiB, {gap:.2f} GiB below the card", context.account.pre_gib
            )
        )
    return tuple(found)


def _advice(context: Context, held: list[tuple[Gpu, int, float]]) -> tuple[str, ...]:
    found = ["See what they are: nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv; stop them only if they may be stopped."]
    fraction, divisor = read(context.account.fraction), read(context.account.divisor_bytes)
    if held and fraction is not None:
        size = max(sum(gib for other, _, gib in held if other.index == gpu.index) for gpu, _, _ in held)
        tokens = f", about {size * fraction * GIB / divisor:,.0f} tokens" if divisor else ""
        found.append(
            f"If they were there at the start, without them the pool is {size * fraction:.1f} GiB a GPU larger{tokens}, after a restart."
        )
        if (count(context.account.tokens_reported) or 0) == 0:
            return tuple(found[:1])
    return tuple(found)
