"""V18: the CPU side (tokenizer, detokenizer, scheduler) does not keep up with the GPU."""

from __future__ import annotations

import math
from typing import Final

from kvtui.diagnose.before_scheduler import busy_helper, held_before
from kvtui.diagnose.context import ENOUGH_TICKS, Context, first_at, read
from kvtui.diagnose.registry import rule
from kvtui.diagnose.steps import FEW
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.latency import Latency, Spread
from kvtui.domain.picture import Level, Picture
from kvtui.domain.rank_rows import quantile

_OCCUPIED_PCT: Final = 85.0
"""GPU computes for less of the time: it waits for the host (facts/diagnoses.md V18)."""
_SLOWER: Final = 2.0
"""Time between tokens as the tokenizer sees it, over the step."""


@rule("cpu")
def cpu(context: Context) -> Finding | None:
    """Gaps between steps, tokens that reach clients late, requests that do not reach the scheduler; a busy helper supports each."""
    rank = context.rank
    if rank is None or not context.loaded or (context.boot is not None and context.boot.text("device") == "cpu"):
        return None
    gaps, late, held, thread = _gaps(context), _late(context), held_before(context), busy_helper(context)
    signs = [sign for sign in (gaps, late, held) if sign is not None]
    if not signs:
        return None
    needs = []
    if gaps is None:
        needs.append("sglang:fwd_occupancy (0.5.12 and later, start with SGLANG_ENABLE_METRICS_DEVICE_TIMER=1): gaps between steps")
    if context.frame.host is None:
        needs.append("the load of the server's threads: run kvtui on the server's own host")
    return Finding(
        id="cpu",
        title="The CPU side does not keep up",
        sentence=f"{signs[0].text[0].upper()}{signs[0].text[1:]}.",
        axis="step" if held is None else "concurrency",
        confidence="medium" if len(signs) > 1 or thread is not None or gaps is not None else "low",
        since=first_at(context),
        evidence=(*signs, *((thread,) if thread is not None else ())),
        ruled_out=(Ruled("client", "requests have arrived; they wait before the scheduler"),) if held is not None else (),
        advice=(
            "Keep the overlap scheduler on; raise --stream-interval to 4 or more; start with --tokenizer-worker-num 2 or more.",
            "Give the scheduler cores of its own (performance governor, NUMA node of its GPU); it polls, so a full core is ordinary.",
        ),
        verify=("the time between tokens at the client equals the step",),
        needs=tuple(needs),
        pictures=_pictures() if gaps is not None else (),
    )


def _pictures() -> tuple[Picture, ...]:
    level = Level(_OCCUPIED_PCT, f"waits for the host below {_OCCUPIED_PCT:.0f}%")
    return (
        Picture("occupancy", "The GPU computes for this share of the time only, although requests run.", (level,)),
        Picture("load", "What runs meanwhile."),
    )


def _gaps(context: Context) -> Evidence | None:
    """The GPU idles between steps although requests run."""
    window = context.frame.timeline
    if not window.tells("occupancy"):
        return None
    busy = zip(window.column("occupancy"), window.column("running"), strict=True)
    values = [value for value, running in busy if running >= FEW and math.isfinite(value)]
    if len(values) < ENOUGH_TICKS:
        return None
    usual = quantile(values, 0.5)
    if not 0 < usual < _OCCUPIED_PCT:
        return None
    source = "metric: sglang:fwd_occupancy" if context.sampled else "log"
    return Evidence(f"the GPU computes only {usual:.0f}% of the time although requests run", source, read(context.workload.last_at))


def _late(context: Context) -> Evidence | None:
    """Tokens come out of the server at a slower pace than steps make them."""
    http, rank = context.frame.http, context.rank
    latency = http.latency if http is not None else None
    if not isinstance(latency, Latency) or not isinstance(latency.itl, Spread) or rank is None:
        return None
    step, gain, running = read(rank.step_s), read(context.workload.accept_len) or 1.0, read(rank.running) or 0.0
    if step is None or running < FEW or latency.itl.mean < _SLOWER * step / gain:
        return None
    return Evidence(
        f"tokens leave the server every {latency.itl.mean * 1000:.0f} ms, and a step takes {step * 1000:.0f} ms",
        "metric: sglang:inter_token_latency_seconds against gen_throughput",
        context.stamp(latency.at),
    )
