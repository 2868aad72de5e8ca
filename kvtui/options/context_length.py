"""A shorter ``--context-length``: it shrinks ``req_to_token``, which is headroom, not pool (facts/diagnoses.md 0.2).

It also refuses the long requests behind which all others wait (facts/diagnoses.md V20).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.domain.units import GIB
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, standstill
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect

_TITLE: Final = "context-length"
_WORTH_GIB: Final = 0.25
"""Less than this is not worth a restart."""
_BELOW_LONGEST: Final = 0.75
"""Of the longest prompt seen, where half of the pool would still let it in."""
_OFTEN: Final = 2.0
"""Times the usual request that must still be taken."""
_ROWS_LOW: Final = 2_048
_ROWS_HIGH: Final = 4_096
_ROWS_SCALE: Final = 512


def default_rows(pool: int, context_len: int) -> int:
    """Request slots when ``max_running_requests`` is unset: ``clamp(tokens / context x 512, 2048, 4096)`` (facts/memory.md 4)."""
    return max(_ROWS_LOW, min(_ROWS_HIGH, int(pool / context_len * _ROWS_SCALE)))


@lever("context-length")
def context_length(context: OptionContext) -> Estimate:
    """Half of today's context, where the longest prompt seen allows it; where long requests hold the queue, what refuses them."""
    cut = _cut(context)
    if cut is not None:
        return _refusing(context, cut)
    table, length, pool = finite(context.account.req_to_token_gib), optional(context.account.context_len), context.pool
    if table is None or length is None or length < 2 or pool is None:
        return not_here(context, "context-length", _TITLE, "the context length or the request slots are unknown")
    if table < 2 * _WORTH_GIB:
        return not_here(context, "context-length", _TITLE, f"the request table takes only {table:.2f} GiB")
    longest = finite(context.workload.prompt_max)
    half = length // 2
    if longest is not None and longest * 1.25 >= half:
        return not_here(context, "context-length", _TITLE, f"prompts of {longest:,.0f} tokens were seen: half of {length:,} is too short")
    rows = table * GIB / (4 * (length + 4))
    user = context.boot is not None and context.boot.number("max_running_requests") is not None
    rows_after = rows if user or context.speculation else default_rows(pool, half)
    freed = table - rows_after * (half + 4) * 4 / GIB
    if freed < _WORTH_GIB:
        return not_here(context, "context-length", _TITLE, "the server would add request slots and free nothing")
    left = finite(context.account.headroom_gib)
    after = None if left is None else left + freed
    base = replace(
        today(context, "context-length", f"context length {length:,} → {half:,}"),
        flags=(f"--context-length {half}",),
        headroom_gib=after,
        risk="medium",
        risk_text=f"requests longer than {half:,} tokens are refused; {headroom_risk(after)[1]}",
        verify="available_gpu_mem at the end of the start rises by that much",
        notes=_notes(context, freed),
        change=Change(headroom_gib=freed),
    )
    idle = f"frees {freed:.2f} GiB outside the pool: worth tokens only with a higher fraction"
    return with_effect(base, context, standstill(context, idle))


def _cut(context: OptionContext) -> int | None:
    """Tokens from which on a request holds all others up; None where none does, or where the others need as many."""
    found, pool, length = context.found("head-of-line"), context.pool, optional(context.account.context_len)
    if found is None or "context-length" not in found.fixes or pool is None:
        return None
    longest, prompt, output = (
        finite(reading) for reading in (context.workload.prompt_max, context.workload.prompt, context.workload.output)
    )
    cut = pool // 2 if longest is None or longest > pool // 2 else int(longest * _BELOW_LONGEST)
    usual = _OFTEN * ((prompt or 0.0) + (output or 0.0))
    return cut if cut > usual and (length is None or cut < length) else None


def _refusing(context: OptionContext, cut: int) -> Estimate:
    """The cure of a queue behind a giant: it is refused. What that gives back depends on how often one comes."""
    why = "how often a long request comes is not known: measure running and the queue before and after"
    base = replace(
        today(context, "context-length", f"context length {cut:,}: refuse what holds the queue"),
        flags=(f"--context-length {cut}",),
        risk="medium",
        risk_text=f"requests longer than {cut:,} tokens are refused: give them a server of their own",
        verify="running no longer falls while requests wait",
        change=Change(unknown=why),
    )
    return with_effect(base, context, Effect(why=why))


def _notes(context: OptionContext, freed: float) -> tuple[str, ...]:
    pre, cell = finite(context.account.pre_gib), finite(context.account.divisor_bytes)
    notes = ["a lower --max-running-requests shrinks the same table without refusing anyone"]
    if pre and cell:
        tokens = freed * GIB * context.account.kv_share / cell
        notes.insert(0, f"{freed:.2f} GiB is +{freed / pre:.4f} of fraction, or {tokens:,.0f} tokens a GPU")
    return tuple(notes)
