"""A 4-bit KV cache: 9 bits for every 32 of today's, on few backends and with little evidence (facts/diagnoses.md 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.deploy import deployment_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.geometry import Attention
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, Reading, optional
from kvtui.domain.what_if import is_capped
from kvtui.options.context import OptionContext
from kvtui.options.flags import FP4
from kvtui.options.lever import lever, not_here, today
from kvtui.options.measured import by_change
from kvtui.options.resized import cell_ratio

_TITLE: Final = "fp4 KV cache"
_PLAIN: Final = frozenset({Attention.MHA, Attention.GQA, Attention.MLA})
_UNKNOWN: Final = "no public throughput measurement of this lever exists: test kernel and answers"


@lever("fp4-kv")
def fp4_kv(context: OptionContext) -> Estimate:
    """Tokens by the exact cells of the release; no figure for speed."""
    why = _why_not(context)
    if why:
        return not_here(context, "fp4-kv", _TITLE, why)
    ratio = _ratio(context)
    if isinstance(ratio, Missing):
        return not_here(context, "fp4-kv", _TITLE, ratio.reason)
    base = replace(
        today(context, "fp4-kv", _TITLE),
        flags=(f"--kv-cache-dtype {FP4.at(context.release)}",),
        risk="high",
        risk_text="few backends take it (Blackwell data-centre cards, CUDA 12.8 or later); accuracy has the least evidence: an experiment",
        verify="answers on your own evaluation set before and after; step time at the same running requests; the new max_total_num_tokens",
        notes=(f"tokens ×{1 / ratio.value:.2f}", "scales take a sixteenth of what the values take: not ×4"),
    )
    placed = by_change(base, context, Change(cell_ratio=ratio.value, unknown=_UNKNOWN))
    # An experiment: it stands behind everything that is known to work.
    return replace(placed, rank=min(placed.rank, 0.05))


def _why_not(context: OptionContext) -> str:
    device = context.boot.text("device") if context.boot is not None else None
    attention, dtype = optional(context.account.identity.attention), optional(context.account.identity.kv_dtype) or ""
    if device not in (None, "cuda"):
        return f"nothing is known of it on {device}"
    if not FP4.at(context.release):
        return f"{context.release} has no 4-bit KV cache"
    if dtype.startswith(("fp4", "nvfp4")):
        return "the KV cache is 4-bit already"
    if attention not in _PLAIN:
        return "4-bit pools of this kind of attention are not modelled" if attention else "the kind of attention is unknown"
    return "max_total_tokens holds the pool" if is_capped(context.account) else ""


def _ratio(context: OptionContext) -> Reading[float]:
    if context.boot is None:
        return Missing("the server's settings are unknown")
    now = deployment_of(context.boot, context.release)
    return cell_ratio(context, now, replace(now, kv_dtype="fp4"))
