"""Fewer draft steps and tokens: longer drafts than the best are as often worse as better (facts/diagnoses.md V12 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.context import OptionContext, finite
from kvtui.options.lever import IDLE, lever, not_here, today
from kvtui.options.measured import by_change, measured

_TITLE: Final = "fewer draft tokens"


@lever("trim-speculation")
def trim_speculation(context: OptionContext) -> Estimate:
    """One step less, and as many draft tokens as the shape then needs."""
    boot = context.boot
    if boot is None or not context.speculation:
        return not_here(context, "trim-speculation", _TITLE, "no draft is loaded" if boot else "the server's settings are unknown")
    steps, topk, drafts = (
        boot.number(name) for name in ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
    )
    if steps is None or drafts is None or not (1 <= steps < 100 and 1 <= drafts < 1_000):
        return not_here(context, "trim-speculation", _TITLE, "the draft's steps or tokens are unknown")
    if steps <= 1:
        return not_here(context, "trim-speculation", _TITLE, "one step is the least: the next is to drop the draft")
    fewer = int(steps) - 1
    # A chain verifies its steps and the bonus token; a tree keeps its share of branches.
    tokens = fewer + 1 if not topk or topk <= 1 else max(fewer + 1, int(drafts * fewer / steps))
    accept = finite(context.workload.accept_len)
    base = replace(
        today(context, "trim-speculation", f"draft steps {steps:.0f} → {fewer}"),
        flags=(f"--speculative-num-steps {fewer}", f"--speculative-num-draft-tokens {tokens}"),
        risk="low",
        risk_text="a shorter draft accepts fewer tokens a step",
        verify="tokens a second at the same running requests, not the accept rate",
        notes=(
            *((f"{accept:.2f} tokens a step are accepted today, of {steps + 1:.0f} at most",) if accept is not None else ()),
            "0.5.12 and later can choose by themselves: --speculative-adaptive",
        ),
    )
    placed = by_change(base, context, measured(Change(), "draft length"))
    if context.found("speculation") is not None:
        return replace(placed, rank=1.0)
    return replace(placed, rank=IDLE, why_not="nothing shows that the draft is too long")
