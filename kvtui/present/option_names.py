"""What each option is called where no estimate names it; the wording of ``fixes`` without numbers."""

from __future__ import annotations

from typing import Final

from kvtui.domain.estimate import OptionId

OPTION_NAMES: Final[dict[OptionId, str]] = {
    "raise-fraction": "raise --mem-fraction-static",
    "lower-fraction": "lower --mem-fraction-static",
    "fp8-kv": "fp8 KV cache (--kv-cache-dtype fp8_e4m3)",
    "fp4-kv": "fp4 KV cache",
    "hicache": "hierarchical cache (--enable-hierarchical-cache)",
    "cap-max-new-tokens": "have clients send max_tokens",
    "conservativeness": "--schedule-conservativeness",
    "max-running-requests": "--max-running-requests",
    "chunked-prefill": "--chunked-prefill-size",
    "cuda-graph-max-bs": "the largest captured batch (--cuda-graph-max-bs)",
    "context-length": "--context-length",
    "drop-draft": "drop the draft model",
    "dp-attention": "data-parallel attention (--enable-dp-attention)",
    "dcp": "decode context parallelism (--dcp-size)",
    "pp-for-tp": "pipeline stages in place of tensor parallelism (--pp-size)",
    "page-size": "--page-size",
    "swa-ratio": "--swa-full-tokens-ratio",
    "mamba-ratio": "--mamba-full-memory-ratio",
    "free-other-processes": "stop other processes on the GPUs, then restart",
    "tune-allreduce": "tune all-reduce (NCCL over PCIe)",
    "trim-speculation": "fewer draft steps or tokens",
    "quantize-weights": "quantise the weights",
    "more-gpus": "spread the model over more GPUs (--tp-size)",
    "cache-aware-routing": "a cache-aware router in front of several replicas",
    "remove-leftover-flags": "remove leftover flags",
    "client-concurrency": "more requests at once from the clients",
}


def option_name(option: str) -> str:
    """The plain name of an option id; the id itself where it is not one of ours."""
    return next((name for key, name in OPTION_NAMES.items() if key == option), option)
