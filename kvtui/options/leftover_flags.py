"""Flags left over from another day: offload, switches for debugging, a fixed pool (facts/diagnoses.md V26)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import Missing, optional
from kvtui.domain.what_if import is_capped
from kvtui.options.arithmetic import headroom_after, pool_after
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, observed, of_pool
from kvtui.options.flags import flag_of
from kvtui.options.lever import lever, not_here, today, with_effect

_TITLE: Final = "remove leftover flags"
_GRAPHS_ON: Final = (1.70 / 1.1, 1.88, 2.11 * 1.1)
"""Graphs off to on, below 32k of context, four public pairs widened by 1.1 (facts/diagnoses.md 7)."""
_SMALL_BATCH: Final = 32.0
_LONG: Final = 32_768.0
"""Context from which graphs were seen to matter little (facts/diagnoses.md 7)."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """One such flag."""

    flag: str
    harm: str


_SWITCHES: Final = (
    ("disable_radix_cache", "every prompt is computed anew; it frees nothing, because cached tokens give way"),
    ("disable_cuda_graph", "each decode step pays its kernel launches one by one"),
    ("disable_overlap_schedule", "scheduling is no longer hidden behind the GPU"),
)


def leftovers(context: OptionContext, boot: Boot) -> tuple[Leftover, ...]:
    """What is set and looks left over; what the server itself forces is not."""
    found = []
    offload = boot.number("cpu_offload_gb")
    if offload is not None and offload > 0:
        found.append(Leftover(flag_of("cpu_offload_gb", f"{offload:g}"), f"{offload:g} GB of weights cross the bus in every step"))
    for name, harm in _SWITCHES:
        setting = boot.setting(name)
        if setting is None or setting.value is not True or setting.origin == "forced" or _forced(context, boot, name):
            continue
        found.append(Leftover(flag_of(name), harm))
    if is_capped(context.account):
        cap = optional(context.account.cap_tokens)
        found.append(Leftover(flag_of("max_total_tokens", cap), "it holds the pool below what fits"))
    return tuple(found)


def _forced(context: OptionContext, boot: Boot, name: str) -> bool:
    """Speculation turns overlap off in old releases; other devices have no CUDA graphs."""
    if name == "disable_overlap_schedule":
        return context.speculation
    return name == "disable_cuda_graph" and (boot.text("device") or "cuda") != "cuda"


@lever("remove-leftover-flags")
def remove_leftover_flags(context: OptionContext) -> Estimate:
    """All of them together; a figure only where one of them alone explains it."""
    if context.boot is None:
        return not_here(context, "remove-leftover-flags", _TITLE, "the server's settings are unknown")
    found = leftovers(context, context.boot)
    if not found:
        return not_here(context, "remove-leftover-flags", _TITLE, "none is set")
    capped = any("max-total-tokens" in item.flag for item in found)
    offload = context.boot.number("cpu_offload_gb") or 0.0
    # Weights that come back to the GPU are missing from the pool; the flag counts GiB a GPU.
    bare = Change(uncapped=capped, pool_gib=-offload)
    tokens = optional(pool_after(context, bare))
    base = replace(
        today(context, "remove-leftover-flags", _TITLE),
        flags=tuple(f"remove {item.flag}" for item in found),
        tokens=tokens,
        headroom_gib=headroom_after(context, bare),
        risk="medium" if capped or offload else "low",
        risk_text="set for a reason? check that what is freed or taken still fits: the pool, or weights that come back to the GPU"
        if capped or offload
        else "ask who set them and why",
        verify="the new start's server_args line no longer shows them",
        notes=tuple(f"{item.flag}: {item.harm}" for item in found),
    )
    effect = _effect(context, found, tokens)
    return with_effect(replace(base, change=_change(context, bare, found, effect)), context, effect)


def _change(context: OptionContext, bare: Change, found: tuple[Leftover, ...], effect: Effect) -> Change:
    now, told = observed(context), effect.tok_s
    if bare.uncapped and len(found) == 1:
        return bare
    if told is None or isinstance(now, Missing):
        return replace(bare, unknown=effect.why)
    return replace(bare, speed=Speed(told.low / now.tok_s, told.mid / now.tok_s, told.high / now.tok_s, told.basis))


def _effect(context: OptionContext, found: tuple[Leftover, ...], tokens: int | None) -> Effect:
    if len(found) > 1:
        return Effect(why="several flags at once: their effects do not add up")
    flag, now = found[0].flag, observed(context)
    if "max-total-tokens" in flag:
        return Effect(why="the pool without the cap is unknown") if tokens is None else of_pool(context, tokens)
    if isinstance(now, Missing):
        return Effect(why=now.reason)
    resident = finite(context.workload.resident)
    if "disable-cuda-graph" in flag and now.running <= _SMALL_BATCH and resident is not None and resident < _LONG:
        low, mid, high = (now.tok_s * gain for gain in _GRAPHS_ON)
        return Effect(
            tok_s=Range(low, mid, high, "4 public pairs on small batches, below 32k of context"), running=(now.running, now.running)
        )
    return Effect(why="what this flag costs here is not in the log: measure before and after")
