"""All-reduce over PCIe: NCCL settings and kernels made for it (facts/diagnoses.md V13 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.options.context import OptionContext
from kvtui.options.flags import ALL_REDUCE
from kvtui.options.lever import IDLE, lever, not_here, today
from kvtui.options.measured import by_change, measured
from kvtui.options.priors import PRIORS

_TITLE: Final = "tune all-reduce"
_NCCL: Final = ("NCCL_P2P_LEVEL=SYS", "NCCL_MIN_NCHANNELS=8")


@lever("tune-allreduce")
def tune_allreduce(context: OptionContext) -> Estimate:
    """About a tenth on four and more GPUs without NVLink; nothing on two."""
    tp = optional(context.account.identity.tp)
    found = context.found("allreduce") is not None
    if tp is None or tp < 2:
        return not_here(context, "tune-allreduce", _TITLE, "one GPU reduces nothing" if tp else "the tensor-parallel size is unknown")
    if context.link == "nvlink":
        return not_here(context, "tune-allreduce", _TITLE, "the GPUs are joined by NVLink")
    if context.link is None and not found:
        return not_here(context, "tune-allreduce", _TITLE, "how the GPUs are joined is unknown: nvidia-smi topo -m shows it")
    base = replace(
        today(context, "tune-allreduce", "tune all-reduce over PCIe"),
        flags=(*_NCCL, *ALL_REDUCE.at(context.release)),
        risk="medium",
        risk_text="wrong settings hang at start or slow a step several times over: measure with nccl-tests first, one at a time",
        verify="step time at the same running requests falls; nccl-tests all_reduce_perf at running × hidden × 2 bytes",
        notes=(
            "it is latency, not bandwidth: the link looks a tenth busy",
            "untuned kernels lose (public pairs −8 … −2%); a broken default costs up to 45%",
        ),
    )
    if not found and context.found("decode-bandwidth") is not None:
        return replace(base, rank=IDLE, why_not="a decode step waits for the GPU's own memory here, not for messages")
    if tp == 2:
        placed = by_change(base, context, Change())
        return replace(placed, rank=IDLE, why_not=f"on two GPUs it brings nothing ({PRIORS['all-reduce, 2 GPUs'].pairs} public pairs)")
    placed = by_change(base, context, measured(Change(), "all-reduce, tuned"))
    return placed if found or placed.tok_s is None else replace(placed, rank=min(placed.rank, 1.05))
