"""GPU bars of a running server: the driver's totals, cut by what the server says of its own memory.

The driver knows the sum a process holds; weights, KV and graphs come from the server or its log. Parts always sum to
the device's total, and what is not known is a part of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.domain.account import Account
from kvtui.domain.gpu import Gpu, GpuMemory, GpuReading
from kvtui.domain.ledger import GpuLedger, Part, PartKind
from kvtui.domain.process import FoundServer, gpus_of
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.domain.units import gib


def live_ledgers(gpus: GpuReading | None, found: FoundServer | None, account: Account, usage: float | None) -> tuple[GpuLedger, ...]:
    """One bar for each GPU that the server uses (all where that cannot be told); none where the driver tells nothing.

    ``usage``: share of the KV pool in use, 0 to 1, or None.
    """
    if gpus is None or not gpus.gpus:
        return ()
    share: Reading[float] = Missing("no sample yet") if usage is None else Known(min(1.0, max(0.0, usage)))
    return tuple(
        GpuLedger(gpu.label, gib(memory.total), total_is_device=True, parts=_parts(gpu, memory, found, account), kv_used_share=share)
        for gpu in _ours(gpus.gpus, found)
        if isinstance(gpu.memory, Known) and (memory := gpu.memory.value).total > 0
    )


def _ours(gpus: Sequence[Gpu], found: FoundServer | None) -> Sequence[Gpu]:
    used = gpus_of(found, gpus) if found is not None else Missing("the server's processes are not known")
    return [gpu for gpu in gpus if gpu.index in used.value] if isinstance(used, Known) else gpus


def held_by_others(gpu: Gpu, found: FoundServer | None) -> Reading[int]:
    """Bytes that processes of others hold on a GPU; Missing where the driver or the process table does not tell."""
    if found is None or not found.processes:
        return Missing("the server's processes are not known")
    if not isinstance(gpu.processes, Known):
        return Missing(gpu.processes.reason)
    others = [process for process in gpu.processes.value if process.pid not in found.pids]
    if any(not isinstance(process.memory, Known) for process in others):
        return Missing("the driver does not tell how much another process holds")
    return Known(
        sum(process.memory.value for process in others if isinstance(process.memory, Known)), gpu.processes.at, gpu.processes.where
    )


def _parts(gpu: Gpu, memory: GpuMemory, found: FoundServer | None, account: Account) -> tuple[Part, ...]:
    total = gib(memory.total)
    foreign = held_by_others(gpu, found)
    others = gib(foreign.value) if isinstance(foreign, Known) else 0.0
    reserved = gib(memory.reserved.value) if isinstance(memory.reserved, Known) else 0.0
    used = gib(memory.total - memory.free)
    parts: list[Part] = []
    left = max(0.0, used - others - reserved)

    def take(kind: PartKind, size: Reading[float], detail: str) -> None:
        nonlocal left
        if isinstance(size, Known) and size.value > 0:
            part = min(size.value, left)
            if part > 0:
                parts.append(Part(kind, part, detail))
                left -= part

    take("context", account.context_gib, "CUDA context and NCCL")
    take("weights", account.weights_gib, "of the target model")
    take("state", account.state_gib, "of linear-attention layers")
    take("kv", account.kv_gib, "of the target model")
    draft = [r.value for r in (account.draft_weights_gib, account.draft_kv_gib) if isinstance(r, Known)]
    take("draft", Known(sum(draft)) if draft else Missing("none"), "its weights and its KV")
    take("graphs", account.graphs_gib, "captured batches")
    known = isinstance(account.weights_gib, Known) and isinstance(account.kv_gib, Known)
    if left > 0:
        detail = "workspaces, activations, allocator" if known else "held by processes; what is in it is not told"
        parts.append(Part("other" if known else "unknown", left, detail))
    if reserved > 0:
        parts.append(Part("other", reserved, "reserved by the driver"))
    if others > 0:
        parts.append(Part("processes", others, "processes that are not this server's"))
    free = total - sum(part.gib for part in parts)
    if free > 0:
        parts.append(Part("free", free, "free now"))
    return tuple(parts)
