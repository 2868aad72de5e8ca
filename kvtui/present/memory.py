"""The GPU memory pane: a bar a GPU, the legend with its GiB, and the what-if."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import WhatIf
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.ledger import GpuLedger
from kvtui.domain.plan import Plan
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.present import figures
from kvtui.present.cuts import GHOST, KINDS, bar_line, cuts, ghost
from kvtui.present.glyphs import BAD, FILLS
from kvtui.present.line import BLANK, Line, Span, Tone, cells, clean, clip, clip_line, line_cells, pad, pad_left, wrap
from kvtui.present.machine import gpu_hint
from kvtui.present.plan_drawn import moved_gib, pool_gib
from kvtui.present.state import ViewState

TALLEST: Final = 3
"""Rows of a bar at most."""
NARROWEST: Final = 8
"""Cells of a bar at least; below that nothing can be read from it."""
SAME_GIB, ALIKE_GIB = 0.01, 0.1
"""Ranks whose parts differ by less are the same as printed; are alike, where there is no room for all of them."""


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """The pane's lines, and what stands in its border."""

    rows: tuple[Line, ...]
    heading: Line = ()
    note: Line = ()
    copies: tuple[tuple[int, str], ...] = ()
    """(row, text) of each bar: its parts with their GiB."""


def memory_model(state: ViewState, width: int, height: int) -> MemoryModel:
    """The pane in ``width`` by ``height`` cells."""
    analysis = state.analysis
    bars = analysis.ledgers
    heading: Line = (Span("GPU memory"),)
    if not bars:
        words = wrap(_no_bars(analysis.frame), width)
        return MemoryModel(tuple((Span(line, "dim"),) for line in words[:height]), heading)
    heading = (*heading, Span(f" ─ {_count(bars)}", "dim"))
    legend = _legend(bars, width, max(1, height - 2))
    foot = _foot(state, width)
    # A row is kept for the what-if's line: the pane must not be laid out anew when it comes.
    kept = 0 if state.planned is not None or state.what_if is not None else 1
    room = max(1, height - len(legend) - len(foot) - kept)
    drawn = _bars(bars, state, width, room)
    spare = height - len(drawn) - len(legend) - len(foot)
    table = _table(bars, width, spare + len(legend) - 1 - kept) if spare > 0 else ()
    if table:
        legend = table
        spare = height - len(drawn) - len(legend) - len(foot)
    more = min(TALLEST - 1, (spare - kept) // len(bars))
    if more > 0 and len(bars) == len(drawn):
        # Room is left for taller bars: they are what the pane is about.
        drawn = tuple(line for bar in drawn for line in _tall(bar, more))
        spare -= more * len(bars)
    gap: tuple[Line, ...] = (BLANK,) if spare > 0 else ()
    high, left = divmod(len(drawn), len(bars))
    told = tuple((row, bar_text(bars[row // high])) for row in range(len(drawn))) if high and not left else ()
    return MemoryModel((*drawn, *gap, *legend, *foot)[:height], heading, copies=told)


def _tall(bar: Line, more: int) -> tuple[Line, ...]:
    """A bar with so many more rows, which are the same without its words; half of them stand above."""
    bare = (Span(" " * cells(bar[0].text)), *bar[1:-1], Span(" " * cells(bar[-1].text)))
    return (*(bare,) * (more // 2), bar, *(bare,) * (more - more // 2))


def bar_text(bar: GpuLedger) -> str:
    """One bar in words: ``GPU 0, 95.59 GiB: weights 72.33, KV used 6.92, free 9.81``."""
    name = clean(bar.label, 24)
    return f"{name}, {_gib(bar.total_gib)} GiB: " + ", ".join(f"{FILLS[cut.tone][1]} {_gib(cut.gib)}" for cut in cuts(bar))


def _count(bars: Sequence[GpuLedger]) -> str:
    sizes = [bar.total_gib for bar in bars]
    low, high = min(sizes), max(sizes)
    size = _gib(high) if _same(low, high) else f"{_gib(low)}–{_gib(high)}"
    return f"{len(bars)} × {size} {_whole(bars)}"


def _whole(bars: Sequence[GpuLedger]) -> str:
    """What a bar is the whole of."""
    if all(bar.total_is_device for bar in bars):
        return "GiB"
    return "GiB free before weights" if all(bar.total_is_pre for bar in bars) else "GiB that the server told of"


def _foot(state: ViewState, width: int) -> tuple[Line, ...]:
    """What must be said about the bars: the what-if, and that a log does not know the card."""
    lines: list[Line] = []
    if state.planned is not None and pool_gib(state.planned, state.analysis) is not None:
        lines.append(clip_line(_plan_line(state.planned, state.analysis), width))
    elif state.what_if is not None:
        lines.append(clip_line(_what_if_line(state.analysis, state.what_if), width))
    bars = state.analysis.ledgers
    if not all(bar.total_is_device for bar in bars):
        start = "bars start at free before weights" if all(bar.total_is_pre for bar in bars) else "bars hold only the known parts"
        lines.append((Span(clip(f"card size not told: {start}", width), "dim"),))
    hint, tone = gpu_hint(state.analysis.frame)
    if hint:
        lines.append((Span(clip(clean(hint), width), tone),))
    return tuple(lines)


def _no_bars(frame: Frame) -> str:
    """Why there is no bar."""
    said = "no memory line was read: where the memory went is unknown"
    hint = clean(gpu_hint(frame)[0]) if frame.gpus is not None else ""
    unknown = [gpu.memory.reason for gpu in frame.gpus.gpus if isinstance(gpu.memory, Missing)] if frame.gpus is not None else []
    told = "; ".join(dict.fromkeys((*([hint] if hint else []), *(clean(text, 120) for text in unknown))))
    return f"{said}; {told}" if told else said


def _what_if_line(analysis: Analysis, what: WhatIf) -> Line:
    today = analysis.account.kv_gib
    if not isinstance(what.kv_gib, Known) or not math.isfinite(what.kv_gib.value):
        reason = "its size is not a number" if isinstance(what.kv_gib, Known) else what.kv_gib.reason
        return (Span(GHOST + " ", "changed"), Span(f"at {figures.fraction(what.fraction)} the pool is unknown: {clean(reason)}", "dim"))
    left = what.headroom_gib.value if isinstance(what.headroom_gib, Known) else None
    return _pool_ends(f"at {figures.fraction(what.fraction)}", today, what.kv_gib.value, left)


def _plan_line(plan: Plan, analysis: Analysis) -> Line:
    return _pool_ends("after the plan", analysis.account.kv_gib, pool_gib(plan, analysis) or 0.0, plan.headroom_gib)


def _pool_ends(when: str, today: Reading[float], after: float, left: float | None) -> Line:
    before = f"{_gib(today.value)} → " if isinstance(today, Known) else ""
    spans = [Span(GHOST + " ", "changed"), Span(f"pool ends {when}: {before}{_gib(after)}", "changed")]
    if left is not None:
        text, tone = (f"  free {_gib(left)}", "text") if left >= 0 else (f"  {BAD} {_gib(-left)} GiB too much", "bad")
        spans.append(Span(text, tone))  # type: ignore[arg-type]
    return tuple(spans)


def _bars(bars: Sequence[GpuLedger], state: ViewState, width: int, room: int) -> tuple[Line, ...]:
    """A line a GPU; equal neighbours are folded where there is no room for all."""
    groups = [[bar] for bar in bars]
    word = "same"
    if len(groups) > room:
        groups = _folded(bars, SAME_GIB)
    if len(groups) > room:
        groups, word = _folded(bars, ALIKE_GIB), "alike"
    names = [_group_label(group, word) for group in groups]
    rest = ""
    if len(groups) > room:
        hidden = groups[max(0, room - 1) :]
        count = sum(len(group) for group in hidden)
        free = _least_free([bar for group in hidden for bar in group])
        rest = f"+ {count} more" + (f", least free {_gib(free)} GiB" if free is not None else "")
        groups, names = groups[: room - 1], names[: room - 1]
    label = min(max((cells(name) for name in names), default=0), max(4, width // 3))
    told = [_gib(free) if (free := _least_free(group)) is not None else "?" for group in groups]
    tail = max((len(text) for text in told), default=0)
    size = max(0, width - label - tail - 2)
    scale = max(bar.total_gib for bar in bars)
    moved = moved_gib(state.planned, state.analysis) if state.planned is not None else None
    lines: list[Line] = []
    for group, name, text in zip(groups, names, told, strict=True):
        bar = group[0]
        length = max(1, round(size * bar.total_gib / scale)) if scale > 0 and math.isfinite(scale) else size
        cut = bar_line(cuts(bar), length, ghost(bar, state.analysis, state.what_if, moved)) if size >= NARROWEST else ()
        space = Span(" " * (size - line_cells(cut)))
        row = (Span(pad(name, label) + " ", "label"), *cut, space, Span(" " + pad_left(text, tail), "text"))
        lines.append(clip_line(row, width))
    if rest:
        lines.append((Span(clip(rest, width), "dim"),))
    return tuple(lines)


def _group_label(group: Sequence[GpuLedger], word: str) -> str:
    first, last = (clean(bar.label, 24).removeprefix("GPU ") for bar in (group[0], group[-1]))
    return first if len(group) == 1 else f"{first}..{last} {word}"


def _folded(bars: Sequence[GpuLedger], tolerance: float) -> list[list[GpuLedger]]:
    groups: list[list[GpuLedger]] = []
    for bar in bars:
        if groups and _alike(groups[-1][0], bar, tolerance):
            groups[-1].append(bar)
        else:
            groups.append([bar])
    return groups


def _alike(one: GpuLedger, other: GpuLedger, tolerance: float) -> bool:
    a, b = cuts(one), cuts(other)
    return len(a) == len(b) and all(x.tone == y.tone and abs(x.gib - y.gib) < tolerance for x, y in zip(a, b, strict=True))


def _same(a: float, b: float) -> bool:
    return abs(a - b) < SAME_GIB


def _least_free(bars: Sequence[GpuLedger]) -> float | None:
    return min((part.gib for bar in bars for part in bar.parts if part.kind == "free"), default=None)


def _sizes(bars: Sequence[GpuLedger]) -> dict[Tone, tuple[float, float]]:
    """Smallest and largest size of each part over the GPUs that have it, in the order of the bars."""
    found: dict[Tone, list[float]] = {}
    for bar in bars:
        for cut in cuts(bar):
            found.setdefault(cut.tone, []).append(cut.gib)
    order = list(FILLS)
    return {tone: (min(found[tone]), max(found[tone])) for tone in sorted(found, key=order.index)}


def _range(low: float, high: float) -> str:
    return _gib(high) if _same(low, high) else f"{_gib(low)}–{_gib(high)}"


def _gib(size: float) -> str:
    """GiB as the log prints them, two decimals; a figure no card can have is cut short."""
    return figures.gib(size) if abs(size) < 1e5 else f"{size:.0e}"


def _legend(bars: Sequence[GpuLedger], width: int, most: int) -> tuple[Line, ...]:
    """Glyph, word and GiB of each part, as many in a line as fit."""
    lines: list[list[Span]] = [[]]
    for tone, (low, high) in _sizes(bars).items():
        glyph, word = FILLS[tone]
        differs = " by GPU" if high - low >= ALIKE_GIB else ""
        entry = [Span(glyph, tone), Span(f" {word} ", "text"), Span(_range(low, high), "strong"), Span(differs, "dim"), Span("  ")]
        if lines[-1] and line_cells((*lines[-1], *entry)) - 2 > width:
            lines.append([])
        lines[-1] += entry
    return tuple(clip_line(tuple(line[:-1]), width) for line in lines[:most] if line)


def _share(size: float, total: float) -> str:
    """Percent of a card; what is there is not told as nothing."""
    share = figures.percent(size / total) if total > 0 else ""
    return "<1%" if share == "0%" and size >= SAME_GIB else share


def _table(bars: Sequence[GpuLedger], width: int, room: int) -> tuple[Line, ...]:
    """A part a line with its size, share and origin; empty where there is no room for all."""
    sizes = _sizes(bars)
    if len(sizes) > room:
        return ()
    details = {KINDS[part.kind]: part.detail for bar in reversed(bars) for part in bar.parts}
    details["kv-used"] = details.get("kv-free", "")
    total = max(bar.total_gib for bar in bars)
    texts = {tone: _range(low, high) for tone, (low, high) in sizes.items()}
    figure = max(len(text) for text in texts.values())
    word_cells = max(cells(FILLS[tone][1]) for tone in texts) + 1
    lines = []
    for tone, text in texts.items():
        glyph, word = FILLS[tone]
        share = _share(sizes[tone][1], total)
        spans = (
            Span(glyph * 2 + " ", tone),
            Span(pad(word, word_cells), "text"),
            Span(pad_left(text, figure) + " GiB", "strong"),
            Span(pad_left(share, 6) + "  ", "dim"),
        )
        differs = "differs by GPU" if sizes[tone][1] - sizes[tone][0] >= ALIKE_GIB else ""
        detail = clean(details.get(tone, ""), 200)
        both = f"{differs}: {detail}" if differs and detail else differs or detail
        # The beginning of a detail says nothing, unless it is why a part is unknown.
        told = both if tone == "unknown" or line_cells(spans) + cells(both) <= width else differs
        lines.append(clip_line((*spans, Span(told, "dim")), width))
    return tuple(lines)
