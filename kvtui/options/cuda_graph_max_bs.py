"""The largest captured batch: up where batches exceed it, down where its memory is wanted (facts/diagnoses.md V11)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, standstill
from kvtui.options.flags import graph_batch_flag
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect
from kvtui.options.measured import by_change, measured

_TITLE: Final = "cuda-graph-max-bs"
_PLANNED_GIB: Final = 2 / 1024
"""GiB a unit of batch by SGLang's own estimate (facts/memory.md 3), where the log shows no capture."""
_STEP: Final = 8
_SMALL_BATCH: Final = 32.0
"""Up to here public pairs measured what graphs are worth."""
_LONG: Final = 32_768.0
_WORTH_GIB: Final = 0.25
_FOR_START: Final = 16
"""What startup advice captures where memory ran out (facts/diagnoses.md 2.1: a community command for this model)."""


@lever("cuda-graph-max-bs")
def cuda_graph_max_bs(context: OptionContext) -> Estimate:
    """Cover what runs; what is captured beyond it only takes memory."""
    boot, running = context.boot, finite(context.workload.running_peak)
    if boot is None or boot.switch("disable_cuda_graph"):
        return not_here(context, "cuda-graph-max-bs", _TITLE, "graphs are off: see the leftover flags" if boot else "settings are unknown")
    if boot.text("device") not in (None, "cuda"):
        return not_here(context, "cuda-graph-max-bs", _TITLE, f"there are no CUDA graphs on {boot.text('device')}")
    largest = captured(context)
    failure = context.found("startup-failure")
    if failure is not None and "cuda-graph-max-bs" in failure.fixes:
        return _for_a_start(context, largest)
    if largest is None:
        return not_here(context, "cuda-graph-max-bs", _TITLE, "the captured batches are unknown")
    if running is None:
        return not_here(context, "cuda-graph-max-bs", _TITLE, f"batches up to {largest:,} are captured, and no load was seen")
    if running > largest:
        return _cover(context, largest, running)
    return _trim(context, largest, running)


def captured(context: OptionContext) -> int | None:
    """Largest captured decode batch: from the capture lines, else from the settings."""
    boot = context.boot
    if boot is None:
        return None
    sizes = [max(c.batch_sizes) for memory in boot.ranks for c in memory.captures if c.batch_sizes and not c.draft]
    told = [value for name in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs") if (value := boot.number(name)) is not None]
    most = max(sizes) if sizes else int(told[0]) if told and 0 < told[0] < 1e6 else None
    return most if most and most > 0 else None


def _each_gib(context: OptionContext, largest: int) -> float:
    """GiB a unit of batch: what the capture took, else SGLang's estimate."""
    graphs = finite(context.account.graphs_gib)
    return graphs / largest if graphs is not None and graphs > 0 else _PLANNED_GIB


def _cover(context: OptionContext, largest: int, running: float) -> Estimate:
    wanted = math.ceil(running * 1.1 / _STEP) * _STEP
    base = replace(
        today(context, "cuda-graph-max-bs", f"capture batches up to {wanted:,} (today {largest:,})"),
        flags=(graph_batch_flag(context.release, wanted),),
        verify=f"decode lines say cuda graph: True at {running:.0f} running requests",
        notes=("only decode lines count: prefill lines say False as a rule",),
    )
    change = Change(headroom_gib=-(wanted - largest) * _each_gib(context, largest))
    resident = finite(context.workload.resident)
    if running <= _SMALL_BATCH and resident is not None and resident < _LONG:
        change = measured(change, "graphs on")
    else:
        change = replace(change, unknown="what graphs are worth was measured on small batches at short context only")
    placed = by_change(base, context, change)
    risk, words = headroom_risk(placed.headroom_gib)
    return replace(placed, risk=risk, risk_text=f"the capture takes memory outside the pool; {words}")


def _for_a_start(context: OptionContext, largest: int | None) -> Estimate:
    """The capture failed, or memory ran out around it."""
    if largest is not None and largest <= _FOR_START:
        return not_here(context, "cuda-graph-max-bs", _TITLE, f"only batches up to {largest} are captured")
    base = replace(
        today(context, "cuda-graph-max-bs", f"capture batches up to {_FOR_START}" + (f" (today {largest:,})" if largest else "")),
        flags=(graph_batch_flag(context.release, _FOR_START),),
        risk="medium",
        risk_text=f"batches beyond {_FOR_START} run without graphs, several times slower on small models",
        verify="the server starts; available_gpu_mem there is 3 GiB or more",
        notes=("once it starts, raise it again as far as memory allows",),
    )
    return replace(with_effect(base, context, Effect(why="the server did not start")), rank=2.0)


def _trim(context: OptionContext, largest: int, running: float) -> Estimate:
    queued = finite(context.rank_load()[1]) or 0.0
    # What waits today runs tomorrow: a plan with more pool must not fall out of the graphs.
    room = running + queued if context.cap is None else min(float(context.cap), running + queued)
    wanted = max(_STEP, math.ceil(room / _STEP) * _STEP)
    freed = (largest - wanted) * _each_gib(context, largest)
    if wanted >= largest or freed < _WORTH_GIB or context.limit is None:
        return not_here(context, "cuda-graph-max-bs", _TITLE, f"batches up to {largest:,} are captured and {running:.0f} run at most")
    base = replace(
        today(context, "cuda-graph-max-bs", f"capture batches up to {wanted:,} (today {largest:,})"),
        flags=(graph_batch_flag(context.release, wanted),),
        headroom_gib=None if (left := finite(context.account.headroom_gib)) is None else left + freed,
        risk="medium",
        risk_text=f"batches beyond {wanted:,} would run without graphs, several times slower on small models",
        verify="available_gpu_mem at the end of the start rises; decode lines still say cuda graph: True",
        notes=(f"frees about {freed:.2f} GiB: room for a higher fraction; by itself it speeds nothing up",),
        change=Change(headroom_gib=freed),
    )
    return with_effect(base, context, standstill(context, "no batch exceeds what is captured: it only frees memory outside the pool"))
