"""``--schedule-conservativeness``: how much of an answer is reserved (facts/diagnoses.md V3 and V8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.admission import DP_ATTENTION_FACTOR, bolder, calmer
from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.options.context import OptionContext
from kvtui.options.effect import Effect
from kvtui.options.lever import lever, not_here, today, with_effect
from kvtui.options.reservation import NO_EVIDENCE, NO_LOAD, charges_of, effect_of

_TITLE: Final = "schedule-conservativeness"
_COST: Final = "what the retractions cost is not estimated"
_VERIFY: Final = "usage rises by 5 points or more at the same queue, and retractions stay flat"


@lever("conservativeness")
def conservativeness(context: OptionContext) -> Estimate:
    """Lower where the reservation limits, higher where requests are retracted."""
    today_value = context.conservativeness
    if context.limit == "retraction":
        return _higher(context, today_value)
    if context.limit is None:
        return not_here(context, "conservativeness", _TITLE, NO_LOAD)
    lower = bolder(today_value)
    if lower is None:
        return not_here(context, "conservativeness", _TITLE, f"it is {today_value:g} already")
    base = replace(
        today(context, "conservativeness", f"conservativeness {today_value:g} → {lower:g}"),
        flags=(f"--schedule-conservativeness {lower:g}",),
        risk="medium",
        risk_text="requests may be retracted when answers turn out long",
        verify=_VERIFY,
        notes=(*_scaled(context), NO_EVIDENCE),
        change=Change(conservativeness=lower),
    )
    return with_effect(base, context, _effect(context, lower))


def _scaled(context: OptionContext) -> tuple[str, ...]:
    return (f"DP attention multiplies it by {DP_ATTENTION_FACTOR:g} already",) if context.account.identity.dp_attention else ()


def _effect(context: OptionContext, lower: float) -> Effect:
    charges = charges_of(context, None, lower)
    return Effect(why="the length of prompts is unknown") if charges is None else effect_of(context, *charges)


def _higher(context: OptionContext, today_value: float) -> Estimate:
    higher = calmer(today_value)
    if higher is None:
        return not_here(context, "conservativeness", _TITLE, f"it is {today_value:g} already; a live fix is max_tokens in the requests")
    base = replace(
        today(context, "conservativeness", f"conservativeness {today_value:g} → {higher:g}"),
        flags=(f"--schedule-conservativeness {higher:g}",),
        risk="low",
        risk_text="fewer requests run at once",
        verify="retraction lines stop; running is lower but steadier",
        notes=("where clients send no max_tokens the reservation cannot recover by itself: cap it there first", NO_EVIDENCE),
        change=Change(conservativeness=higher, unknown=_COST),
    )
    return with_effect(base, context, Effect(why=_COST))
