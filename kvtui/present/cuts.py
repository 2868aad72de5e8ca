"""A GPU's memory as a bar that its parts fill exactly.

Fills differ in their glyph, so that a bar can be read without colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kvtui.domain.account import WhatIf
from kvtui.domain.frame import Analysis
from kvtui.domain.ledger import GpuLedger, PartKind
from kvtui.domain.reading import Known
from kvtui.present.glyphs import EIGHTHS, FILLS
from kvtui.present.line import Edge, Line, Span, Tone

KINDS: Final[dict[PartKind, Tone]] = {
    "context": "context",
    "weights": "weights",
    "kv": "kv-free",
    "state": "state",
    "draft": "draft",
    "graphs": "graphs",
    "other": "other",
    "processes": "processes",
    "unknown": "unknown",
    "free": "free",
}
GHOST: Final = "┃"


@dataclass(frozen=True, slots=True)
class Cut:
    """One part of a bar as it is drawn."""

    tone: Tone
    gib: float


def cuts(bar: GpuLedger) -> tuple[Cut, ...]:
    """The parts in order, the pool split into used and free; sizes that are no number are left out."""
    drawn: list[Cut] = []
    for part in bar.parts:
        if not (math.isfinite(part.gib) and part.gib > 0):
            continue
        if part.kind == "kv" and isinstance(bar.kv_used_share, Known) and math.isfinite(bar.kv_used_share.value):
            share = min(1.0, max(0.0, bar.kv_used_share.value))
            drawn += [Cut("kv-used", part.gib * share), Cut("kv-free", part.gib * (1 - share))]
        else:
            drawn.append(Cut(KINDS[part.kind], part.gib))
    return tuple(drawn)


def ghost(bar: GpuLedger, analysis: Analysis, what: WhatIf | None, moved: float | None = None) -> float | None:
    """Where the pool would end at the what-if, as a share of the bar; None where that is not known.

    ``moved``: GiB by which a plan moves that end, in place of the what-if.
    """
    today = analysis.account.kv_gib
    if moved is None and what is not None and isinstance(what.kv_gib, Known) and isinstance(today, Known):
        moved = what.kv_gib.value - today.value
    if moved is None or not bar.total_gib > 0:
        return None
    end = 0.0
    for part in bar.parts:
        end += part.gib
        if part.kind == "kv":
            place = (end + moved) / bar.total_gib
            return min(1.0, max(0.0, place)) if math.isfinite(place) else None
    return None


def bar_line(parts: Sequence[Cut], width: int, edge: float | None = None) -> Line:
    """The parts in exactly ``width`` cells, in order; a cell that two parts share is drawn in eighths.

    ``edge``: share of the bar at which the what-if's mark stands.
    """
    total = math.fsum(cut.gib for cut in parts)
    if width <= 0 or not parts or not (math.isfinite(total) and total > 0):
        return ()
    ends: list[int] = []
    done = 0.0
    for cut in parts:
        done += cut.gib
        ends.append(min(width * 8, round(done / total * width * 8)))
    ends[-1] = width * 8
    return _drawn(tuple(cut.tone for cut in parts), tuple(ends), width, None if edge is None else min(width - 1, int(edge * width)))


@lru_cache(maxsize=128)
def _drawn(tones: tuple[Tone, ...], ends: tuple[int, ...], width: int, mark: int | None) -> Line:
    """A bar by its eighths: the GPUs of a server differ by less than that, and so does one from second to second."""
    row: list[Span] = [_cell(tones, ends, at * 8) for at in range(width)]
    if mark is not None:
        row[mark] = Span(GHOST, "changed")
    return _joined(row)


def _cell(tones: Sequence[Tone], ends: Sequence[int], start: int) -> Span:
    """The cell from eighth ``start``: one part's fill, or a partial block where the first of them ends."""
    here = next(i for i, end in enumerate(ends) if end > start)
    first = tones[here]
    filled = ends[here] - start
    if filled >= 8:
        return Span(FILLS[first][0], first)
    last = next(i for i, end in enumerate(ends) if end >= start + 8)
    return Edge(EIGHTHS[filled - 1], first, tones[last])


def _joined(row: Sequence[Span]) -> Line:
    spans: list[Span] = []
    for span in row:
        if spans and not isinstance(span, Edge) and not isinstance(spans[-1], Edge) and spans[-1].tone == span.tone:
            spans[-1] = Span(spans[-1].text + span.text, span.tone)
        else:
            spans.append(span)
    return tuple(spans)
