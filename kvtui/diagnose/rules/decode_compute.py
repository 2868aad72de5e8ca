"""V6: a step grows with the batch although its context is short: the arithmetic, not the memory, takes the time."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.diagnose.rules.decode_bandwidth import ENOUGH
from kvtui.diagnose.step_bytes import efficiency, step_bytes
from kvtui.diagnose.steps import decoding
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.reading import Known, Missing
from kvtui.domain.step_samples import step_curve

_ELASTIC: Final = 0.3
"""Share of the step that does not grow with the batch, below which doubling the batch nearly doubles the step (V6)."""
_KV_LITTLE: Final = 0.3
"""A larger share of KV explains the growth by itself."""
_RIDGE: Final = 250.0
"""Tokens a step at which 16-bit dense weights become compute-bound on this class (facts/diagnoses.md V6)."""


@rule("decode-compute")
def decode_compute(context: Context) -> Finding | None:
    """A fitted elasticity below 0.3 with little KV, or more verified tokens a step than the ridge point."""
    eta, budget = efficiency(context), step_bytes(context)
    if context.rank is None or not decoding(context) or (isinstance(eta, Known) and eta.value >= ENOUGH):
        return None
    return _elastic(context, budget.kv_share) if not isinstance(budget, Missing) and _grows(context) else _verify(context)


def _grows(context: Context) -> bool:
    curve, running = step_curve(context.frame.timeline), read(context.rank.running) if context.rank is not None else None
    if isinstance(curve, Missing) or running is None:
        return False
    return curve.r0_high / (curve.r0_high + running) < _ELASTIC


def _elastic(context: Context, kv_share: float) -> Finding | None:
    curve, running = step_curve(context.frame.timeline), read(context.workload.running) or 0.0
    if kv_share >= _KV_LITTLE or isinstance(curve, Missing):
        return None
    share = curve.elasticity(running)
    return _finding(
        context,
        f"The step grows almost with the batch: {share:.0%} of it is fixed at {running:.0f} running, and KV makes {kv_share:.0%} of it.",
        (Evidence(f"{share:.0%} of the step does not grow with the batch", f"formula: {curve.basis}"),
         Evidence(f"KV is {kv_share:.0%} of the bytes of a step", "formula: bytes of a step")),
        (Picture("step", "The step grows and shrinks with what runs, drawn below it."), Picture("load", "What runs.")),
    )  # fmt: skip


def _verify(context: Context) -> Finding | None:
    geometry, boot = context.account.identity.geometry, context.boot
    drafts = boot.number("speculative_num_draft_tokens") if boot is not None else None
    running, gain = read(context.workload.running), read(context.workload.accept_len)
    if geometry is None or drafts is None or running is None or gain is None or drafts <= 1:
        return None
    ridge = _RIDGE * (geometry.experts / geometry.experts_per_token if geometry.experts and geometry.experts_per_token else 1.0)
    tokens = running * drafts
    if not ridge < tokens < 1e9:
        return None
    return _finding(
        context,
        f"A verify step computes {tokens:,.0f} tokens ({running:.0f} requests × {drafts:.0f} drafts) and keeps {running * gain:,.0f}: "
        f"above about {ridge:,.0f} a step is limited by arithmetic.",
        (proof(f"accept length {gain:.2f} of {drafts:.0f} draft tokens", context.workload.accept_len),
         Evidence(f"ridge point about {ridge:,.0f} tokens a step", "facts: V6")),
        (Picture("load", "More run than a step can verify before its arithmetic takes the time.",
                 (Level(ridge / drafts, f"arithmetic limits from {ridge / drafts:,.0f} running"),)),),
    )  # fmt: skip


def _finding(context: Context, sentence: str, evidence: tuple[Evidence, ...], pictures: tuple[Picture, ...]) -> Finding:
    return Finding(
        id="decode-compute",
        title="Arithmetic limits tokens per step",
        sentence=sentence,
        axis="step",
        confidence="low",
        since=first_at(context),
        evidence=evidence,
        ruled_out=(Ruled("decode-bandwidth", "the bytes of a step do not explain its time"),),
        fixes=("trim-speculation", "quantize-weights", "more-gpus"),
        advice=("Measure before and after: what fewer draft tokens or lower precision gain here cannot be computed.",),
        verify=("the step is shorter at the same running requests",),
        needs=("SM activity and tensor activity of DCGM; --enable-mfu-metrics counts operations (0.5.10 and later)",),
        pictures=pictures,
    )
