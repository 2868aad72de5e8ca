"""Other processes on the GPUs: what they hold at the start is missing from the pool (facts/diagnoses.md V17)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing
from kvtui.domain.what_if import is_capped
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect
from kvtui.options.lever import lever, not_here, today, with_effect
from kvtui.options.measured import by_change

_TITLE: Final = "stop other processes on the GPUs"
_WORTH_GIB: Final = 0.5


@lever("free-other-processes")
def free_other_processes(context: OptionContext) -> Estimate:
    """Freeing X GiB raises free memory before and after the weights alike, so the pool grows by X x fraction."""
    held, fraction = context.foreign_gib, finite(context.account.fraction)
    found = context.found("foreign-memory") is not None
    if isinstance(held, Missing):
        if not found:
            return not_here(context, "free-other-processes", _TITLE, f"nothing shows that others hold memory ({held.reason})")
        return _unknown(context)
    if held.value < _WORTH_GIB:
        return not_here(context, "free-other-processes", _TITLE, f"others hold {held.value:.1f} GiB")
    if fraction is None or not 0 < fraction < 1:
        return not_here(context, "free-other-processes", _TITLE, "today's fraction is unknown")
    gain = held.value * fraction
    base = replace(
        today(context, "free-other-processes", f"free {held.value:.1f} GiB of other processes"),
        flags=(),
        risk="low",
        risk_text="whose processes they are is for you to decide; nothing is stopped from here",
        verify="nvidia-smi shows only the server before its start; max_total_num_tokens of the new start",
        notes=(
            f"{held.value:.2f} GiB × {fraction:g} = {gain:.2f} GiB of pool a GPU, at most: if they were there when the server started",
            "the ranks take the least free memory of all GPUs: one crowded GPU costs every rank",
        ),
    )
    if is_capped(context.account):
        return not_here(context, "free-other-processes", _TITLE, "max_total_tokens holds the pool")
    return by_change(base, context, Change(pool_gib=gain, headroom_gib=held.value * (1 - fraction)))


def _unknown(context: OptionContext) -> Estimate:
    """A rule saw them, but how much they hold is not known."""
    why = "how much other processes hold is not known"
    base = replace(
        today(context, "free-other-processes", _TITLE),
        tokens=None,
        risk="low",
        risk_text="whose processes they are is for you to decide; nothing is stopped from here",
        verify="nvidia-smi shows only the server before its start; max_total_num_tokens of the new start",
        notes=("each GiB freed gives the fraction of it to the pool, on every rank",),
        change=Change(unknown_pool=why, unknown=why),
    )
    return with_effect(base, context, Effect(why=why))
