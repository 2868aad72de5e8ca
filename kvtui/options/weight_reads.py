"""How much faster a step can get when weights have fewer bytes: no more than the bytes that are no longer read (facts/diagnoses.md 3.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.plan import Speed
from kvtui.domain.reading import Missing
from kvtui.domain.roofline import decode_model, step_bytes
from kvtui.options.context import OptionContext, finite

_GB: Final = 1e9
_OPEN: Final = "an upper end only where weights are all a step reads"


def bounded(context: OptionContext, speed: Speed, running: float | None, left: float) -> Speed:
    """``speed`` under ``(W + K) / (W x left + K)`` of a step at ``running`` requests of the busiest rank; its basis says what bounds it.

    ``left``: the part of today's weight bytes that a step still reads. Where the bytes are unknown the range stays, and the basis
    tells that its upper end assumes a step without KV.
    """
    read = _read(context, running)
    if isinstance(read, Missing):
        return replace(speed, basis=f"{speed.basis}; {_OPEN}: {read.reason}")
    weights, kv = read
    most = (weights + kv) / (weights * left + kv)
    mid, high = min(speed.mid, most), min(speed.high, most)
    told = f"weights {weights / _GB:.1f} → {weights * left / _GB:.1f} GB, KV {kv / _GB:.1f} GB"
    basis = f"{speed.basis}; at most ×{most:.2f} by the bytes of a step at {running:.0f} running ({told})"
    return Speed(min(speed.low, mid), mid, high, basis)


def _read(context: OptionContext, running: float | None) -> tuple[float, float] | Missing:
    """Bytes of weights and of KV that a GPU reads in a step at ``running`` requests of today's size."""
    model, resident = decode_model(context.account), finite(context.workload.resident)
    if isinstance(model, Missing):
        return model
    if running is None or running <= 0 or resident is None or resident <= 0:
        return Missing("running requests and their size are unknown")
    verified = _verified(context)
    weights = step_bytes(model, running, 0.0, verified=verified) - running * model.state_bytes
    return weights, step_bytes(model, running, resident, verified=verified) - weights


def _verified(context: OptionContext) -> float:
    """Tokens that a request puts through the model in a step: they decide how many experts are read."""
    if not context.speculation or context.boot is None:
        return 1.0
    drafts = context.boot.number("speculative_num_draft_tokens")
    return drafts if drafts is not None and 1 <= drafts < 1_000 else 1.0
