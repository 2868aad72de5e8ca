"""The lines of a start: arguments, weights, pool, graphs, the final line; or how it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kvtui.domain.geometry import Attention
from kvtui.domain.units import GB, GIB
from kvtui.scenarios.box import Box
from kvtui.scenarios.situation import Crash
from kvtui.scenarios.start import Start
from kvtui.scenarios.wording import Wording

Timed = tuple[float, str, str]
"""Seconds since the start began, the rank prefix, the message."""

UP_S = 62.0
"""Seconds from the first line to the server being up."""
_RANK_SPREAD_GIB = 0.012
_BALANCED = 0.9
"""Least over most free memory below which a start complains."""
_RESET_TO_48 = (
    "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting --max-running-requests."
)
_LATENT = frozenset((Attention.MLA, Attention.DSA))


def prefixes(box: Box) -> list[str]:
    """Rank prefixes of all schedulers; a part is printed only where its size is above 1."""
    return [(f" DP{dp}" if box.dp > 1 else "") + (f" TP{tp}" if box.tp > 1 else "") for dp in range(box.dp) for tp in range(box.tp)]


def heads(box: Box) -> list[str]:
    """Prefixes of the ranks that print batch lines: one a data-parallel rank."""
    return prefixes(box)[:: box.tp]


def start_lines(box: Box, start: Start, crash: Crash = "") -> Iterator[Timed]:
    """The whole start in order of time."""
    wording = Wording(box.version)
    yield 0.0, "", wording.server_args(box.settings())
    if box.draft is not None and "max_running_requests" not in box.flags:
        yield 0.2, "", _RESET_TO_48
    yield from _weights(box, wording)
    if start.failed == "no-memory":
        yield from _refused(box, start)
        return
    yield from _pools(box, start, wording)
    if start.failed in {"killed", "host-memory"}:
        yield from _host_crash(box, start)
        return
    if crash == "nccl":
        error = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3384, unhandled system error, NCCL version 2.27.3"
        yield from _exception(box, 50.0, error)
        return
    yield from _graphs(box, start, wording, failing=bool(start.failed))
    if start.failed:
        return
    for prefix in heads(box):
        yield 60.0, prefix, _final(box, start)
    yield 61.0, "", f"INFO:     Uvicorn running on http://127.0.0.1:{box.value('port')} (Press CTRL+C to quit)"
    yield UP_S, "", "The server is fired up and ready to roll!"


def _final(box: Box, start: Start) -> str:
    context = box.value("context_length") or box.geometry.context_len
    return (
        f"max_total_num_tokens={start.tokens}, chunked_prefill_size={box.value('chunked_prefill_size')}, "
        f"max_prefill_tokens={box.value('max_prefill_tokens')}, max_running_requests={start.cap}, context_len={context}, "
        f"available_gpu_mem={start.available_gib + box.spare_gib(0):.2f} GB"
    )


def _each(box: Box, at: float, text: str | Callable[[float], str]) -> Iterator[Timed]:
    """A line of every rank; a function makes it of what that rank has free beyond the fullest."""
    for rank, prefix in enumerate(prefixes(box)):
        yield at, prefix, text if isinstance(text, str) else text(_spread(box, rank))


def _spread(box: Box, rank: int) -> float:
    """How much more one rank has free than the fullest; never less, since sizing takes the minimum."""
    return box.spare_gib(rank) if box.foreign else rank % 4 * _RANK_SPREAD_GIB


def _weights(box: Box, wording: Wording) -> Iterator[Timed]:
    for text in wording.init(box.context_gib):
        yield from _each(box, 4.0, text)
    most = max(box.spare_gib(rank) for rank in range(len(prefixes(box)))) + box.pre_gib
    if box.pre_gib < _BALANCED * most:
        text = f"The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory={box.pre_gib}"
        yield 6.0, heads(box)[0], f"{text}, local_gpu_memory={most}, local_gpu_memory * 0.9={_BALANCED * most}"
    post, kind = box.post_gib, box.geometry.architecture
    yield from _load(box, wording, (8.0, 45.0), (box.pre_gib, post), kind)
    if box.draft is not None and wording.draft_early:
        yield from _load(box, wording, (45.0, 47.0), (post, post - box.draft.weights_gib), box.draft.architecture)


def _load(box: Box, wording: Wording, at: tuple[float, float], free: tuple[float, float], kind: str) -> Iterator[Timed]:
    loads = [
        wording.weights(free[0] + _spread(box, i), free[1] + _spread(box, i), kind, at[1] - at[0] + 0.1 * i)
        for i in range(len(prefixes(box)))
    ]
    for which in (0, 1):
        for prefix, texts in zip(prefixes(box), loads, strict=True):
            yield at[which], prefix, texts[which]


def _pools(box: Box, start: Start, wording: Wording) -> Iterator[Timed]:
    sized = start.sizing
    if sized is None:
        return
    latent = box.geometry.attention in _LATENT
    dtype = "float8_e4m3fn" if str(box.value("kv_cache_dtype")).startswith("fp8") else "bfloat16"
    yield 48.0, heads(box)[0], f"Using KV cache dtype: torch.{dtype}"
    if sized.swa is not None and sized.full is not None:
        yield from _each(box, 48.0, f"Use sliding window memory pool. full_layer_tokens={sized.full}, swa_layer_tokens={sized.swa}")
    else:
        yield from _each(box, 48.0, wording.pool(sized.tokens, start.kv_gib, latent=latent, dtype=dtype))
    yield from _each(box, 48.2, lambda more: f"Memory pool end. avail mem={start.pool_end_gib + more:.2f} GB")
    if box.switch("enable_hierarchical_cache"):
        gb = start.host_gib * GIB / GB
        yield from _each(box, 48.4, wording.host_pool(gb, int(gb * GB / sized.cell.bytes)))
    if box.draft is not None and wording.draft_early:
        yield from _draft_pool(box, start, wording, 48.6, start.pool_end_gib - start.draft_kv_gib)


def _draft_pool(box: Box, start: Start, wording: Wording, at: float, free: float) -> Iterator[Timed]:
    yield from _each(box, at, wording.pool(start.tokens, start.draft_kv_gib, latent=False, dtype="bfloat16"))
    yield from _each(box, at + 0.1, lambda more: f"Memory pool end. avail mem={free + more:.2f} GB")


def _graphs(box: Box, start: Start, wording: Wording, *, failing: bool) -> Iterator[Timed]:
    before = start.pool_end_gib - (start.draft_kv_gib if wording.draft_early else 0.0)
    if box.graph_max:
        sizes = ", ".join(str(size) for size in (1, 2, 4, *range(8, box.graph_max + 1, 8)) if size <= box.graph_max)

        def capture(more: float) -> tuple[str, str, str]:
            return wording.capture(before + more, before - start.graphs_gib + more, sizes, verify=box.draft is not None)

        listed = capture(0.0)[1]
        yield from _each(box, 49.0, lambda more: capture(more)[0])
        if listed:
            yield 49.1, prefixes(box)[0], listed
        if failing:
            yield from _capture_failed(box, max(before, 0.0))
            return
        yield from _each(box, 56.0, lambda more: capture(more)[2])
    elif failing:
        yield from _exception(box, 50.0, _out_of_memory(box, max(before, 0.02), 0.5))
        return
    if box.draft is not None and not wording.draft_early:
        free = before - start.graphs_gib
        yield from _load(box, wording, (56.5, 58.0), (free, free - box.draft.weights_gib), box.draft.architecture)
        yield from _draft_pool(box, start, wording, 58.2, start.available_gib)


def _refused(box: Box, start: Start) -> Iterator[Timed]:
    fraction = box.number("mem_fraction_static", 0.88)
    least = 1 - start.post_gib / box.pre_gib
    head = "Not enough memory. Please try to increase --mem-fraction-static."
    if box.version.base >= (0, 5, 9):
        head += f" Current value: self.server_args.mem_fraction_static={fraction}"
    if box.version.base >= (0, 5, 15):
        head = (
            f"Loaded weights leave no GPU memory for the KV cache at --mem-fraction-static {fraction}: "
            f"raise --mem-fraction-static above {least:.3f} or free other GPU memory."
        )
    yield from _exception(box, 48.0, f"RuntimeError: {head}")


def _capture_failed(box: Box, free: float) -> Iterator[Timed]:
    yield from _exception(
        box,
        52.0,
        f"Exception: Capture cuda graph failed: {_out_of_memory(box, free, 0.25).split(': ', 1)[1]}\nPossible solutions:\n"
        "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n",
    )


def _out_of_memory(box: Box, free: float, wanted: float) -> str:
    total = box.card.total_gib
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU 0 has a total capacity of {total:.2f} GiB "
        f"of which {min(free, wanted * 0.8) * 1024:.2f} MiB is free. Including non-PyTorch memory, "
        f"this process has {total - free:.2f} GiB memory in use."
    )


def forward_failure(box: Box, rank: str) -> Iterator[tuple[str, str]]:
    """Rank prefix and text of an out-of-memory in a forward pass of a running server."""
    error = _out_of_memory(box, 0.1, 0.9)
    yield rank, _traceback("self.run_batch(batch)", "forward_extend", error)
    yield "", "SIGQUIT received. signum=None, frame=None. It usually means one child failed."


def _exception(box: Box, at: float, error: str) -> Iterator[Timed]:
    yield at, prefixes(box)[0], _traceback("scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank)", "initialize", error)
    yield at + 0.5, "", "Received sigquit from a child process. It usually means the child failed."


def _traceback(call: str, function: str, error: str) -> str:
    return (
        "Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/usr/local/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 3130, in run_scheduler_process\n'
        f"    {call}\n"
        f'  File "/usr/local/lib/python3.12/site-packages/sglang/srt/model_executor/model_runner.py", line 402, in {function}\n'
        f"{error}\n"
    )


def _host_crash(box: Box, start: Start) -> Iterator[Timed]:
    if start.failed == "host-memory":
        asked, free = start.host_gib * GIB / GB, 0.93 * box.host_gib * GIB / GB
        yield from _exception(
            box,
            50.0,
            f"ValueError: Not enough host memory available. Requesting {asked:.2f} GB but only have {free:.2f} GB free. "
            "Please reduce the size of the hierarchical cache.",
        )
        return
    yield 52.0, "", "Subprocess scheduler_0 (pid=4101) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
    yield 52.2, "", "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
