"""Settings that the server changed by itself: which one, and to what."""

from __future__ import annotations

import re
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.parse.commands import ALIASES
from kvtui.parse.literals import scalar

_VALUE: Final = r"[\"'`]?(-?\d[\d.]*(?:e-?\d+)?|True|False|None|[A-Za-z_][\w.-]{0,60})[\"'`]?"
_NAME: Final = r"[\"'`]?(?:--)?([A-Za-z][A-Za-z0-9_ -]{2,48}?)[\"'`]?"
_CHANGES: Final = (
    re.compile(
        rf"(?i)^\W{{0,4}}(?:re)?(?:set|setting|adjusting|changing|overriding|forcing|"
        rf"reducing) (?:the )?{_NAME} (?:from [\w.-]{{1,40}} )?to (?:be )?{_VALUE}"
    ),
    re.compile(
        rf"(?i)(?:^\s*|[.;,:] |\bthe ){_NAME} (?:is|was|has been) (?:automatically |now )?(?:re)?(?:set|"
        rf"adjusted|changed|reduced|overridden|overwritten)(?: from [\w.-]{{1,40}})? to {_VALUE}"
    ),
    re.compile(rf"(?i)^\W{{0,4}}(?:set|setting) {_NAME}\s?=\s?{_VALUE}"),
)
_SWITCH: Final = re.compile(r"(?i)--([a-z][a-z-]{2,60}) is (?:automatically |also )?(?:set|enabled|turned on)(?: to true)?(?![\w ]* to )")
_OFF: Final = (
    (
        re.compile(r"(?i)(?:disabl(?:e|ing) (?:the )?overlap sched|overlap sched\w* is (?:automatically )?disabled)"),
        "disable_overlap_schedule",
    ),
    (re.compile(r"(?i)(?:^|the )cuda graph is (?:automatically )?disabled|^disabling cuda graph"), "disable_cuda_graph"),
    (
        re.compile(r"(?i)(?:disabl(?:e|ing) (?:the )?radix cache|radix (?:cache|tree) is (?:automatically )?disabled)"),
        "disable_radix_cache",
    ),
    (
        re.compile(
            r"(?i)(?:disabl(?:e|ing) (?:the )?chunked prefix cache|chunked prefix cache is (?:automatically )?(?:disabled|turned off))"
        ),
        "disable_chunked_prefix_cache",
    ),
    (
        re.compile(r"(?i)(?:disabl(?:e|ing) (?:the )?custom all-?reduce|custom all-?reduce is (?:automatically )?disabled)"),
        "disable_custom_all_reduce",
    ),
)
_SPOKEN: Final = {
    "max_running_requests": "max_running_requests",
    "max_running_request": "max_running_requests",
    "chunked_prefill_size": "chunked_prefill_size",
    "page_size": "page_size",
    "kv_cache_dtype": "kv_cache_dtype",
    "memory_fraction": "mem_fraction_static",
    "attention_backend": "attention_backend",
    "tensor_parallel_size": "tp_size",
}
_KNOWN: Final = frozenset(
    (
        "attention_backend",
        "chunked_prefill_size",
        "context_length",
        "cpu_offload_gb",
        "cuda_graph_max_bs",
        "decode_attention_backend",
        "disable_cuda_graph",
        "disable_hybrid_swa_memory",
        "disable_overlap_schedule",
        "disable_radix_cache",
        "disable_shared_experts_fusion",
        "dp_size",
        "dtype",
        "enable_mixed_chunk",
        "ep_size",
        "hicache_io_backend",
        "hicache_mem_layout",
        "hicache_ratio",
        "hicache_size",
        "hicache_write_policy",
        "kv_cache_dtype",
        "mamba_full_memory_ratio",
        "mamba_scheduler_strategy",
        "max_mamba_cache_size",
        "max_prefill_tokens",
        "max_queued_requests",
        "max_running_requests",
        "max_total_tokens",
        "mem_fraction_static",
        "moe_a2a_backend",
        "moe_runner_backend",
        "num_continuous_decode_steps",
        "page_size",
        "pp_size",
        "prefill_attention_backend",
        "quantization",
        "schedule_conservativeness",
        "schedule_policy",
        "speculative_algorithm",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
        "speculative_num_steps",
        "stream_interval",
        "swa_full_tokens_ratio",
        "tp_size",
        "watchdog_timeout",
    )
)
"""Settings that lines in the words above speak of; others are told as events only."""


def forced_setting(message: str) -> tuple[str, Scalar] | None:
    """Name and value of the setting that a line says was changed; None where it names none that is known."""
    text = message[:1_000]
    for pattern in _CHANGES:
        for match in pattern.finditer(text):
            name = _field(match[1])
            if name is not None:
                return name, scalar(match[2].rstrip("."))
    switch = _SWITCH.search(text)
    if switch is not None:
        return switch[1].replace("-", "_"), True
    return next(((name, True) for pattern, name in _OFF if pattern.search(text)), None)


def _field(words: str) -> str | None:
    name = re.sub(r"[\s-]+", "_", words.strip().lower()).removeprefix("the_")
    name = ALIASES.get(name, _SPOKEN.get(name, name))
    return name if name in _KNOWN else None
