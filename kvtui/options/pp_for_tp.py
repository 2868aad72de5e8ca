"""Two pipeline stages in place of half the tensor parallelism: half the layers, so half the MLA cell (facts/diagnoses.md 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.deploy import deployment_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, Reading, optional
from kvtui.domain.what_if import is_capped
from kvtui.options.context import OptionContext
from kvtui.options.lever import lever, not_here, today
from kvtui.options.measured import by_change, measured
from kvtui.options.resized import cell_ratio

_TITLE: Final = "pipeline stages for tensor parallelism"
_WORTH: Final = 0.98


@lever("pp-for-tp")
def pp_for_tp(context: OptionContext) -> Estimate:
    """``--pp-size 2`` at half the TP size: tokens by the exact cells of the larger stage."""
    tp, pp = optional(context.account.identity.tp), optional(context.account.identity.pp)
    why = _why_not(context, tp, pp)
    if why or tp is None:
        return not_here(context, "pp-for-tp", _TITLE, why or "the tensor-parallel size is unknown")
    ratio = _ratio(context, tp)
    if isinstance(ratio, Missing):
        return not_here(context, "pp-for-tp", _TITLE, ratio.reason)
    if ratio.value > _WORTH:
        return not_here(context, "pp-for-tp", _TITLE, "half the layers with twice the heads a GPU take as many bytes a token")
    base = replace(
        today(context, "pp-for-tp", f"TP {tp // 2} × PP 2 for TP {tp}"),
        flags=(f"--tp-size {tp // 2}", "--pp-size 2"),
        risk="high",
        risk_text="pipeline bubbles; experts are read once a micro-batch; the larger stage may hold more weights than a rank does today",
        verify="tokens a second at the same traffic; running a micro-batch stays below the cap over 2",
        notes=(f"tokens ×{1 / ratio.value:.2f} if a stage's weights are as large as a rank's today", "all-reduce spans half the GPUs"),
    )
    placed = by_change(base, context, measured(Change(cell_ratio=ratio.value), "pipeline"))
    # One public pair lost 63%: tokens alone do not rank it.
    return replace(placed, rank=min(placed.rank, 0.0))


def _why_not(context: OptionContext, tp: int | None, pp: int | None) -> str:
    if (pp or 1) > 1:
        return "it has pipeline stages already"
    if tp is not None and (tp < 2 or tp % 2):
        return "it needs an even tensor-parallel size"
    if context.account.identity.dp_attention:
        return "DP attention splits the ranks already"
    if context.speculation:
        return "speculation and pipeline stages do not go together"
    return "max_total_tokens holds the pool" if is_capped(context.account) else ""


def _ratio(context: OptionContext, tp: int) -> Reading[float]:
    if context.boot is None:
        return Missing("the server's settings are unknown")
    now = deployment_of(context.boot, context.release)
    return cell_ratio(context, replace(now, tp=tp), replace(now, tp=tp // 2, pp=2))
