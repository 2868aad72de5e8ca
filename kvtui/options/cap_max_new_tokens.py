"""Clients cap ``max_tokens``: changes admission only below the clip of 4,096 (facts/memory.md 8)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.admission import CLIP_NEW_TOKENS
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect
from kvtui.options.lever import lever, not_here, today, with_effect
from kvtui.options.reservation import NO_EVIDENCE, NO_LOAD, charges_of, effect_of

_TITLE: Final = "cap max_new_tokens"
_STEP: Final = 256
_ASSUMED: Final = 1_024
"""Proposed where the length of answers is unknown."""
NOTHING_ABOVE: Final = "from 32k to 8k frees nothing: admission charges at most 4,096 of an answer, whatever is asked for"


def proposed_cap(output: float | None) -> int:
    """Twice the mean answer on steps of 256, so that few answers are cut; 1,024 where answers are unknown."""
    if output is None:
        return _ASSUMED
    return max(_STEP, math.ceil(2 * output / _STEP) * _STEP)


@lever("cap-max-new-tokens")
def cap_max_new_tokens(context: OptionContext) -> Estimate:
    """A cap near the real length of the answers."""
    if context.limit is None:
        return replace(not_here(context, "cap-max-new-tokens", _TITLE, NO_LOAD, restart=False), notes=(NOTHING_ABOVE,))
    output = finite(context.workload.output)
    cap = proposed_cap(output)
    if cap >= CLIP_NEW_TOKENS:
        return replace(
            not_here(
                context,
                "cap-max-new-tokens",
                _TITLE,
                f"answers of about {output or 0:,.0f} tokens need more than the clip of 4,096",
                restart=False,
            ),
            notes=(NOTHING_ABOVE,),
        )
    assumed = "" if output is not None else " (answers unknown: choose above your longest)"
    base = replace(
        today(context, "cap-max-new-tokens", f"clients cap max_tokens at {cap:,}"),
        flags=(f'"max_tokens": {cap}',),
        restart=False,
        risk="low" if output is not None else "medium",
        risk_text=f"answers longer than {cap:,} tokens are cut{assumed}",
        verify="usage rises by 5 points or more at the same queue; retractions stay flat; few answers end with finish_reason length",
        notes=(NOTHING_ABOVE, NO_EVIDENCE),
        change=Change(max_new_tokens=cap),
    )
    if context.limit == "retraction":
        why = "it stops repeated retraction (without max_tokens the reservation cannot recover); what that is worth is not estimated"
        return with_effect(replace(base, change=replace(base.change, unknown=why)), context, Effect(why=why))
    charges = charges_of(context, cap, None)
    return with_effect(base, context, Effect(why="the length of prompts is unknown") if charges is None else effect_of(context, *charges))
