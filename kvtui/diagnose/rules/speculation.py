"""V12: speculative decoding that gains little at the batch it runs at."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Finding
from kvtui.domain.picture import Level, Picture

_MANY = 32
_LITTLE = 1.8
_WASTED = 1.4
"""Below it a draft and its check pay only where both together cost less than 40% of a plain step (facts/diagnoses.md V12)."""


@rule("speculation")
def speculation(context: Context) -> Finding | None:
    """32 requests or more and an accept length below 1.8 (facts/diagnoses.md V12, a rule of thumb: never more than medium confidence)."""
    rank = context.rank
    if rank is None or not context.loaded or context.workload.decode_lines < 3:
        return None
    gain, running = read(context.workload.accept_len), read(rank.running)
    if gain is None or running is None or running < _MANY or gain >= _LITTLE:
        return None
    return Finding(
        id="speculation",
        title="Speculation gains little at this batch",
        sentence=(
            f"{running:.0f} requests run and a verify step yields {gain:.2f} tokens a request, its bonus token included: "
            "drafting may cost more than it gains."
        ),
        axis="step",
        confidence="medium" if gain < _WASTED and context.confidence != "low" else "low",
        since=first_at(context),
        evidence=(proof(f"accept length {gain:.2f}", context.workload.accept_len), proof(f"running {running:.1f}", rank.running)),
        fixes=("trim-speculation", "drop-draft"),
        advice=("Compare tokens a second, not the accept rate, with fewer draft tokens at the same running requests.",),
        verify=("tok/s rises at the same running requests",),
        needs=("the step time without speculation at this batch",),
        pictures=(
            Picture(
                "accept-length",
                "Tokens that one verify step yields a request; 1 is what a step without drafts yields.",
                (Level(_LITTLE, f"little below {_LITTLE:g}"),),
            ),
            Picture("load", "The more run, the less a draft gains.", (Level(_MANY, f"many from {_MANY}"),)),
        ),
    )
