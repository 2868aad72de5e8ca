"""``--page-size``: larger pages read faster, smaller ones waste less (facts/diagnoses.md V21 and 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.plan import Change
from kvtui.domain.reading import optional
from kvtui.options.context import POOL_LIMITS, OptionContext, finite
from kvtui.options.lever import IDLE, lever, not_here, today
from kvtui.options.measured import by_change, measured

_TITLE: Final = "page-size"
_LARGE: Final = 64
_WASTE: Final = 0.02
"""Share of the pool lost in half-full pages from which smaller pages are worth a restart."""


@lever("page-size")
def page_size(context: OptionContext) -> Estimate:
    """64 where pages are single tokens, 1 where half-full pages waste a share of the pool."""
    page, pool, running = optional(context.account.identity.page_size), context.pool, finite(context.rank_load()[0])
    if page is None or pool is None:
        return not_here(context, "page-size", _TITLE, "the page size or the pool is unknown")
    wasted = (running or 0.0) * page / 2
    if page >= _LARGE and wasted >= _WASTE * pool and context.limit in POOL_LIMITS:
        return _smaller(context, page, wasted / pool)
    if page >= _LARGE:
        return not_here(context, "page-size", _TITLE, f"pages of {page} waste about {wasted:,.0f} tokens of {pool:,}")
    base = replace(
        today(context, "page-size", f"page size {page} → {_LARGE}"),
        flags=(f"--page-size {_LARGE}",),
        risk="medium",
        risk_text="prefix hits are cut to whole pages; some backends force a size of their own",
        verify="step time at the same running requests; the cached share of prompts",
        notes=(f"half-full pages waste about {(running or 0.0) * _LARGE / 2:,.0f} tokens", "HiCache moves larger pages faster"),
    )
    placed = by_change(base, context, measured(Change(page=_LARGE), "page size"))
    return replace(placed, rank=IDLE, why_not="not the limit here")


def _smaller(context: OptionContext, page: int, share: float) -> Estimate:
    base = replace(
        today(context, "page-size", f"page size {page} → 1"),
        flags=("--page-size 1",),
        risk="medium",
        risk_text="not every attention backend takes single-token pages; kernels may read slower",
        verify="the server starts with page_size=1; usage at the same running requests falls",
        notes=(f"half-full pages waste about {share:.1%} of the pool",),
    )
    return by_change(base, context, Change(page=1, unknown="what smaller pages cost the kernel is not known"))
