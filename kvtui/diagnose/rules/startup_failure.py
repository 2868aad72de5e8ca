"""The server did not come up: why, and which way to turn the fraction. Both ways exist, and the wrong one makes it worse."""

from __future__ import annotations

import math
from typing import Final

from kvtui.diagnose.context import Context, proof, read, witness
from kvtui.diagnose.failures import Failure, startup_failure_of
from kvtui.diagnose.registry import rule
from kvtui.diagnose.start_limits import Explained, host_memory, small_pool, unbalanced
from kvtui.domain.events import Event
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.lowering import SPARE_GIB, fraction_to_start, free_at_capture

_TITLES: Final[dict[Failure, str]] = {
    "fraction too low": "Start failed: the fraction leaves no room for KV",
    "out of memory": "Start failed: out of GPU memory",
    "capture": "Start failed while CUDA graphs were captured",
    "host memory": "Start failed: not enough host memory",
    "killed": "Start failed: killed by the operating system",
    "state pool": "Start failed: the state pool is too small",
    "unbalanced": "Start failed: the GPUs see very different free memory",
    "nccl": "Start failed in NCCL",
    "exception": "Start failed with an exception",
    "exit": "The server ended before it was up",
}


@rule("startup-failure")
def startup_failure(context: Context) -> Finding | None:
    """A start that ended before the final line, classified; with the fraction that its own numbers allow."""
    failed = startup_failure_of(context)
    if failed is None:
        return None
    failure, event = failed
    reason, fixes, advice, ruled = _explain(context, failure, event)
    others = [other for other in context.frame.events if other is not event and other.kind in {"exception", "program", "killed", "exit"}]
    evidence = [*([witness(event)] if event is not None else []), *_numbers(context), *(witness(other) for other in others[:3])]
    return Finding(
        id="startup-failure",
        title=_TITLES[failure],
        sentence=f"{_TITLES[failure]}: {reason}.",
        axis="concurrency",
        confidence="high" if event is not None and failure not in {"exit", "exception"} else "medium",
        since=event.at if event is not None else None,
        evidence=tuple(evidence),
        ruled_out=ruled,
        fixes=fixes,
        advice=advice,
        verify=("the log ends its start with a max_total_num_tokens line, and available_gpu_mem there is 3 GiB or more",),
        needs=() if event is not None else ("the lines before the end: the reason is above what this log shows",),
    )


def _numbers(context: Context) -> list[Evidence]:
    account, found = context.account, []
    pre, post, fraction = read(account.pre_gib), read(account.post_gib), read(account.fraction)
    if pre is not None and post is not None:
        found.append(proof(f"free before weights {pre:.2f} GiB, after {post:.2f} GiB", account.post_gib))
        if fraction is not None:
            rest = f"{post - pre * (1 - fraction):.2f}".replace("-", "−")
            found.append(Evidence(f"left for KV: {post:.2f} − {pre:.2f} × (1 − {fraction:g}) = {rest} GiB", "formula"))
    elif fraction is not None:
        found.append(proof(f"mem_fraction_static {fraction:g}", account.fraction))
    return found


def _explain(context: Context, failure: Failure, event: Event | None) -> Explained:
    """Reason, option ids, advice and look-alikes."""
    if failure == "fraction too low":
        return _too_low(context, event)
    if failure in {"capture", "out of memory"}:
        return _too_high(context, failure)
    if failure in {"host memory", "killed"}:
        return host_memory(context, event)
    if failure == "state pool":
        return small_pool(context, event)
    if failure == "unbalanced":
        return unbalanced(context)
    if failure == "nccl":
        look = "Set NCCL_DEBUG=INFO and start again; check that all GPUs see each other (nvidia-smi topo -m)."
        return "the ranks could not talk to each other", (), (look,), ()
    return "the log shows an error and no end of the start", (), ("The last lines of the traceback name the module that failed.",), ()


def _too_low(context: Context, event: Event | None) -> Explained:
    account = context.account
    pre, post, fraction = read(account.pre_gib), read(account.post_gib), read(account.fraction)
    told = event.fields.get("minimum_fraction") if event is not None else None
    least = float(told) if isinstance(told, (int, float)) and 0 < told < 1 else None
    basis = "as the log says"
    if least is None and pre is not None and post is not None and pre > 0:
        least, basis = 1 - post / pre, f"1 − {post:.2f}/{pre:.2f}"
    now = f"--mem-fraction-static {fraction:g}" if fraction is not None else "--mem-fraction-static"
    draft = any("draft" in (other.text.lower()) for other in context.events("not-enough-memory", "program", "exception"))
    ruled = (Ruled("headroom", "nothing ran out of memory: the rule refused to size a pool; lowering the fraction makes it worse"),)
    extra = ("Draft weights are counted too: dropping the draft model frees them.",) if draft else ()
    if least is None:
        return (
            f"{now} leaves nothing for the KV pool after the weights; raise it",
            ("raise-fraction", "quantize-weights", "more-gpus"),
            (
                "Raise --mem-fraction-static by 0.02 to 0.05 until it starts; the weight lines of a longer log would give the value.",
                *extra,
            ),
            ruled,
        )
    work = _rounded_up(least + 0.02)
    if work >= 1 or (pre is not None and pre * (1 - work) < 1):
        return (
            f"the weights need a fraction above {least:.4f} ({basis}), which leaves nothing for graphs and activations",
            ("quantize-weights", "more-gpus"),
            ("No fraction works here: quantise the weights or spread them over more GPUs (--tp-size).", *extra),
            ruled,
        )
    slack = f"; it leaves {pre * (1 - work):.1f} GiB for graphs and activations" if pre is not None else ""
    return (
        f"{now} is below the least that works, {least:.4f} ({basis})",
        ("raise-fraction", *(("drop-draft",) if draft else ()), "quantize-weights", "more-gpus"),
        (f"Start with --mem-fraction-static {work:.2f}{slack}.", *extra),
        ruled,
    )


def _too_high(context: Context, failure: Failure) -> Explained:
    account, boot = context.account, context.boot
    pre, post, fraction = read(account.pre_gib), read(account.post_gib), read(account.fraction)
    left, lower = free_at_capture(boot), fraction_to_start(account, boot)
    oom = failure == "out of memory" or any(context.events("out-of-memory"))
    had = f"; {left:.2f} GiB were free when the capture of CUDA graphs began" if left is not None else ""
    if failure == "capture" and not oom and left is not None and left >= SPARE_GIB:
        return (
            f"an exception{had}, so memory is not the likely reason",
            ("cuda-graph-max-bs",),
            ("Start once with --disable-cuda-graph: if that works, a kernel fails in the capture, not the memory; see the traceback.",),
            (Ruled("headroom", f"{left:.2f} GiB were free"),),
        )
    advice = []
    if pre is not None and fraction is not None and lower is not None:
        least = 1 - post / pre if post is not None else None
        if least is not None and lower <= least:
            advice.append(f"Lowering alone cannot help: below {least:.4f} no KV is left. Quantise the weights or use more GPUs.")
        else:
            advice.append(f"Start with --mem-fraction-static {lower:.2f}: it leaves {pre * (fraction - lower):.1f} GiB more.")
    else:
        advice.append("Lower --mem-fraction-static by 0.02 to 0.05.")
    advice.append("Or capture smaller batches: --cuda-graph-max-bs 16 (--cuda-graph-max-bs-decode from 0.5.15).")
    return (
        f"the pool leaves too little for what comes after it{had}",
        ("lower-fraction", "cuda-graph-max-bs", "max-running-requests"),
        tuple(advice),
        (Ruled("kv-capacity", "the pool was made; raising the fraction makes this worse"),),
    )


def _rounded_up(fraction: float) -> float:
    return math.ceil(fraction * 100 - 1e-9) / 100
