"""A plan's effect as the panes draw it: a line of the formula, an edge on the bars, a band on the chart."""

from __future__ import annotations

import math

from kvtui.domain.frame import Analysis
from kvtui.domain.plan import Plan
from kvtui.domain.units import GIB
from kvtui.present import glyphs
from kvtui.present.aside import headroom_judgement
from kvtui.present.figures import figure, gib, signed_pct, tokens
from kvtui.present.line import Line, Span, pad
from kvtui.present.plot import Limit
from kvtui.present.readings import finite


def plan_line(plan: Plan, analysis: Analysis, label: int, width: int) -> Line:
    """The plan's pool and headroom, in the columns of the formula."""
    name = Span(f" {pad(f'{glyphs.MARKED} plan of {len(plan.options)}', label)}", "label")
    if plan.conflicts:
        return name, Span(f"{glyphs.WARN} parts do not go together", "warn")
    if plan.tokens is None:
        return name, Span("unknown", "note"), Span(f", because {plan.tokens_why or 'the pool is unknown'}", "dim")
    now = finite(analysis.account.tokens_reported)
    spans = [name, Span(tokens(plan.tokens).rjust(width), "changed"), Span("  ")]
    if now:
        spans.append(Span(signed_pct(now, plan.tokens), "changed"))
    if plan.headroom_gib is not None and math.isfinite(plan.headroom_gib):
        left = gib(plan.headroom_gib).replace("-", "−")
        spans += [Span(f" · left {left} ", "dim"), *headroom_judgement(plan.headroom_gib).spans]
    return tuple(spans)


def pool_gib(plan: Plan, analysis: Analysis) -> float | None:
    """GiB a GPU of the pool after the plan; None where it is not known or the ranks share the model in another way."""
    account, change = analysis.account, plan.change
    now, size, cell = finite(account.tokens_reported), finite(account.kv_gib), finite(account.divisor_bytes)
    if plan.tokens is None or plan.conflicts or now is None or size is None or cell is None or change.copies != 1:
        return None
    after = size + (plan.tokens * change.cell_ratio - now) * cell / GIB
    return after if math.isfinite(after) and after >= 0 else None


def moved_gib(plan: Plan, analysis: Analysis) -> float | None:
    """GiB by which the end of the pool moves on a bar; what the weights give back moves its begin."""
    after, now = pool_gib(plan, analysis), finite(analysis.account.kv_gib)
    return None if after is None or now is None else after - now - plan.change.pool_gib


def limits_after(plan: Plan, analysis: Analysis, ranks: int) -> tuple[Limit, ...]:
    """What the plan admits, and its running cap, for the chart of running requests."""
    drawn: list[Limit] = []
    band = _band(plan, analysis, ranks)
    if band is not None:
        low, high = band
        text = figure(low) if math.floor(low) == math.floor(high) else f"{figure(math.floor(low))}–{figure(math.floor(high))}"
        drawn.append(Limit(f"plan admits {text}", low, high, "changed"))
    elif plan.running is not None and plan.running[0] != plan.running[1] and math.isfinite(plan.running[1]):
        at = plan.running[1] * ranks
        drawn.append(Limit(f"plan runs {figure(round(at))}", at, at, "changed"))
    cap = plan.change.running_cap
    if cap is not None and not plan.conflicts:
        drawn.append(Limit(f"plan's cap {figure(cap * ranks)}", cap * ranks, cap * ranks, "changed"))
    return tuple(drawn)


def _band(plan: Plan, analysis: Analysis, ranks: int) -> tuple[float, float] | None:
    """Today's band moved by the tokens that come, ``change of pool / c``; None where the plan changes what a request is charged."""
    band, now, change = analysis.band, finite(analysis.account.tokens_reported), plan.change
    if band is None or now is None or plan.tokens is None or plan.conflicts or plan.tokens == now:
        return None
    if change.copies != 1 or change.running_ratio != 1 or change.max_new_tokens is not None or change.conservativeness is not None:
        return None
    if not (band.charge.low > 0 and math.isfinite(band.low + band.high)):
        return None
    more = plan.tokens - now
    low, high = sorted((band.low + more / band.charge.high, band.high + more / band.charge.low))
    return max(0.0, low) * ranks, max(0.0, high) * ranks
