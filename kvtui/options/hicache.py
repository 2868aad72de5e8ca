"""HiCache: a host tier for evicted prefixes. It holds no running request (facts/memory.md 5, facts/diagnoses.md V10)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.geometry import Attention
from kvtui.domain.hicache import DEFAULT_RATIO, KEPT_FREE, SHARED_CHECK, SINCE, HostPlan, HostRequest, must_exceed_device, plan_host
from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import Missing, optional
from kvtui.domain.release import parse_release
from kvtui.domain.units import GB, GIB
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, observed
from kvtui.options.lever import IDLE, lever, not_here, today, with_effect

_TITLE: Final = "HiCache"
_NO_REUSE: Final = (0.92, 1.03)
_URGENT: Final = 2.0
"""Rank where the host is short of memory."""


def host_gb(kv_gib: float, ratio: float, processes: int) -> float:
    """Host memory in all, decimal GB: every GPU process keeps its own copy, MLA's equal ones too."""
    return kv_gib * GIB / GB * ratio * processes


def most_ratio(kv_gib: float, processes: int, available_gb: float) -> float:
    """The highest ratio that the host holds, 10 GiB left to the system; on tenths, rounded down."""
    unit = host_gb(kv_gib, 1.0, processes)
    return max(0.0, math.floor((available_gb - KEPT_FREE / GB) / unit * 10 + 1e-9) / 10) if unit > 0 else 0.0


@lever("hicache")
def hicache(context: OptionContext) -> Estimate:
    """Ratio 2 where the host holds it, else the most that fits."""
    if _is_on(context):
        return _on(context)
    kv = finite(context.account.kv_gib)
    why = _why_not(context)
    if why or kv is None or kv <= 0:
        return not_here(context, "hicache", _TITLE, why or "the size of the KV pool is unknown")
    ratio, most = DEFAULT_RATIO, None
    if context.host_available_gb is not None and math.isfinite(context.host_available_gb):
        most = most_ratio(kv, context.processes, context.host_available_gb)
        ratio = min(DEFAULT_RATIO, most)
        if ratio <= (1.0 if must_exceed_device(context.release) else 0.0):
            needs = host_gb(kv, 1.0, context.processes)
            return not_here(
                context, "hicache", _TITLE, f"{context.host_available_gb:.0f} GB of host memory is free; ratio 1 alone takes {needs:.0f} GB"
            )
    asked = _asked(context, kv, ratio)
    if asked is not None and asked.refused:
        return not_here(context, "hicache", _TITLE, asked.refused)
    needed = asked.host_gb if asked is not None else host_gb(kv, ratio, context.processes)
    base = replace(
        today(context, "hicache", f"HiCache ratio {ratio:g}"),
        flags=("--enable-hierarchical-cache", f"--hicache-ratio {ratio:g}"),
        host_gb=needed,
        risk="medium",
        risk_text=f"takes {needed:.0f} GB of host memory for good; throughput can stay low after memory pressure",
        verify="prefill lines show more cached tokens for the same traffic; TTFT falls; running and max_total_num_tokens do not move",
        notes=(*_notes(context, kv, ratio, most), *(asked.notes if asked is not None else ())),
    )
    effect = _effect(context)
    placed = with_effect(replace(base, change=_change(context, effect)), context, effect)
    return replace(placed, rank=IDLE) if effect.idle else placed


def _asked(context: OptionContext, kv: float, ratio: float) -> HostPlan | None:
    """What the server makes of the ratio; None where the pool's tokens are not known."""
    pool = context.pool
    each = round(kv * GIB / pool) if pool else 0
    if not pool or each <= 0:
        return None
    page = optional(context.account.identity.page_size) or 1
    free = context.host_available_gb if context.host_available_gb is not None and math.isfinite(context.host_available_gb) else None
    return plan_host(HostRequest(context.release, pool, each, page, ratio, ranks=context.processes, available_gb=free))


def _is_on(context: OptionContext) -> bool:
    boot = context.boot
    return boot is not None and (boot.switch("enable_hierarchical_cache") or any(memory.host_pools for memory in boot.ranks))


def _allocated(boot: Boot) -> float:
    """The largest allocation that a rank prints, decimal GB; 0 where none does."""
    return max((pool.size_gb for memory in boot.ranks for pool in memory.host_pools), default=0.0)


def _on(context: OptionContext) -> Estimate:
    """It is on: leave it, or halve it where the host is short of memory."""
    boot = context.boot
    if boot is None or context.found("host-pressure") is None:
        return not_here(context, "hicache", _TITLE, "it is on already")
    size, kv = boot.number("hicache_size") or _allocated(boot), finite(context.account.kv_gib)
    ratio = boot.number("hicache_ratio") or DEFAULT_RATIO
    if 2 <= size < 1e6:
        flag, each = f"--hicache-size {size // 2:.0f}", size // 2
    elif kv is not None and kv > 0 and 0 < ratio < 1e3:
        least = 1.1 if must_exceed_device(context.release) else 0.1
        flag, each = f"--hicache-ratio {max(least, ratio / 2):g}", host_gb(kv, max(least, ratio / 2), 1)
    else:
        return not_here(context, "hicache", _TITLE, "it is on, and its size is unknown")
    needed = each * context.processes
    base = replace(
        today(context, "hicache", "halve HiCache"),
        flags=(flag,),
        host_gb=needed,
        risk="low",
        risk_text="fewer evicted prefixes are kept, so more prefill; running requests are not touched",
        verify="free host memory stays above 10 GiB while the cache fills; no process is killed",
        notes=(f"{each:.0f} GB × {context.processes} ranks = {needed:.0f} GB of host memory (decimal GB; the size counts per rank)",),
    )
    return replace(with_effect(base, context, Effect(why="what the dropped prefixes save is not known")), rank=_URGENT)


def _why_not(context: OptionContext) -> str:
    boot, attention = context.boot, optional(context.account.identity.attention)
    if context.found("host-pressure") is not None:
        return "the host is short of memory already"
    if boot is not None and boot.switch("disable_radix_cache"):
        return "the radix cache is off, and HiCache needs it"
    since = SINCE.get(attention) if attention is not None else None
    needed = parse_release(since) if since is not None else None
    if needed is not None and context.release is not None and context.release.base < needed.base:
        return f"it takes this kind of attention only from {since} on"
    return ""


def _notes(context: OptionContext, kv: float, ratio: float, most: float | None) -> tuple[str, ...]:
    unit, ranks = kv * GIB / GB, context.processes
    notes = [f"{unit:.2f} GB × {ratio:g} × {ranks} ranks = {host_gb(kv, ratio, ranks):.0f} GB of host memory (decimal GB)"]
    attention = optional(context.account.identity.attention)
    if attention in {Attention.MLA, Attention.DSA} and ranks > 1:
        notes.append(f"all {ranks} ranks store the same latent: unique tokens are those of one")
    if most is not None:
        notes.append(f"{context.host_available_gb:.0f} GB free holds at most ratio {most:g}")
    else:
        notes.append("free host memory is unknown: compare with free -g on the server's host")
    if must_exceed_device(context.release):
        notes.append("the host pool must be larger than the device pool: ratio above 1")
    if most is None and not SHARED_CHECK.at(context.release):
        notes.append("each rank checks host memory alone: together they can exhaust it")
    pool = context.pool
    if pool is not None:
        notes.append(f"caches {pool * ratio:,.0f} more evicted tokens")
    return tuple(notes)


def _change(context: OptionContext, effect: Effect) -> Change:
    """Running tokens stay as they are; what prefill saves is a factor."""
    now, told = observed(context), effect.tok_s
    if isinstance(now, Missing) or told is None:
        return Change()
    return Change(speed=Speed(told.low / now.tok_s, told.mid / now.tok_s, told.high / now.tok_s, told.basis))


def _effect(context: OptionContext) -> Effect:
    """Prefill saved where prefixes were evicted; about -5 … 0% where nothing is reused (facts/diagnoses.md 7)."""
    now = observed(context)
    if isinstance(now, Missing):
        return Effect(why=now.reason, idle="adds no running tokens")
    missed = context.found("prefix-miss") or context.found("hicache")
    share, hit = finite(context.workload.prefill_share), finite(context.workload.cached_share)
    if missed is None:
        low, high = (now.tok_s * factor for factor in _NO_REUSE)
        span = Range(low, now.tok_s, high, "public pairs without reuse beyond the pool: −5 … 0%, and 3% that repeats differ")
        return Effect(
            tok_s=span,
            idle="adds no running tokens; no sign of evicted prefixes that are asked for again",
            running=(now.running, now.running),
        )
    if share is None or hit is None or not (0 <= share < 1 and 0 <= hit <= 1):
        return Effect(why="the share of prefill or of cached tokens is unknown")
    saved = min(0.9, share * (1 - hit))
    span = Range(now.tok_s * 0.95, now.tok_s / (1 - saved / 2), now.tok_s / (1 - saved), "prefill time saved, none … all of today's misses")
    return Effect(tok_s=span, running=(now.running, now.running), notes=("adds no running tokens: it saves prefill",))
