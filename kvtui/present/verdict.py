"""The verdict strip: what limits concurrency, what limits a step, and standing banners."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from kvtui.domain.finding import Axis, Finding
from kvtui.present import glyphs
from kvtui.present.figures import clock
from kvtui.present.line import Line, Span, between, clean, clip, clip_line, line_cells
from kvtui.present.state import ViewState

NO_VERDICT: dict[Axis, str] = {
    "concurrency": "What limits concurrency: not judged from what was read",
    "step": "What limits tokens per step: not judged from what was read",
}


@dataclass(frozen=True, slots=True)
class Strip:
    """The strip's lines, as many as it is high."""

    lines: tuple[Line, ...]


def of_axis(findings: tuple[Finding, ...], axis: Axis) -> Finding | None:
    """The first verdict of an axis, or None."""
    return next((finding for finding in findings if finding.axis == axis), None)


def banners(state: ViewState) -> tuple[Finding, ...]:
    """Standing warnings, beside the two verdicts."""
    return tuple(f for f in state.analysis.findings if f.axis == "banner")


def strip(state: ViewState, width: int, sentence_rows: int = 1) -> Strip:
    """What limits concurrency, with its proof below it; what limits a step; the banners in a last line if there are any.

    ``sentence_rows``: lines the proof of the first verdict may take; 0: it stands behind the title, on a screen with few rows.
    """
    findings = state.analysis.findings
    standing = banners(state)
    first = of_axis(findings, "concurrency")
    # A banner that was found first (memory ran out while serving) is what a person must read first.
    if standing and findings[0] is standing[0]:
        if first is None or first.id in {"healthy", "not-enough-data"}:
            first, standing = standing[0], standing[1:]
        else:
            first, standing = standing[0], (first, *standing[1:])
    lines = _first(first, width, sentence_rows)
    step = of_axis(findings, "step")
    lines.append(_inline(step, width) if step is not None else (Span(f"{glyphs.BAR}{glyphs.NOT} {NO_VERDICT['step']}", "dim"),))
    if standing:
        lines.append(_banner_line(standing, width))
    return Strip(tuple(clip_line(line, width) for line in lines))


def _first(found: Finding | None, width: int, rows: int) -> list[Line]:
    """The primary verdict: a line of its own, and ``rows`` lines of proof."""
    if found is None:
        lines: list[Line] = [(Span(f"{glyphs.BAR}{glyphs.NOT} {NO_VERDICT['concurrency']}", "dim"),)]
        return [*lines, *([(Span(glyphs.BAR, "dim"),)] * rows)]
    if not rows:
        return [_inline(found, width)]
    sign, tone = glyphs.of_finding(found)
    head: Line = (Span(glyphs.BAR, tone), Span(f"{sign} ", tone), Span(clean(found.title, 200), "strong"))
    room = max(10, width - 4)
    told = textwrap.wrap(_sentence(found), room, break_on_hyphens=False)
    if len(told) > rows:
        told = [*told[: rows - 1], clip(" ".join(told[rows - 1 :]), room)]
    told += [""] * (rows - len(told))
    return [between(head, _right(found), width), *((Span(glyphs.BAR, tone), Span(f"  {text}")) for text in told)]


def _sentence(finding: Finding) -> str:
    """The proof without the title, where it begins with it."""
    title, sentence = clean(finding.title, 200), clean(finding.sentence)
    if sentence.startswith(title) and len(sentence) > len(title):
        sentence = sentence[len(title) :].lstrip(" :,.")
    return sentence


def _right(finding: Finding) -> Line:
    since = f"since {clock(finding.since, seconds=False)}" if finding.since is not None else ""
    sure = "" if finding.confidence == "high" or finding.id in {"healthy", "not-enough-data"} else f"{finding.confidence} confidence"
    return (Span("  ".join(part for part in (sure, since, f"{glyphs.ENTER} why") if part) + " ", "dim"),)


def _inline(finding: Finding, width: int) -> Line:
    """Title and proof in one line; what stands at its right gives way."""
    sign, tone = glyphs.of_finding(finding)
    head: Line = (Span(glyphs.BAR, tone), Span(f"{sign} ", tone), Span(clean(finding.title, 200), "strong"))
    whole: Line = (*head, Span("  "), Span(_sentence(finding)))
    right = _right(finding)
    return between(whole, right, width) if line_cells(whole) + 2 + line_cells(right) <= width else clip_line(whole, width)


def _banner_line(standing: tuple[Finding, ...], width: int) -> Line:
    spans: list[Span] = []
    for finding in standing:
        sign, tone = glyphs.of_finding(finding)
        spans += [
            Span(glyphs.BAR if not spans else f" {glyphs.BULLET} ", tone if not spans else "dim"),
            Span(f"{sign} {clean(finding.title, 200)}", tone),
            Span(f": {clean(finding.sentence)}" if finding.sentence else ""),
        ]
    return clip_line(tuple(spans), width)
