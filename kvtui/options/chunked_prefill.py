"""``--chunked-prefill-size``: larger against starved prefill, smaller for headroom (facts/diagnoses.md V4, V24 and 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import Missing
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import standstill
from kvtui.options.lever import headroom_risk, lever, not_here, today, with_effect
from kvtui.options.measured import by_change, measured
from kvtui.options.raise_fraction import SAFE_HEADROOM_GIB

_TITLE: Final = "chunked-prefill-size"
_MIB_A_TOKEN: Final = 1.5
"""What SGLang itself plans of activations a token of the chunk (facts/memory.md 3): a heuristic, not a measurement."""
_TINY: Final = 2_048
"""Chunk of one rank at or below which long prompts were seen to gain (facts/diagnoses.md 7)."""
_WANTED: Final = 8_192
_LEAST: Final = 2_048
_AS_A_RULE: Final = Speed(0.95, 1.02, 1.10, "as a rule 0 … +10%: a chunk moves latency, not the work of prefill")


@lever("chunked-prefill")
def chunked_prefill(context: OptionContext) -> Estimate:
    """Up where prefill is the limit, down where memory outside the pool is short; else it does nothing for the pool."""
    chunk = _chunk(context)
    if chunk is None:
        return not_here(context, "chunked-prefill", _TITLE, "the chunk is unknown")
    if context.limit == "prefill":
        return _larger(context, chunk)
    left = finite(context.account.headroom_gib)
    if context.found("headroom") is not None or (left is not None and left < SAFE_HEADROOM_GIB):
        return _smaller(context, chunk, urgent=True)
    return _smaller(context, chunk, urgent=False)


def _chunk(context: OptionContext) -> int | None:
    """Tokens of the flag; the final line shows it divided by the ranks of DP attention."""
    told = context.boot.number("chunked_prefill_size") if context.boot is not None else None
    if told is None and context.boot is not None and context.boot.final is not None:
        told = context.boot.final.chunked_prefill_size
    return int(told) if told is not None and 0 < told < 1e6 else None


def _larger(context: OptionContext, chunk: int) -> Estimate:
    ranks = context.replicas if context.account.identity.dp_attention else 1
    each = chunk // ranks
    prompt = finite(context.workload.prompt)
    wanted = max(chunk * 2, _WANTED * ranks) if each <= _TINY else chunk * 2
    base = replace(
        today(context, "chunked-prefill", f"chunked-prefill-size {chunk:,} → {wanted:,}"),
        flags=(f"--chunked-prefill-size {wanted}",),
        verify="prefill takes a smaller share of the time at the same traffic; decode lines come as often; the lowest free memory",
        notes=(f"DP attention divides it: {each:,} a rank today",) if ranks > 1 else (),
    )
    # Activations are only a plan of SGLang's: what a chunk really takes, a long prompt shows.
    change = Change(headroom_gib=-(wanted - chunk) / ranks * _MIB_A_TOKEN / 1024)
    if each <= _TINY and prompt is not None and prompt > each:
        change = measured(change, "chunk, prefill-bound")
    else:
        change = replace(change, speed=_AS_A_RULE)
    placed = by_change(base, context, change)
    risk, words = headroom_risk(placed.headroom_gib)
    return replace(placed, risk=risk, risk_text=f"activations grow with the chunk, each prefill pass holds decode up longer; {words}")


def _smaller(context: OptionContext, chunk: int, *, urgent: bool) -> Estimate:
    half = chunk // 2
    if half < _LEAST:
        return not_here(context, "chunked-prefill", _TITLE, f"a chunk of {chunk:,} is small already")
    ranks = context.replicas if context.account.identity.dp_attention else 1
    freed = (chunk - half) / ranks * _MIB_A_TOKEN / 1024
    left = finite(context.account.headroom_gib)
    base = replace(
        today(context, "chunked-prefill", f"chunked-prefill-size {chunk:,} → {half:,}"),
        flags=(f"--chunked-prefill-size {half}",),
        risk="low",
        risk_text="long prompts are prefilled in more passes",
        verify="the lowest free memory under the longest real prompt rises",
        notes=(
            f"by SGLang's own plan of 1.5 MiB a token it eases peaks by about {freed:.1f} GiB; the start shows no gain",
            "the pool does not change: the fraction is set" if left is not None else "the pool changes only where no fraction is set",
        ),
    )
    told = standstill(context, "it changes neither the pool nor what limits the server")
    if isinstance(context.workload.gen_tput, Missing) and not urgent:
        return with_effect(base, context, told)
    placed = with_effect(base, context, told)
    return replace(placed, why_not="", rank=2.0) if urgent else placed
