"""V11: decode runs without CUDA graphs."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.diagnose.steps import graph_share
from kvtui.domain.boot import Boot
from kvtui.domain.finding import Evidence, Finding
from kvtui.domain.picture import Level, Picture

_WITH_GRAPH = 0.5


@rule("cuda-graph")
def cuda_graph(context: Context) -> Finding | None:
    """Most decode lines say False; prefill lines are not judged, they say False as a rule (V11)."""
    boot, rank = context.boot, context.rank
    if rank is None or not context.loaded or (boot is not None and boot.text("device") == "cpu"):
        return None
    share, running = graph_share(context), read(rank.running)
    if share is None or running is None or share >= _WITH_GRAPH:
        return None
    sizes = (
        [size for memory in boot.ranks for capture in memory.captures if not capture.draft for size in capture.batch_sizes]
        if boot is not None
        else []
    )
    largest = max(sizes, default=None) or _setting(boot)
    off = boot is not None and boot.switch("disable_cuda_graph")
    if off:
        why = "--disable-cuda-graph is set"
    elif largest is not None and running > largest:
        why = f"{running:.0f} requests run and the largest captured batch is {largest}"
    else:
        why = "nothing tells why: either graphs are off, or the batch exceeds the largest captured one"
    return Finding(
        id="cuda-graph",
        title="Decode runs without CUDA graphs",
        sentence=f"{1 - share:.0%} of the decode passes run without a CUDA graph at {running:.0f} running requests; {why}.",
        axis="step",
        confidence=context.confidence if off or largest is not None else "low",
        since=first_at(context),
        evidence=(
            proof(f"a CUDA graph in {share:.0%} of the decode passes", rank.graph_share),
            *((Evidence(f"captured up to {largest}", "log" if sizes else "server arguments"),) if largest else ()),
        ),
        fixes=("remove-leftover-flags",) if off else ("cuda-graph-max-bs",),
        advice=()
        if off
        else (f"Start with --cuda-graph-max-bs {max(8, int(running) + 1)} or more (--cuda-graph-max-bs-decode from 0.5.15).",),
        verify=("decode lines say cuda graph: True at the same running requests",),
        needs=() if off or largest is not None else ("the start lines: Capture cuda graph bs",),
        pictures=_pictures(None if off else largest),
    )


def _pictures(largest: int | None) -> tuple[Picture, ...]:
    share = Picture(
        "graph",
        "This share of the decode passes runs as a graph; the others pay for each kernel.",
        (Level(_WITH_GRAPH, "most do, above it"),),
    )
    if largest is None:
        return (share,)
    level = Level(largest, f"largest captured batch {largest:,}", fault=True)
    return (Picture("load", "What runs above the line has no graph.", (level,)), share)


def _setting(boot: Boot | None) -> int | None:
    """Largest captured batch as set; its name changed in 0.5.15."""
    for name in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"):
        size = boot.number(name) if boot is not None else None
        if size is not None and 1 <= size < 1e6:
            return int(size)
    return None
