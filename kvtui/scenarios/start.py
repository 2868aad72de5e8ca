"""What a start makes of a box: its pool, what is free after each part, how long its steps take; or why it fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from kvtui.domain.sizing import Sizing, SizingError, size
from kvtui.domain.units import GB, GIB, MIB
from kvtui.scenarios.box import DRAFT_BEFORE_SIZING, Box
from kvtui.twin import Server, StepTimes

_GRAPH_MIB_PER_SIZE: Final = 3.0
_GRAPH_BASE_GIB: Final = 0.8
_ACTIVATION_BASE_GIB: Final = 0.35
_ACTIVATION_MIB_PER_TOKEN: Final = 0.12
_EAGER: Final = 0.6
"""What launching kernels one by one adds to a step, over its fixed part (facts/diagnoses.md 7: +70 to +110 % of throughput)."""
_NO_OVERLAP: Final = 0.2
_OFFLOAD_BYTES_S: Final = 25e9
"""Offloaded weights cross PCIe in every step (facts/diagnoses.md V26)."""
_HOST_SPARE_GIB: Final = 10
_HOST_SUMMED: Final = (0, 5, 21)
_HOST_SHARE: Final = 0.8
_HOST_MOST: Final = 0.92

Failed = Literal["", "no-memory", "host-memory", "killed", "draft", "capture"]
"""Nothing left for the pool; HiCache refused, or killed with the rest by the operating system; no room for draft or graphs."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a start comes to: its pool, and what is free after each part. GiB a GPU."""

    failed: Failed
    why: str = ""
    post_gib: float = 0.0
    sizing: Sizing | None = None
    kv_gib: float = 0.0
    draft_kv_gib: float = 0.0
    pool_end_gib: float = 0.0
    graphs_gib: float = 0.0
    host_gib: float = 0.0
    """HiCache's pool of one rank."""
    available_gib: float = 0.0
    """Free once it is up."""

    @property
    def tokens(self) -> int:
        """``max_total_num_tokens``; 0 where it did not start."""
        return 0 if self.sizing is None or self.failed else self.sizing.tokens

    @property
    def cap(self) -> int:
        """Effective ``max_running_requests`` of a rank."""
        return 2048 if self.sizing is None or self.sizing.reqs is None else max(1, self.sizing.reqs)


def start_of(box: Box) -> Start:
    """The start of a box: sized exactly, then the request table, the draft and the graphs out of what the pool leaves."""
    post = box.post_gib
    try:
        config = box.sizing_config()
        sized = size(config)
    except SizingError as error:
        return Start("no-memory", error.message, post)
    late = box.draft is not None and box.version.base < DRAFT_BEFORE_SIZING
    kv = (sized.tokens + config.page_size) * sized.cell.bytes / GIB
    draft_kv = box.draft.cell_bytes * sized.tokens / GIB if box.draft is not None else 0.0
    if box.draft is not None and not late:
        # The cell already prices the draft's part from 0.5.15 on: the target's pool is the rest of it.
        kv *= config.layers / (config.layers + 1)
    rows = sized.req_slots or 2048
    table = rows * ((config.context_len or 4096) + 4) * 4 / GIB
    draft_weights = box.draft.weights_gib if box.draft is not None else 0.0
    end = post - kv - table - (0.0 if late else draft_weights)
    graphs = _GRAPH_BASE_GIB + _GRAPH_MIB_PER_SIZE * box.graph_max / 1024 if box.graph_max else 0.0
    free = end - graphs - draft_kv - (draft_weights if late else 0.0)
    host = _host_pool(box, kv)
    found = Start("", "", post, sized, kv, draft_kv, end, graphs, host, free)
    refused = _host_refusal(box, host)
    if refused:
        return replace(found, failed=refused, why=f"{host:.1f} GiB a rank of {box.host_gib:.0f} GiB of host memory")
    if end - draft_kv - (draft_weights if late else 0.0) <= 0.05:
        return replace(
            found, failed="draft" if box.draft is not None else "capture", why=f"{max(end, 0.0):.2f} GiB are left after the pool"
        )
    if free <= 0.05:
        return replace(found, failed="capture", why=f"graphs take {graphs:.2f} GiB and {end:.2f} GiB are left")
    return found


def _host_pool(box: Box, kv: float) -> float:
    """HiCache's host pool of one rank: its size where set (decimal GB), else its ratio times the device pool."""
    if not box.switch("enable_hierarchical_cache"):
        return 0.0
    return box.number("hicache_size", 0) * GB / GIB or kv * box.number("hicache_ratio", 2.0)


def _host_refusal(box: Box, host: float) -> Failed:
    """Each rank checks the free memory alone, so that together they can exhaust it (facts/diagnoses.md V10); 0.5.21 and later add up."""
    ranks = box.tp * box.dp
    if host > box.host_gib - _HOST_SPARE_GIB or (box.version.base >= _HOST_SUMMED and host * ranks > _HOST_SHARE * box.host_gib):
        return "host-memory"
    return "killed" if host * ranks > _HOST_MOST * box.host_gib else ""


def activation_gib(box: Box) -> float:
    """What the largest prefill pass needs beside everything: a chunk's worth of activations."""
    return _ACTIVATION_BASE_GIB + (box.chunk or 16384) * _ACTIVATION_MIB_PER_TOKEN * MIB / GIB


def twin_server(box: Box, start: Start) -> Server:
    """One data-parallel rank of a server that came up, as the twin takes it. Raises ValueError where it did not."""
    if start.failed:
        raise ValueError("a server that did not start serves nothing")
    draft = box.draft
    return Server(
        pool_tokens=start.tokens,
        running_cap=start.cap,
        release=box.version,
        page=int(box.number("page_size", 1)),
        chunk=box.chunk,
        max_prefill_tokens=int(box.number("max_prefill_tokens", 16384)),
        conservativeness=box.number("schedule_conservativeness", 1.0),
        radix=not box.switch("disable_radix_cache"),
        context_len=int(box.number("context_length", 0)) or box.geometry.context_len,
        accept_len=draft.accept_len if draft is not None else 1.0,
        draft_tokens=draft.tokens if draft is not None else 0,
    )


def step_times(box: Box, times: StepTimes) -> StepTimes:
    """``times`` of a plain server with CUDA graphs, as this box has them: with its draft, its KV dtype, its captured sizes."""
    base = times.base_s * (box.draft.cost if box.draft is not None else 1.0)
    base *= 1 + _NO_OVERLAP if box.switch("disable_overlap_schedule") else 1.0
    base += (box.weights_gib - box.resident_gib) * GIB / _OFFLOAD_BYTES_S
    per_token = times.per_token_s * (0.5 if str(box.value("kv_cache_dtype")).startswith("fp8") else 1.0)
    times = replace(times, base_s=base, per_token_s=per_token)
    largest = box.graph_max
    if not largest:
        return replace(times, base_s=base * (1 + _EAGER))
    low, high = times.decode_s(1), times.decode_s(largest)
    beyond = tuple((count, times.decode_s(count) + _EAGER * base) for count in (largest + 1, 8 * largest))
    return replace(times, measured=((1, low), (largest, high), *beyond) if largest > 1 else ((1, low), *beyond))
