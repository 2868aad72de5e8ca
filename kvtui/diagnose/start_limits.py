"""Starts that failed for something other than the fraction: the host's memory, a small pool, unequal GPUs."""

from __future__ import annotations

import math
from typing import Final

from kvtui.diagnose.context import Context, count, read
from kvtui.domain.events import Event
from kvtui.domain.finding import Ruled

Explained = tuple[str, tuple[str, ...], tuple[str, ...], tuple[Ruled, ...]]
"""Reason, option ids, advice and look-alikes."""

_KEPT_FREE_GB: Final = 10.737
"""10 GiB that HiCache's check leaves to others, in its decimal GB (facts/memory.md 5)."""
_SHARE: Final = 0.8
"""Of the host's free memory that all ranks may take together, so that something is left."""


def host_memory(context: Context, event: Event | None) -> Explained:
    """HiCache asked for more than the host has, or the kernel ended the server: with the size that fits, where it can be told."""
    asked, free = _field(event, "requested_gb"), _field(event, "host_free_gb")
    boot, host = context.boot, context.frame.host
    pools = [pool for memory in boot.ranks for pool in memory.host_pools] if boot is not None else []
    ranks = max(1, len(pools), _ranks(context))
    total = read(context.account.host_gb)
    advice = [
        "Give HiCache less: --hicache-size is GB a rank, --hicache-ratio times the device pool a rank; all ranks of a host add up.",
        "Look at dmesg and at the container's memory limit: exit status 137 or -9 is the host's out-of-memory killer.",
    ]
    if free is None and host is not None and (left := count(host.memory_available)) is not None:
        free = left / 1e9
    if free is not None and (asked is not None or total):
        fits = math.floor(_SHARE * max(0.0, free - _KEPT_FREE_GB) / ranks)
        value = f"--hicache-size {fits}" if fits >= 1 else "no --enable-hierarchical-cache"
        advice.insert(0, f"Start with {value}: {fits} GB × {ranks} ranks = {fits * ranks:,} GB of {free:,.0f} GB free, less 10 GiB kept.")
    if asked is not None and free is not None:
        told = f"a rank of {ranks} asks for {asked:,.2f} GB of host memory and {free:,.2f} GB are free, of which 10 GiB are kept"
    elif total:
        told = f"HiCache asks for {total:,.0f} GB on this host in all"
    else:
        told = "the host's memory, not the GPU's, ran out"
    return told, ("hicache",), tuple(advice), (Ruled("headroom", "GPU memory is not what ran out"),)


def small_pool(context: Context, event: Event | None) -> Explained:
    """The state cache or the sliding-window pool cannot hold one request, or leaves nothing for the rest."""
    text = event.text.lower() if event is not None else ""
    fraction, pre = read(context.account.fraction), read(context.account.pre_gib)
    step = f" (each 0.01 of it adds {pre / 100:.2f} GiB)" if pre is not None else ""
    now = f" from {fraction:g}" if fraction is not None else ""
    raised = f"Raise --mem-fraction-static{now}{step}: both pools grow with it."
    ruled = (Ruled("headroom", "nothing ran out of memory: the rule refused to size a pool"),)
    if "swa pool" in text:
        if "leaves no room" in text:
            advice: tuple[str, ...] = (
                "Lower --swa-full-tokens-ratio or the cap of the sliding-window pool: it takes the full pool's room.",
                raised,
            )
            return (
                "the sliding-window pool leaves nothing for the full-attention pool",
                ("swa-ratio", "raise-fraction"),
                advice,
                ruled,
            )
        advice = ("Raise --swa-full-tokens-ratio until the sliding-window pool holds one whole window and chunk.", raised)
        return "the sliding-window pool cannot hold one request", ("swa-ratio", "raise-fraction", "chunked-prefill"), advice, ruled
    advice = (
        "Give the states more: raise --mamba-full-memory-ratio, or set --max-mamba-cache-size to the requests that should run at once.",
        "Or ask for fewer: lower --max-running-requests; --mamba-ssm-dtype bfloat16 halves the recurrent states.",
        raised,
    )
    return "the pool for per-request states cannot hold one batch", ("mamba-ratio", "max-running-requests", "raise-fraction"), advice, ruled


def unbalanced(context: Context) -> Explained:
    """The ranks saw very different free memory: the least of them sizes the pool of all."""
    pre = read(context.account.pre_gib)
    least = f"; the least of them had {pre:.2f} GiB before the weights" if pre is not None else ""
    advice = (
        "See what holds the fullest GPU: nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv. Often: an old server.",
        "Neither raising nor lowering --mem-fraction-static mends it: free the GPU, or choose others with CUDA_VISIBLE_DEVICES.",
    )
    ruled = (Ruled("headroom", "the GPUs differ before anything of this server is in them"),)
    return f"the GPUs do not have the same free memory{least}", ("free-other-processes",), advice, ruled


def _field(event: Event | None, name: str) -> float | None:
    value = event.fields.get(name) if event is not None else None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value < 1e9 else None


def _ranks(context: Context) -> int:
    size = context.boot.number("tp_size") if context.boot is not None else None
    return int(size) if size is not None and 1 <= size < 1e4 else 1
