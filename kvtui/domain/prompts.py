"""Prompt sizes out of prefill lines, where a long prompt is spread over several lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.samples import PREFILL, Timeline

_NONE: Final = Missing("the log has no prefill lines")
_ALIGNED: Final = 0.98
"""Where no pass fills the chunk budget exactly, page alignment takes the rest: then one this close was cut by it."""
_PROBE_TOKENS: Final = 8
"""A health probe or warm-up prompt is no longer than this."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the prefill lines of a window say about the requests that started in it."""

    started: int
    tokens: float
    """Uncached prompt tokens computed."""
    mean: Reading[float]
    longest: Reading[float]
    cached_share: Reading[float]


def prompts_of(window: Timeline, ranks: Sequence[tuple[int, Sequence[int]]], chunk: int | None, most: int | None = None) -> Prompts:
    """Prompts over all ranks; ``chunk`` is the effective ``chunked_prefill_size``, or None where unknown.

    ``most``: tokens that no prompt exceeds, the pool and the context length. Where full passes in a row add up to more,
    several prompts end unseen among them, and neither their size nor their number can be told.

    A prefill line counts a prompt that goes on from the line before as a new sequence again (SGLang prints the
    sequences of the pass), so a line after a full one has one start less.
    """
    kinds, new, seqs, cached = (window.column(name) for name in ("kind", "new_token", "new_seq", "cached_token"))
    running = window.column("running")
    started, tokens, hits, longest, lines = 0, 0.0, 0.0, 0.0, 0
    merged = False
    for _, rows in ranks:
        passes = [i for i in rows if kinds[i] == PREFILL and not math.isnan(new[i]) and not _probe(new[i], running[i])]
        budget = _budget([new[i] for i in passes], chunk)
        chain, cut = 0.0, False
        for i in passes:
            count = int(seqs[i]) if math.isfinite(seqs[i]) else 1
            started += max(0, count - cut)
            tokens += new[i]
            hits += 0.0 if math.isnan(cached[i]) else cached[i]
            alone = count == 1
            chain = chain + new[i] if cut and alone else (new[i] if alone else 0.0)
            if most is not None and chain > most:
                merged, chain = True, new[i]
            longest = max(longest, chain)
            cut = budget is not None and new[i] >= budget
        lines += len(passes)
    if not lines:
        return Prompts(0, 0.0, _NONE, _NONE, _NONE)
    where = Where("formula", f"sums over {lines} prefill lines")
    cached_share: Reading[float] = Missing("no prompt tokens in the window")
    if hits + tokens > 0:
        cached_share = Known(hits / (hits + tokens), None, where)
    if merged:
        unknown = Missing("full prefill passes in a row add up to more than a prompt can hold: where one ends is not in the log")
        return Prompts(0, tokens, unknown, unknown, cached_share)
    return Prompts(
        started=started,
        tokens=tokens,
        mean=Known(tokens / started, None, where) if started else Missing("no request started in the window"),
        longest=Known(longest, None, where) if longest else Missing("no prompt had a prefill line of its own"),
        cached_share=cached_share,
    )


def _probe(tokens: float, running: float) -> bool:
    """True for what looks like a health probe on an idle server."""
    return tokens <= _PROBE_TOKENS and running == 0


def _budget(sizes: Sequence[float], chunk: int | None) -> float | None:
    """Tokens from which on a pass was cut, or None where no pass seems cut."""
    if not sizes:
        return None
    top = max(sizes)
    if chunk is not None and chunk > 0:
        if chunk in sizes:
            return float(chunk)
        return _ALIGNED * chunk if top >= _ALIGNED * chunk else None
    # Without the setting only a round size that comes again and again looks like a budget.
    repeated = sum(size == top for size in sizes) >= 3
    return top if repeated and top >= 256 and top % 256 == 0 else None
