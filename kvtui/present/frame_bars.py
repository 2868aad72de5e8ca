"""The one-line bars of the frame: the tabs of a narrow screen, and the footer."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.present.line import Line, Span, clip_line, line_cells


def tabs(names: Sequence[str], current: int, width: int) -> Line:
    """``1 GPU memory  2 Server ...``, the current one marked."""
    spans: list[Span] = [Span(" ")]
    for number, name in enumerate(names):
        shown = f" {number + 1} {name} "
        spans += [Span(f"[{shown.strip()}]" if number == current else shown, "key" if number == current else "dim"), Span(" ")]
    return clip_line(tuple(spans), width)


def footer(keys: Sequence[tuple[str, str]], width: int) -> Line:
    """``(key, title)`` pairs, as many as fit, whole ones only; the last two (help and quit) always."""
    spans: list[Span] = []
    last = tuple(span for pair in keys[-2:] for span in _pair(pair))
    for pair in keys[:-2]:
        more = _pair(pair)
        if line_cells((*spans, *more, *last)) > width:
            break
        spans += more
    return clip_line((*spans, *last), width)


def _pair(pair: tuple[str, str]) -> Line:
    key, title = pair
    return Span(f" {key}", "key"), Span(f" {title} ", "dim")
