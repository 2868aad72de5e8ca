"""Run without the draft model: what that frees depends on the release (facts/diagnoses.md V12, facts/memory.md 2.6)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.domain.units import GIB
from kvtui.domain.what_if import is_capped
from kvtui.options.combined import effect_of_change
from kvtui.options.context import OptionContext, finite
from kvtui.options.context_length import default_rows
from kvtui.options.effect import Effect
from kvtui.options.lever import IDLE, lever, not_here, today, with_effect
from kvtui.options.measured import measured

_TITLE: Final = "drop the draft"
_SIGN: Final = "the sign depends on this model and batch: compare at the same running requests (public pairs: speculation −59 … +89%)"
_FEW, _SOME, _LONG = 2.5, 18.0, 16_384.0
"""Bounds of the conditions that public pairs were grouped by."""
_WEAK_ACCEPT: Final = 1.8
_FORCED: Final = "48"
"""How the reason begins where speculation sets the running cap."""
_LARGE_BATCH: Final = 32.0
"""At or above this batch and below that accept length, speculation rarely pays (facts/diagnoses.md V12)."""


@lever("drop-draft")
def drop_draft(context: OptionContext) -> Estimate:
    """0 tokens up to 0.5.12; the draft's weights and cells from 0.5.15 on."""
    if context.boot is None:
        return not_here(context, "drop-draft", _TITLE, "the server's settings are unknown")
    if not context.speculation:
        return not_here(context, "drop-draft", _TITLE, "no draft is loaded")
    tokens, left, notes = _freed(context)
    base = replace(
        today(context, "drop-draft", _TITLE),
        flags=("remove --speculative-algorithm and the other --speculative-* flags",),
        tokens=tokens,
        headroom_gib=left,
        risk="medium",
        risk_text="a single stream gets slower: up to 16k of context speculation gains at most batch sizes",
        verify="tokens a second at the same number of running requests, not the accept rate",
        notes=(*notes, *_cap_note(context)),
        change=_change(context, left),
    )
    if not _pays(context):
        return with_effect(replace(base, change=replace(base.change, unknown=_SIGN)), context, Effect(why=_SIGN))
    change = _with_speed(context, base.change)
    placed = with_effect(replace(base, change=change), context, effect_of_change(context, change))
    return replace(placed, rank=IDLE, why_not="nothing shows that the draft costs more than it brings")


def _with_speed(context: OptionContext, change: Change) -> Change:
    """What public pairs of this batch and context say of a draft that works as drafts do."""
    running, resident = finite(context.rank_load()[0]), finite(context.workload.resident)
    if context.limit == "running-cap" or running is None or resident is None:
        return replace(change, unknown=_SIGN)
    if resident > _LONG:
        return measured(change, "draft off, long context") if running <= _FEW else replace(change, unknown=_SIGN)
    batch = "1 to 2 clients" if running <= _FEW else "3 to 16 clients" if running <= _SOME else "more clients"
    return measured(change, f"draft off, {batch}")


def _freed(context: OptionContext) -> tuple[int | None, float | None, tuple[str, ...]]:
    """Tokens and headroom without the draft."""
    account, pool = context.account, context.pool
    weights, cells = finite(account.draft_weights_gib), finite(account.draft_kv_gib)
    known, left = (weights or 0.0) + (cells or 0.0), finite(account.headroom_gib)
    if context.release is None:
        return None, None, ("whether it frees tokens depends on the release, which is unknown",)
    if context.before_0_5_15:
        told = f"frees {known:.2f} GiB of headroom" if known else "frees headroom (how much is unknown)"
        after = None if left is None else left + known
        return pool, after, (f"{told}, but 0 tokens until the fraction is raised: up to 0.5.12 the draft is not in the formula",)
    kv = finite(account.kv_gib)
    if pool is None or not kv or weights is None or cells is None:
        return None, left, ("frees the draft's weights and its share of each token; the log shows not enough to say how many",)
    if is_capped(account):
        return pool, None if left is None else left + known, ("max_total_tokens holds the pool",)
    page = optional(account.identity.page_size) or 1
    tokens = math.floor(pool * (1 + known * account.kv_share / kv) / page) * page
    return tokens, left, (f"the draft's {weights:.2f} GiB of weights and {cells:.2f} GiB of KV become pool",)


def _change(context: OptionContext, left: float | None) -> Change:
    """Headroom before 0.5.15; from then on weights and cells go to the pool."""
    account, today_left = context.account, finite(context.account.headroom_gib)
    cap = None
    if account.running_cap_why.startswith(_FORCED):
        context_len = optional(account.context_len)
        cap = default_rows(context.pool, context_len) if context.pool and context_len else None
    plain = Change(running_cap=cap)
    if context.release is None:
        return replace(plain, unknown_pool="whether the draft frees tokens depends on the release, which is unknown")
    if context.before_0_5_15:
        freed = 0.0 if left is None or today_left is None else left - today_left
        return replace(plain, headroom_gib=freed)
    pool, kv, cell = context.pool, finite(account.kv_gib), finite(account.divisor_bytes)
    weights, cells = finite(account.draft_weights_gib), finite(account.draft_kv_gib)
    if pool is None or not kv or weights is None or cells is None:
        return replace(plain, unknown_pool="how much the draft takes is unknown")
    own = kv * GIB / pool
    if cell is None or cell <= 0 or own >= cell:
        return replace(plain, pool_gib=weights + cells)
    # The formula divides by the target's cell alone afterwards; what it divided by before held the draft's share.
    priced = pool * (cell - own) / GIB / account.kv_share
    return replace(plain, cell_ratio=own / cell, pool_gib=weights + cells - priced)


def _cap_note(context: OptionContext) -> tuple[str, ...]:
    if context.account.running_cap_why.startswith(_FORCED):
        return ("removes the running cap of 48 that speculation sets; --max-running-requests does that too",)
    return ()


def _pays(context: OptionContext) -> bool:
    """True unless a rule, or a short accept length at a large batch, says that speculation costs more than it brings."""
    accept, running = finite(context.workload.accept_len), finite(context.rank_load()[0])
    weak = accept is not None and running is not None and accept < _WEAK_ACCEPT and running >= _LARGE_BATCH
    return not weak and context.found("speculation") is None
