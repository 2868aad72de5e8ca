"""What a lever would bring, as a sentence: throughput with its range and basis, pool, room, headroom, risk."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.reading import Known, optional
from kvtui.present.figures import gib, signed_pct, tokens
from kvtui.present.state import ViewState


def gain(estimate: Estimate, state: ViewState) -> str:
    """``919…1,229 tok/s (+8% to +44%); pool 188,016 tokens (+62%); 82 requests fit; headroom 6.10 GiB; risk low; restart; basis: …``."""
    if estimate.idle:
        return f"does nothing here: {estimate.why_not}"
    parts = [*_worth(estimate, state)]
    if estimate.headroom_gib is not None and math.isfinite(estimate.headroom_gib):
        parts.append(f"headroom {gib(estimate.headroom_gib)} GiB".replace("-", "−"))
    parts += [f"risk {estimate.risk}", "restart" if estimate.restart else "no restart"]
    parts.append(f"basis: {estimate.tok_s.basis}" if _told(estimate.tok_s) and estimate.tok_s is not None else "")
    return "; ".join(part for part in parts if part)


def _told(found: Range | None) -> bool:
    return found is not None and math.isfinite(found.low) and math.isfinite(found.high)


def _worth(estimate: Estimate, state: ViewState) -> Iterator[str]:
    found = estimate.tok_s
    if found is None or not _told(found):
        yield f"gain not estimated: {estimate.tok_s_why or 'measure it'}"
    else:
        low, high = tokens(found.low), tokens(found.high)
        yield f"{low if low == high else f'{low}…{high}'} tok/s{_change(found, state)}"
    account = state.analysis.account
    today = account.tokens_reported
    each = " a rank" if (optional(account.identity.dp) or 1) > 1 else ""
    if estimate.tokens is not None and not (isinstance(today, Known) and today.value == estimate.tokens):
        more = f" ({signed_pct(today.value, estimate.tokens)})" if isinstance(today, Known) else ""
        yield f"pool {tokens(estimate.tokens)} tokens{each}{more}"
    if estimate.fits is not None and math.isfinite(estimate.fits):
        yield f"{estimate.fits:,.0f} requests fit{each}"


def _change(found: Range, state: ViewState) -> str:
    """Against the throughput of today's load; of a load that was stated there is no today."""
    load = state.analysis.workload
    now = load.gen_tput if load is not None and state.stated is None else None
    if not isinstance(now, Known) or not (math.isfinite(now.value) and now.value > 0):
        return ""
    low, high = signed_pct(now.value, found.low), signed_pct(now.value, found.high)
    return f" ({low})" if low == high else f" ({low} to {high})"
