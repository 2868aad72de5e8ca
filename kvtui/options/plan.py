"""Several levers as one plan: one pool, one headroom, one admission, one throughput (facts/diagnoses.md 0.2, 2 and 3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import OPTION_IDS, Estimate, OptionId, Risk
from kvtui.domain.plan import Change, Conflict, Plan
from kvtui.domain.reading import Missing, optional
from kvtui.options.arithmetic import headroom_after, merge, pool_after
from kvtui.options.ceiling import under_ceiling
from kvtui.options.combined import effect_of_change
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.effect import IDLE_GAIN, Effect, observed
from kvtui.options.flags import fraction_flag, fraction_text
from kvtui.options.launch import launch
from kvtui.options.lever import THIN_HEADROOM_GIB, fits_of, headroom_risk
from kvtui.options.raise_fraction import SAFE_HEADROOM_GIB, grid_above

_ORDER: Final[tuple[Risk, ...]] = ("none", "low", "medium", "high")
_HIGHEST: Final = 0.97
_MOST: Final = 6
"""Levers that a proposal is searched among: 64 combinations."""
_WORTH: Final = 0.02
"""Further gain below which a larger plan is not worth its risk."""
_TAKES: Final[frozenset[OptionId]] = frozenset({"context-length", "cap-max-new-tokens"})
"""Levers that take something from the clients: nobody but their owner can call them safe."""
_RESHAPE: Final[tuple[OptionId, ...]] = ("dp-attention", "dcp", "pp-for-tp", "more-gpus")
_CONFLICTS: Final[tuple[tuple[OptionId, OptionId, str], ...]] = (
    ("raise-fraction", "lower-fraction", "the fraction goes one way"),
    ("fp8-kv", "fp4-kv", "the KV cache has one dtype"),
    ("drop-draft", "trim-speculation", "a draft that is gone has no length"),
    ("swa-ratio", "mamba-ratio", "no model has both pools"),
    *((a, b, "both reshape how the ranks share the model") for a, b in itertools.combinations(_RESHAPE, 2)),
    ("dcp", "fp4-kv", "untested together, and refused by some releases"),
)


def combine(context: OptionContext, estimates: Sequence[Estimate], options: Collection[str], fraction: float | None = None) -> Plan:
    """The effect of all ``options`` that apply, computed together.

    ``estimates``: the levers as ``registry.estimates`` gives them for this context. ``fraction``: takes the place of the one that the
    fraction's lever chose; None: as chosen.
    """
    marked = (estimate for estimate in estimates if estimate.id in options and estimate.applies)
    chosen = sorted(marked, key=lambda estimate: OPTION_IDS.index(estimate.id))
    conflicts = conflicts_of(estimate.id for estimate in chosen)
    if not chosen:
        return Plan((), tok_s_why="nothing is marked")
    change = merge([estimate.change for estimate in chosen])
    if fraction is not None and change.fraction is not None:
        change = replace(change, fraction=fraction)
    pool = pool_after(context, change)
    tokens, left = optional(pool), headroom_after(context, change)
    effect = (
        Effect(why=f"{conflicts[0].left} and {conflicts[0].right}: {conflicts[0].why}") if conflicts else effect_of_change(context, change)
    )
    bounded = _bounded(context, change, effect)
    number, basis = fits_of(context, tokens)
    risk, words = _risk(chosen, left)
    flags = _flags(chosen, change)
    command = launch(context.boot, flags)
    return Plan(
        options=tuple(estimate.id for estimate in chosen),
        flags=flags,
        fraction=change.fraction,
        tokens=tokens,
        tokens_why=pool.reason if isinstance(pool, Missing) else "",
        fits=number,
        fits_basis=basis,
        running=effect.running,
        stream_tok_s=_stream(context, bounded),
        wait_s=_wait(context, bounded),
        tok_s=bounded.tok_s,
        tok_s_why=bounded.why,
        headroom_gib=left,
        host_gb=_sum([estimate.host_gb for estimate in chosen]),
        risk=risk,
        risk_text=words,
        restart=any(estimate.restart for estimate in chosen),
        conflicts=conflicts,
        notes=(*_interactions(context, chosen, change, left), *effect.notes, *((effect.idle,) if effect.idle else ())),
        command=command.words,
        command_basis=command.basis,
        removed=command.removed,
        change=change,
        beside=command.beside,
    )


def conflicts_of(options: Iterator[OptionId] | Collection[OptionId]) -> tuple[Conflict, ...]:
    """Pairs of ``options`` that cannot both be done."""
    marked = set(options)
    return tuple(Conflict(left, right, why) for left, right, why in _CONFLICTS if left in marked and right in marked)


def best_safe(context: OptionContext, estimates: Sequence[Estimate]) -> Plan | None:
    """The combination with the best middle gain whose headroom stays at ``SAFE_HEADROOM_GIB`` or above.

    None where headroom or throughput is unknown, where nothing safe gains more than 2%, or where no limit is known. Levers of high
    risk are left out, and those that take something from clients. Where levers free memory outside the pool, the fraction goes further,
    but never to where it alone would leave less than ``THIN_HEADROOM_GIB``.
    """
    now = observed(context)
    if isinstance(now, Missing) or finite(context.account.headroom_gib) is None or context.limit is None:
        return None
    # A lever without a figure of its own would hide the gain of the others.
    able = [
        e for e in estimates if e.applies and e.risk != "high" and e.id not in _TAKES and not e.change.unknown and not e.change.unknown_pool
    ]
    if context.found("allreduce") is None:
        # Wrong settings of it hang a start: not safe on a mere guess.
        able = [e for e in able if e.id != "tune-allreduce"]
    useful = [e for e in able if e.rank > 0 or e.change.headroom_gib > 0][:_MOST]
    best: Plan | None = None
    worth = now.tok_s * (1 + IDLE_GAIN)
    for size in range(1, len(useful) + 1):
        for group in itertools.combinations(useful, size):
            told = _safe(context, estimates, [estimate.id for estimate in group])
            if told is None or told.tok_s is None or told.tok_s.mid <= worth:
                continue
            best, worth = told, told.tok_s.mid * (1 + _WORTH)
    return best


def _safe(context: OptionContext, estimates: Sequence[Estimate], options: list[OptionId]) -> Plan | None:
    """The plan at the highest fraction that keeps the reserve; None where none does."""
    if conflicts_of(options):
        return None
    told = combine(context, estimates, options)
    if "raise-fraction" in options:
        told = _highest(context, estimates, options, told)
    if told.headroom_gib is None or told.headroom_gib < SAFE_HEADROOM_GIB:
        return None
    return told


def _highest(context: OptionContext, estimates: Sequence[Estimate], options: list[OptionId], plan: Plan) -> Plan:
    """The fraction goes up on hundredths while the reserve stays.

    Memory that other levers free was not seen yet: without it the fraction must still not run out of memory by itself.
    """
    pre, left = finite(context.account.pre_gib), plan.headroom_gib
    if pre is None or pre <= 0 or left is None or plan.fraction is None:
        return plan
    freed = sum(e.change.headroom_gib for e in estimates if e.id in options and e.change.headroom_gib > 0)
    spare = min(left - SAFE_HEADROOM_GIB, left - freed - THIN_HEADROOM_GIB)
    fraction = math.floor((plan.fraction + spare / pre) * 100 + 1e-6) / 100
    fraction = round(min(fraction, _HIGHEST), 2)
    today = finite(context.account.fraction)
    if today is None or fraction < grid_above(today):
        return plan
    return combine(context, estimates, options, fraction)


def _bounded(context: OptionContext, change: Change, effect: Effect) -> Effect:
    """The effect, cut at the bandwidth's ceiling."""
    if effect.tok_s is None:
        return effect
    after = effect.running[1] if effect.running is not None else None
    told = under_ceiling(context, Estimate("raise-fraction", "", applies=True, tok_s=effect.tok_s, change=change), after)
    return replace(effect, tok_s=told.tok_s)


def _flags(chosen: Sequence[Estimate], change: Change) -> tuple[str, ...]:
    """Flags of all, each once; the fraction as combined, and of two numbers for one flag the larger."""
    flags: dict[str, str] = {}
    for flag in (flag for estimate in chosen for flag in estimate.flags):
        name, _, value = flag.partition(" ")
        if name == "--mem-fraction-static" and change.fraction is not None:
            flags[name] = fraction_flag(change.fraction)
        elif name.startswith("--") and name in flags and value.isdigit():
            flags[name] = max(flags[name], flag, key=lambda text: int(text.rpartition(" ")[2]) if text.rpartition(" ")[2].isdigit() else 0)
        else:
            flags[name if name.startswith("--") else flag] = flag
    return tuple(flags.values())


def _risk(chosen: Sequence[Estimate], left: float | None) -> tuple[Risk, str]:
    """The highest of the levers' own risks and of the headroom that remains."""
    space, words = headroom_risk(left)
    # A fraction's own risk is its headroom, and that is judged for all together.
    others = [estimate for estimate in chosen if estimate.id not in ("raise-fraction", "lower-fraction")]
    risk = max([*(estimate.risk for estimate in others), space], key=_ORDER.index)
    told = [f"{estimate.title}: {estimate.risk_text}" for estimate in others if estimate.risk in ("medium", "high") and estimate.risk_text]
    return risk, "; ".join([words, *told])


def _stream(context: OptionContext, effect: Effect) -> tuple[float, float] | None:
    """Tokens a second of one stream: throughput over running requests, of all ranks alike."""
    now = observed(context)
    if isinstance(now, Missing) or effect.tok_s is None or effect.running is None or effect.running[1] <= 0:
        return None
    ranks = max(1, len(context.workload.ranks))
    return now.tok_s / (now.running * ranks), effect.tok_s.mid / (effect.running[1] * ranks)


def _wait(context: OptionContext, effect: Effect) -> tuple[float, float] | None:
    """Little's law: what queues over requests that end a second; the same requests stay in the system."""
    now, output = observed(context), finite(context.workload.output)
    if isinstance(now, Missing) or effect.tok_s is None or effect.running is None or output is None or output <= 0:
        return None
    ranks = max(1, len(context.workload.ranks))
    queued = max(0.0, now.queued - (effect.running[1] - effect.running[0]))
    return now.queued * ranks * output / now.tok_s, queued * ranks * output / effect.tok_s.mid


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _interactions(context: OptionContext, chosen: Sequence[Estimate], change: Change, left: float | None) -> Iterator[str]:
    """How the levers work on each other, in sentences."""
    ids = {estimate.id for estimate in chosen}
    pre = finite(context.account.pre_gib)
    freed = sum(estimate.change.headroom_gib for estimate in chosen if estimate.change.headroom_gib > 0)
    if freed >= 0.05:
        who = " and ".join(estimate.title for estimate in chosen if estimate.change.headroom_gib > 0)
        room = f", room for +{freed / pre:.3f} of fraction" if pre else ""
        used = "" if "raise-fraction" in ids else ": without a higher fraction it buys no token"
        yield f"{who} leaves {freed:.2f} GiB more outside the pool{room}{used}"
    if change.fraction is not None and change.cell_ratio != 1 and pre:
        yield f"the fraction's bytes count ×{1 / change.cell_ratio:.2f} at the smaller cell: tokens multiply, they do not add up"
    if "raise-fraction" in ids and left is not None and left > SAFE_HEADROOM_GIB and pre and change.fraction is not None:
        higher = math.floor((change.fraction + (left - SAFE_HEADROOM_GIB) / pre) * 100 + 1e-6) / 100
        if higher > change.fraction + 5e-3 and higher <= _HIGHEST:
            yield f"{fraction_text(higher)} would still leave {SAFE_HEADROOM_GIB:.0f} GiB"
    if ids & {"fp8-kv", "fp4-kv"}:
        yield "the throughput holds only where the attention backend fuses the small KV dtype"
    if context.limit == "running-cap" and "max-running-requests" not in ids and "mamba-ratio" not in ids and "drop-draft" not in ids:
        yield "the running cap is the limit: without raising it more pool admits nothing"
    if context.limit in POOL_LIMITS and ids == {"max-running-requests"}:
        yield "the pool is the limit: a higher cap alone admits nothing"
