"""Twice the GPUs for one model: half the weights on each, so far more pool (facts/diagnoses.md 2 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.deploy import deployment_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, Reading, optional
from kvtui.options.context import OptionContext, finite
from kvtui.options.lever import lever, not_here, today
from kvtui.options.measured import by_change, measured
from kvtui.options.resized import cell_ratio

_TITLE: Final = "more GPUs"


@lever("more-gpus")
def more_gpus(context: OptionContext) -> Estimate:
    """Twice the tensor-parallel size: tokens by the cells, speed by how the GPUs are joined."""
    account = context.account
    tp, weights = optional(account.identity.tp), finite(account.weights_gib)
    if tp is None or weights is None or context.boot is None:
        return not_here(context, "more-gpus", _TITLE, "the tensor-parallel size or the weights are unknown")
    ratio = _ratio(context, tp)
    freed = weights / 2
    unknown = ratio.reason if isinstance(ratio, Missing) else ""
    base = replace(
        today(context, "more-gpus", f"TP {tp} → {2 * tp}"),
        flags=(f"--tp-size {2 * tp}",),
        risk="medium",
        risk_text="money; all-reduce spans twice the GPUs: over PCIe or between nodes it usually loses; heads must divide by the size",
        verify="the new max_total_num_tokens; tokens a second for the price of the GPUs",
        notes=(
            f"about {freed:.1f} GiB of weights leave each GPU for the pool (replicated parts stay: somewhat less)",
            "a second replica behind a router doubles throughput for the same GPUs where the model fits twice",
        ),
    )
    prior = "two times the GPUs, NVLink" if context.link == "nvlink" else "two times the GPUs, PCIe"
    change = Change(
        pool_gib=freed,
        cell_ratio=1.0 if isinstance(ratio, Missing) else ratio.value,
        weight_ratio=0.5,
        unknown_pool=unknown,
    )
    if context.link is None:
        change = replace(change, unknown="how the GPUs would be joined decides the sign (public pairs: PCIe −40 … −18%, NVLink +26 … +33%)")
    else:
        change = measured(change, prior)
    placed = by_change(base, context, change)
    return replace(placed, rank=min(placed.rank, 0.1))


def _ratio(context: OptionContext, tp: int) -> Reading[float]:
    if context.boot is None:
        return Missing("the server's settings are unknown")
    now = deployment_of(context.boot, context.release)
    return cell_ratio(context, replace(now, tp=tp), replace(now, tp=2 * tp))
