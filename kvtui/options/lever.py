"""How a lever registers, and what all their estimates share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kvtui.domain.admission import fits
from kvtui.domain.estimate import Estimate, OptionId, Risk
from kvtui.domain.reading import Missing, optional
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.effect import Effect, observed

Lever = Callable[[OptionContext], Estimate]
LEVERS: Final[dict[OptionId, Lever]] = {}
"""Every lever by its id, in the order of registration."""

NOT_HERE: Final = -2.0
"""Rank of a lever that does not apply."""
IDLE: Final = -1.0
"""Rank of a lever that does nothing here."""
SAFE: Final = 1.0
"""Added to the rank of what is not of high risk, so that the best safe lever stands first."""


def lever(option: OptionId) -> Callable[[Lever], Lever]:
    """Register a lever under its id.

    Raises ValueError where the id is taken.
    """

    def register(function: Lever) -> Lever:
        if option in LEVERS:
            raise ValueError(f"two levers called {option}")
        LEVERS[option] = function
        return function

    return register


def fits_of(context: OptionContext, tokens: int | None) -> tuple[float | None, str]:
    """Requests of the observed mean size that ``tokens`` hold, and the basis in words."""
    resident = finite(context.workload.resident)
    if isinstance(context.workload.resident, Missing) or resident is None or not 0 < resident < math.inf:
        return None, "no running request was seen, so its size is unknown"
    if tokens is None:
        return None, "the pool is unknown"
    rank = ", one data-parallel rank" if context.replicas > 1 else ""
    return fits(tokens, resident), f"{resident:,.0f} tokens a running request, observed{rank}"


def today(context: OptionContext, option: OptionId, title: str) -> Estimate:
    """An estimate in which nothing changes yet: today's pool, fits and headroom."""
    number, basis = fits_of(context, context.pool)
    return Estimate(
        id=option,
        title=title,
        applies=True,
        tokens=context.pool,
        fits=number,
        fits_basis=basis,
        headroom_gib=finite(context.account.headroom_gib),
    )


def not_here(context: OptionContext, option: OptionId, title: str, why: str, *, restart: bool = True) -> Estimate:
    """A lever that does not apply, and why in one clause."""
    return replace(today(context, option, title), applies=False, why_not=why, tok_s_why=why, restart=restart, rank=NOT_HERE)


def with_effect(estimate: Estimate, context: OptionContext, effect: Effect) -> Estimate:
    """The estimate with its throughput, its notes and its place."""
    number, basis = fits_of(context, estimate.tokens)
    told = replace(
        estimate,
        fits=number,
        fits_basis=basis,
        tok_s=effect.tok_s,
        tok_s_why=effect.why,
        why_not=effect.idle,
        notes=(*_running_note(effect), *effect.notes, *estimate.notes),
    )
    return replace(told, rank=_rank(told, context))


_QUIET: Final = frozenset({None, "healthy", "client", "server-stuck"})
"""Verdicts under which a lever without a figure is not pressed."""


def _running_note(effect: Effect) -> tuple[str, ...]:
    if effect.running is None or effect.idle or effect.running[0] == effect.running[1]:
        return ()
    before, after = effect.running
    return (f"running {before:.0f} → {after:.0f}",)


_BY_POOL: Final = frozenset({None, *POOL_LIMITS})
"""Limits under which a larger pool is worth something where its throughput is not known."""


def _rank(estimate: Estimate, context: OptionContext) -> float:
    """Gain in throughput (else a third of the gain in tokens), the safe ones first."""
    if estimate.why_not:
        return IDLE
    now, pool = observed(context), context.pool
    gain = 0.0
    if estimate.tok_s is not None and not isinstance(now, Missing):
        gain = estimate.tok_s.mid / now.tok_s - 1
    elif estimate.tokens is not None and pool and estimate.tokens != pool and (context.limit in _BY_POOL or context.waits_for_pool):
        gain = min(1.0, (estimate.tokens / pool - 1) / 3)
    elif context.limit in _QUIET:
        return 0.0
    if gain < 0:
        return IDLE / 2
    return min(gain, 0.9) if estimate.risk == "high" else SAFE + gain


THIN_HEADROOM_GIB: Final = 2.0
"""GiB of headroom below which a server is likely to run out of memory (facts/diagnoses.md V24)."""
_TIERS: Final[tuple[tuple[float, Risk, str], ...]] = (
    (THIN_HEADROOM_GIB, "high", "likely to run out of memory at start or on the first long prompt"),
    (3.0, "medium", "tight: a long prompt may run out of memory"),
    (5.0, "low", "enough as a rule; watch the lowest free memory under the longest real prompt"),
)
"""GiB of headroom below which each holds (facts/diagnoses.md V24 and V1)."""


def headroom_risk(headroom_gib: float | None) -> tuple[Risk, str]:
    """Risk of a headroom, GiB a GPU, with a clause that explains it."""
    if headroom_gib is None or not math.isfinite(headroom_gib):
        return "medium", "headroom is unknown: raise in steps of 0.01 and watch available_gpu_mem"
    for limit, risk, words in _TIERS:
        if headroom_gib < limit:
            return risk, f"{headroom_gib:.1f} GiB left: {words}"
    return "low", f"{headroom_gib:.1f} GiB left"


def planned_reserve_gib(context: OptionContext) -> float | None:
    """What SGLang itself sets aside for activations when it chooses the fraction, GiB.

    ``512 MiB + chunk x 1.5 MiB + TP x PP / 8 GiB`` (facts/memory.md 3); None where the chunk is unknown.
    """
    chunk = context.boot.number("chunked_prefill_size") if context.boot is not None else None
    if chunk is None or not 0 < chunk < 1e6:
        return None
    world = (optional(context.account.identity.tp) or 1) * (optional(context.account.identity.pp) or 1)
    reserve = (512 + 1.5 * chunk) / 1024 + world / 8
    pre = finite(context.account.pre_gib)
    # The rule is made for one card's chunk; a chunk spread over data-parallel ranks would ask for more than a card has.
    return None if pre is not None and reserve >= pre else reserve
