"""Names of SGLang's metrics by release (facts/observability.md 1.5), as data.

A field lists its names newest first: the first that a page has is taken. ``since`` is the oldest release
looked at that has any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from kvtui.domain.reading import Missing
from kvtui.domain.release import Release, parse_release

PREFIX: Final = "sglang:"
MONITORING: Final = ("/metrics", "/v1/loads", "/get_load", "/server_info", "/get_server_info", "/model_info", "/get_model_info", "/health")
"""Endpoints that watch a server and generate nothing for a client."""

Scope = Literal["load", "constant"]


@dataclass(frozen=True, slots=True)
class Name:
    """Where a field of ``RankRow`` comes from."""

    field: str
    names: tuple[str, ...]
    since: str = "0.4.6"
    scope: Scope = "load"
    """``constant``: exported by every rank, also by ranks that report no load."""
    mode: str = ""
    """Only series whose ``mode`` label begins with this and is not ``but_not``; several are added up."""
    but_not: str = ""
    largest: bool = False
    """With --enable-metrics-for-all-schedulers the ranks are replicas a moment apart: take the largest."""
    needs: str = ""
    """A switch without which the series is absent."""
    zero_is_missing: bool = False
    """0 means "not set yet"."""


NAMES: Final = (
    Name("running", ("num_running_reqs",), largest=True),
    Name("queued", ("num_queue_reqs",), largest=True),
    Name("grammar_queued", ("num_grammar_queue_reqs",), largest=True),
    Name("usage", ("token_usage",), largest=True),
    Name("full_usage", ("full_token_usage",), "0.5.10", largest=True),
    Name("swa_usage", ("swa_token_usage",), "0.5.3", largest=True),
    Name("mamba_usage", ("mamba_usage",), "0.5.6", largest=True),
    Name("used_tokens", ("num_used_tokens",), largest=True),
    Name("kv_used_tokens", ("kv_used_tokens",), "0.5.12"),
    Name("kv_evictable_tokens", ("kv_evictable_tokens",), "0.5.12"),
    Name("kv_available_tokens", ("kv_available_tokens",), "0.5.12"),
    Name("swa_used_tokens", ("swa_used_tokens",), "0.5.12"),
    Name("swa_evictable_tokens", ("swa_evictable_tokens",), "0.5.12"),
    Name("swa_available_tokens", ("swa_available_tokens",), "0.5.12"),
    Name("mamba_used", ("mamba_used_tokens",), "0.5.12"),
    Name("mamba_evictable", ("mamba_evictable_tokens",), "0.5.12"),
    Name("mamba_available", ("mamba_available_tokens",), "0.5.12"),
    Name("gen_tput", ("gen_throughput",), largest=True),
    Name("cache_hit_gauge", ("cache_hit_rate",), largest=True),
    Name("new_token_ratio", ("new_token_ratio",), "0.5.6"),
    Name("accept_len", ("spec_accept_length",), zero_is_missing=True),
    Name("accept_rate", ("spec_accept_rate",), "0.5.3"),
    Name("graph", ("is_cuda_graph",), "0.5.6"),
    Name("seq_len_sum", ("decode_sum_seq_lens",), "0.5.9"),
    Name("bootstrap_queued", ("num_prefill_bootstrap_queue_reqs", "num_prefill_prealloc_queue_reqs"), largest=True),
    # "infight" is how 0.4.6 to 0.4.10 spell it
    Name("inflight_queued", ("num_prefill_inflight_queue_reqs", "num_prefill_infight_queue_reqs"), largest=True),
    Name("prealloc_queued", ("num_decode_prealloc_queue_reqs",), largest=True),
    Name("transfer_queued", ("num_decode_transfer_queue_reqs",), largest=True),
    Name("occupancy", ("fwd_occupancy",), "0.5.12", needs="SGLANG_ENABLE_METRICS_DEVICE_TIMER=1"),
    Name("pool_tokens", ("max_total_num_tokens",), "0.5.6", "constant", zero_is_missing=True),
    Name("pool_tokens_swa", ("max_total_num_tokens_swa",), "0.5.18", "constant", needs="a model with sliding windows"),
    Name("page_size", ("page_size",), "0.5.9", "constant", zero_is_missing=True),
    Name("context_len", ("context_len",), "0.5.12", "constant", zero_is_missing=True),
    Name("host_used_tokens", ("hicache_host_used_tokens",), "0.5.10", needs="--enable-hierarchical-cache"),
    Name("host_total_tokens", ("hicache_host_total_tokens",), "0.5.10", needs="--enable-hierarchical-cache"),
    # 0.4.10 has a gauge of that name instead of the counter
    Name("retracted_total", ("num_retracted_requests_total", "total_retracted_reqs"), "0.4.10", largest=True),
    Name("retracted_input_total", ("num_retracted_input_tokens_total",), "0.5.9", largest=True),
    Name("retracted_output_total", ("num_retracted_output_tokens_total",), "0.5.9", largest=True),
    Name("prefill_compute_total", ("realtime_tokens_total",), "0.5.9", mode="prefill_compute", largest=True),
    Name("prefill_cache_total", ("realtime_tokens_total",), "0.5.9", mode="prefill_cache", largest=True),
    Name("decode_total", ("realtime_tokens_total",), "0.5.9", mode="decode", largest=True),
    Name("admitted_total", ("queue_time_seconds_count",), "0.5.3", largest=True),
    Name("graph_passes_total", ("cuda_graph_passes_total",), "0.5.9", mode="decode_", but_not="decode_none", largest=True),
    Name("eager_passes_total", ("cuda_graph_passes_total",), "0.5.9", mode="decode_none", largest=True),
    Name("idle_s_total", ("scheduler_idle_seconds_total",), "0.5.21", largest=True),
)

GPU_NAMES: Final = (
    Name("startup_free_gib", ("startup_available_gpu_memory_gb",), "0.5.12", "constant"),
    Name("weight_gib", ("weight_memory_usage_gb",), "0.5.18", "constant"),
    Name("kv_gib", ("kv_cache_memory_usage_gb",), "0.5.18", "constant"),
    Name("graph_gib", ("graph_memory_usage_gb",), "0.5.18", "constant"),
)

COUNTER_NAMES: Final = (
    Name("prompt_tokens", ("prompt_tokens_total",)),
    Name("generation_tokens", ("generation_tokens_total",)),
    Name("cached_tokens", ("cached_tokens_total",)),
    Name("requests", ("num_requests_total",)),
    Name("aborted", ("num_aborted_requests_total",), "0.4.10"),
)

HISTOGRAM_NAMES: Final = (
    Name("ttft", ("time_to_first_token_seconds",)),
    Name("itl", ("inter_token_latency_seconds",)),
    Name("e2e", ("e2e_request_latency_seconds",)),
    Name("queue_time", ("queue_time_seconds",), "0.5.3"),
)

HTTP_ACTIVE: Final = "http_requests_active"
PAGES_INFO: Final = "cache_config_info"
NUM_PAGES: Final = "num_pages"

WANTED: Final = frozenset(
    [PREFIX + name for entry in (*NAMES, *GPU_NAMES, *COUNTER_NAMES) for name in entry.names]
    + [PREFIX + name + suffix for entry in HISTOGRAM_NAMES for name in entry.names for suffix in ("_bucket", "_sum", "_count")]
    + [PREFIX + name for name in (HTTP_ACTIVE, PAGES_INFO, NUM_PAGES)]
)
"""Every sample name that is used; all others are dropped before parsing."""


@lru_cache(maxsize=2_048)
def absent(entry: Name, release: Release | None) -> Missing:
    """Why a page does not have a field."""
    first = parse_release(entry.since)
    if entry.since != "0.4.6" and (release is None or (first is not None and release.base < first.base)):
        told = f"; this server is {release}" if release is not None else ""
        return Missing(f"in /metrics from {entry.since} on{told}")
    if entry.needs:
        return Missing(f"absent without {entry.needs}")
    return Missing(f"no {PREFIX}{entry.names[0]} on the page yet")
