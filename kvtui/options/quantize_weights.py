"""Weights of fewer bits: the pool gets what they give back, and each step reads less (facts/diagnoses.md 2 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.domain.units import GIB
from kvtui.domain.what_if import is_capped
from kvtui.options.ceiling import under_ceiling
from kvtui.options.combined import effect_of_change
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import observed
from kvtui.options.lever import SAFE, lever, not_here, today
from kvtui.options.measured import by_change, measured
from kvtui.options.weight_reads import bounded

_TITLE: Final = "quantise the weights"
_SIXTEEN: Final = 1.6
"""Stored bytes a parameter from which weights are taken for 16-bit."""
_LEFT: Final = 0.54
"""Part of 16-bit weights that fp8 keeps: embeddings, norms and scales stay as they are."""
_READ: Final = 0.5
"""Part that a step reads at least: of the input embeddings, which stay at 16 bits, it reads single rows."""


@lever("quantize-weights")
def quantize_weights(context: OptionContext) -> Estimate:
    """16-bit weights to fp8: half of them becomes pool, and decode reads half."""
    weights, each = finite(context.account.weights_gib), stored_bytes(context)
    why = _why_not(context, each)
    if why or weights is None:
        return not_here(context, "quantize-weights", _TITLE, why or "the size of the weights is unknown")
    freed = weights * (1 - _LEFT)
    base = replace(
        today(context, "quantize-weights", "fp8 weights"),
        flags=("--quantization fp8",),
        risk="high",
        risk_text="answers can change: a calibrated fp8 checkpoint of the model is safer than quantising at the start; test answers first",
        verify="answers on your own evaluation set before and after; Load weight end. mem usage; the new max_total_num_tokens",
        notes=(
            f"about {freed:.1f} GiB of weights a GPU becomes pool (fp8 keeps {_LEFT:.0%} of 16-bit weights)",
            "4-bit weights: too little evidence (2 public pairs, −35 … +28%)",
        ),
    )
    change = measured(Change(pool_gib=0.0 if is_capped(context.account) else freed, weight_ratio=_LEFT), "weights in 8 bits")
    running = _running_after(context, change)
    if change.speed is not None:
        change = replace(change, speed=bounded(context, change.speed, running, _READ))
    placed = under_ceiling(context, by_change(base, context, change), running)
    return replace(placed, rank=min(0.9, placed.rank - SAFE)) if placed.rank >= SAFE else placed


def _running_after(context: OptionContext, change: Change) -> float | None:
    """Requests that run once the pool has grown: the more run, the less of a step the weights are. Today's where that is not known."""
    effect, now = effect_of_change(context, replace(change, speed=None)), observed(context)
    if effect.running is not None:
        return effect.running[1]
    return None if isinstance(now, Missing) else now.running


def stored_bytes(context: OptionContext) -> float | None:
    """Bytes a parameter as the GPUs hold them; None where weights, sizes or parameters are unknown."""
    identity, geometry = context.account.identity, context.account.identity.geometry
    weights, tp, pp = finite(context.account.weights_gib), optional(identity.tp), optional(identity.pp)
    if geometry is None or geometry.parameters is None or weights is None or tp is None:
        return None
    return weights * GIB * tp * (pp or 1) / geometry.parameters


def _why_not(context: OptionContext, each: float | None) -> str:
    boot = context.boot
    named = boot.text("quantization") if boot is not None else None
    if named is not None:
        return f"the weights are quantised already ({named[:40]})"
    if boot is not None and boot.text("device") not in (None, "cuda"):
        return f"nothing is known of it on {boot.text('device')}"
    if each is None:
        return "how many bits the weights have is unknown"
    return f"the weights take {each:.2f} bytes a parameter: they are quantised already" if each < _SIXTEEN else ""
