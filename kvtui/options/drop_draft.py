"""Run without the draft model: what that frees depends on the release (facts/diagnoses.md V12, facts/memory.md 2.6)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.reading import optional
from kvtui.domain.what_if import is_capped
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect
from kvtui.options.lever import IDLE, lever, not_here, today, with_effect

_TITLE: Final = "drop the draft"
_WEAK_ACCEPT: Final = 1.8
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
    )
    why = "the sign depends on this model and batch: compare at the same running requests (public pairs: speculation −59 … +89 %)"
    placed = with_effect(base, context, Effect(why=why))
    if _pays(context):
        return replace(placed, rank=IDLE, why_not="nothing shows that the draft costs more than it brings")
    return placed


def _freed(context: OptionContext) -> tuple[int | None, float | None, tuple[str, ...]]:
    """Tokens and headroom without the draft."""
    account, pool = context.account, context.pool
    weights, cells = finite(account.draft_weights_gib), finite(account.draft_kv_gib)
    known, left = (weights or 0.0) + (cells or 0.0), finite(account.headroom_gib)
    if context.release is None:
        return None, None, ("whether it frees tokens depends on the release, which is unknown",)
    if context.before_0_5_15:
        told = f"frees {known:.2f} GiB of headroom" if known else "frees headroom (how much, the log does not show)"
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


def _cap_note(context: OptionContext) -> tuple[str, ...]:
    if context.account.running_cap_why.startswith("48"):
        return ("removes the running cap of 48 that speculation sets; --max-running-requests does that too",)
    return ()


def _pays(context: OptionContext) -> bool:
    """True unless a rule, or a short accept length at a large batch, says that speculation costs more than it brings."""
    accept, running = finite(context.workload.accept_len), finite(context.rank_load()[0])
    weak = accept is not None and running is not None and accept < _WEAK_ACCEPT and running >= _LARGE_BATCH
    return not weak and context.found("speculation") is None
