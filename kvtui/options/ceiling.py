"""What memory bandwidth allows here: the ceiling over every estimate, and the answer to "is 4-5x possible?"."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing, optional
from kvtui.domain.roofline import ACHIEVABLE, DecodeModel, bound_tok_s, decode_model, needed_bandwidth
from kvtui.domain.throughput import gain
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Observed, observed

_TB: Final = 1e12


@dataclass(frozen=True, slots=True)
class Card:
    """A card by what a server sees of its memory."""

    name: str
    low_gib: float
    """Least and most free memory before any process, as CUDA shows it."""
    high_gib: float
    slow_tb: float
    """Peak bandwidth of the slowest and the fastest variant, TB/s."""
    fast_tb: float
    nvlink: bool


CARDS: Final = (
    Card("an RTX PRO 6000", 94.0, 95.6, 1.60, 1.79, nvlink=False),
    Card("an H20", 94.0, 96.0, 4.0, 4.0, nvlink=True),
    Card("an H100 NVL", 92.0, 94.0, 3.9, 3.9, nvlink=True),
    Card("an 80 GB H100", 78.5, 80.0, 2.0, 3.35, nvlink=True),
    Card("an 80 GB A100", 78.5, 80.0, 1.9, 2.04, nvlink=True),
    Card("an H200", 139.0, 141.0, 4.8, 4.8, nvlink=True),
    Card("a B200", 177.0, 180.0, 8.0, 8.0, nvlink=True),
)
"""Makers' figures, for "about" only: a log does not name its card, and the driver's clocks win where they are known."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The bound at the batch where all that runs and waits would run at once."""

    running: float
    """Requests of one rank."""
    tok_s: float
    """At the whole peak bandwidth; "about"."""
    bandwidth: float
    """Bytes a second of one GPU."""


def ceiling(context: OptionContext, change: Change | None = None, running: float | None = None) -> Ceiling | Missing:
    """What the GPUs' bandwidth allows after ``change``, at ``running`` requests of a rank; None: with all the demand at once."""
    now, model = observed(context), _model(context, change)
    if isinstance(now, Missing):
        return now
    if isinstance(model, Missing):
        return model
    if isinstance(context.bandwidth, Missing):
        return context.bandwidth
    bandwidth, resident = context.bandwidth.value, finite(context.workload.resident)
    if resident is None or not (0 < bandwidth < math.inf):
        return Missing("the size of a running request or the bandwidth is unknown")
    demand = (now.running + now.queued) * (change.running_factor if change is not None else 1.0)
    if running is not None and running > 0:
        demand = min(demand, running)
    accept, verified = _speculation(context)
    found = bound_tok_s(model, demand, resident, bandwidth, accept_len=accept, verified=verified)
    return Ceiling(demand, found, bandwidth)


def _model(context: OptionContext, change: Change | None) -> DecodeModel | Missing:
    model = decode_model(context.account)
    if isinstance(model, Missing) or change is None:
        return model
    kv, weights = change.cell_ratio / max(1.0, change.copies), model.weights
    return replace(
        model,
        weights=replace(weights, routed=weights.routed * change.weight_ratio, other=weights.other * change.weight_ratio),
        kv_token_bytes=model.kv_token_bytes * kv,
        kv_window_bytes=model.kv_window_bytes * kv,
    )


def _speculation(context: OptionContext) -> tuple[float, float]:
    """Tokens a request gains and verifies in a step."""
    if not context.speculation:
        return 1.0, 1.0
    accept = finite(context.workload.accept_len)
    drafts = context.boot.number("speculative_num_draft_tokens") if context.boot is not None else None
    # Without figures the most that one step can bring, so that the bound stays a bound.
    most = drafts if drafts is not None and 1 <= drafts < 1_000 else 16.0
    return (accept if accept is not None and accept >= 1 else most), 1.0


def under_ceiling(context: OptionContext, estimate: Estimate, running: float | None = None) -> Estimate:
    """The estimate, cut where it promises more than bandwidth allows at ``running`` requests of a rank; None: at all the demand."""
    span = estimate.tok_s
    if span is None:
        return estimate
    found, now = ceiling(context, estimate.change, running), observed(context)
    if isinstance(found, Missing) or isinstance(now, Missing) or found.tok_s < now.tok_s or span.high <= found.tok_s:
        # What was measured already disproves a bound below it.
        return estimate
    cut = Range(min(span.low, found.tok_s), min(span.mid, found.tok_s), found.tok_s, f"{span.basis}; cut at the bandwidth's ceiling")
    return replace(estimate, tok_s=cut)


def is_possible(context: OptionContext, low: float = 4.0, high: float = 5.0) -> str:
    """One or two sentences: whether ``low`` to ``high`` times today's throughput is possible; empty where nothing can be said."""
    now, model, resident = observed(context), decode_model(context.account), finite(context.workload.resident)
    if isinstance(now, Missing) or isinstance(model, Missing) or resident is None or not 0 < resident < math.inf:
        return ""
    demand = now.running + now.queued
    if not math.isfinite(demand) or demand < now.running * 1.05:
        return ""
    asked = f"{low:g}–{high:g}× of {now.tok_s:,.0f} tok/s"
    curve = gain(now.running, demand, context.curve.r0_mid)
    more = f"all {demand:,.0f} that run and wait at once would give about {curve:.1f}× by the step-time curve"
    found = ceiling(context)
    if isinstance(found, Missing):
        told, reach = _unknown_card(context, now, model, demand, resident, (low, high))
        lead = " is not realistic" if reach < low else " is not to be expected" if curve < low else ""
        return f"{asked}{lead}: {more}; {told}"
    reach = found.tok_s / now.tok_s
    told = f"bandwidth ({found.bandwidth / _TB:.2f} TB/s a GPU) ends at about {found.tok_s:,.0f} tok/s there, {reach:.1f}×"
    if reach < low:
        return f"{asked} is not realistic: {more}; {told}"
    word = "not ruled out by bandwidth, but far off" if reach * ACHIEVABLE < high else "within what bandwidth allows, but far off"
    return f"{asked} is {word if curve < low else 'possible'}: {more}; {told}"


def _unknown_card(
    context: OptionContext, now: Observed, model: DecodeModel, demand: float, resident: float, wanted: tuple[float, float]
) -> tuple[str, float]:
    """What the bandwidth would have to be, and what cards of this memory have; the farthest that one of those reaches."""
    low, high = (needed_bandwidth(model, demand, resident, now.tok_s * times) / _TB for times in wanted)
    told = f"it needs {low:.1f} to {high:.1f} TB/s from every GPU with nothing else in the way"
    cards = cards_of(context.account, context.link)
    if not cards:
        return f"{told}; which card this is, the log does not say", math.inf
    accept, verified = _speculation(context)
    words, reach = [], 0.0
    for card in cards:
        slow, fast = (
            bound_tok_s(model, demand, resident, speed * _TB, accept_len=accept, verified=verified) / now.tok_s
            for speed in (card.slow_tb, card.fast_tb)
        )
        reach = max(reach, fast)
        span = f"{slow:.1f}×" if f"{slow:.1f}" == f"{fast:.1f}" else f"{slow:.1f} to {fast:.1f}×"
        speeds = f"{card.slow_tb:.1f}" if f"{card.slow_tb:.1f}" == f"{card.fast_tb:.1f}" else f"{card.slow_tb:.1f} to {card.fast_tb:.1f}"
        words.append(f"{card.name} has {speeds} and ends at about {span}")
    return f"{told}; the log does not name the card: {', '.join(words)}", reach


def cards_of(account: Account, link: str | None) -> tuple[Card, ...]:
    """Cards of the memory that this server saw before it took any; without NVLink where the log says so."""
    pre, context = finite(account.pre_gib), optional(account.context_gib)
    if pre is None or context is None:
        return ()
    seen = pre + context
    return tuple(card for card in CARDS if card.low_gib <= seen <= card.high_gib and not (link == "pcie" and card.nvlink))
