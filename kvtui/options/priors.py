"""What public before/after measurements gave, by lever and condition: ratios of throughput, afterwards over before.

Source: 191 public records, their 10th, 50th and 90th percentile (facts/diagnoses.md 7). A stated range is that span
widened by a tenth on both sides, because repeats on a live server differ by about as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.domain.plan import Speed
from kvtui.domain.reading import Missing

WIDER: Final = 1.1
LEAST_PAIRS: Final = 3
"""Pairs below which a condition has no range."""


@dataclass(frozen=True, slots=True)
class Prior:
    """One lever under one condition."""

    low: float
    mid: float
    high: float
    pairs: int
    condition: str


PRIORS: Final = {
    "chunk, prefill-bound": Prior(1.37, 1.44, 1.67, 4, "a chunk of 2,048 a rank, prompts of 8k, prefill the limit"),
    "graphs on": Prior(1.70, 1.88, 2.11, 4, "CUDA graphs off to on, small batches, below 32k of context"),
    "dcp, KV-bound": Prior(1.70, 1.94, 2.18, 2, "decode context parallelism where the pool is the limit"),
    "dcp, short context": Prior(0.63, 0.71, 0.89, 7, "decode context parallelism at short context, the pool not the limit"),
    "dp attention, KV-bound": Prior(1.08, 1.08, 1.08, 1, "DP attention where the pool is the limit"),
    "fp8, same batch": Prior(0.58, 1.01, 1.08, 6, "fp8 KV at the same batch; the low end is a kernel that does not fuse it"),
    "two times the GPUs, NVLink": Prior(1.26, 1.30, 1.33, 2, "twice the GPUs over NVLink"),
    "two times the GPUs, PCIe": Prior(0.60, 0.69, 0.82, 3, "twice the GPUs over PCIe"),
    "page size": Prior(1.15, 1.16, 1.16, 2, "page size 1 to 64 or 128"),
    "all-reduce, tuned": Prior(1.10, 1.11, 1.15, 10, "tuned all-reduce kernel or NCCL settings over PCIe"),
    "all-reduce, 2 GPUs": Prior(1.00, 1.00, 1.00, 2, "the same on two GPUs"),
    "draft length": Prior(0.84, 0.97, 1.02, 8, "other draft lengths than today's, from settings that were good already"),
    "pipeline": Prior(0.37, 0.37, 0.37, 1, "pipeline in place of tensor parallelism"),
    "weights in 8 bits": Prior(1.11, 1.25, 1.70, 7, "16-bit to 8-bit weights"),
    "weights in 4 bits": Prior(0.65, 0.97, 1.28, 2, "16-bit to 4-bit weights"),
    "state slots": Prior(1.21, 1.21, 1.21, 1, "fewer states a cached path"),
    "draft off, 1 to 2 clients": Prior(0.49, 0.57, 1.06, 8, "speculation off against on, up to 16k of context, 1 to 2 clients"),
    "draft off, 3 to 16 clients": Prior(0.55, 0.63, 0.96, 9, "speculation off against on, up to 16k of context, 4 to 16 clients"),
    "draft off, more clients": Prior(0.68, 0.74, 0.85, 5, "speculation off against on, up to 16k of context, 20 clients or more"),
    "draft off, long context": Prior(0.52, 1.32, 1.85, 5, "speculation off against on, above 16k of context, 1 to 2 clients"),
    "routing, working set too large": Prior(1.84, 1.84, 1.84, 1, "cache-aware routing where shared prefixes exceed a replica's pool"),
}  # fmt: skip


def speed(name: str) -> Speed | Missing:
    """The widened range of a condition; Missing where fewer than three pairs stand behind it."""
    prior = PRIORS[name]
    if prior.pairs < LEAST_PAIRS:
        return Missing(too_little(name))
    return Speed(prior.low / WIDER, prior.mid, prior.high * WIDER, f"{prior.pairs} public pairs: {prior.condition}")


def too_little(name: str) -> str:
    """Why a condition has no range, with what there is."""
    prior = PRIORS[name]
    told = _percent(prior.low) if prior.low == prior.high else f"{_percent(prior.low)} … {_percent(prior.high)}"
    return f"too little evidence ({prior.pairs} public pair{'s' if prior.pairs > 1 else ''}, {told}: {prior.condition})"


def _percent(ratio: float) -> str:
    change = round((ratio - 1) * 100)
    return f"{'+' if change > 0 else '−' if change < 0 else '±'}{abs(change)}%"
