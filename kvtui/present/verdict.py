"""The verdict strip: what limits concurrency, what limits a step, and standing banners."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvtui.domain.finding import Axis, Finding
from kvtui.present import glyphs
from kvtui.present.clauses import fitted, wrapped
from kvtui.present.figures import clock
from kvtui.present.line import Line, Span, Tone, between, clean, clip, clip_line, line_cells
from kvtui.present.state import ViewState
from kvtui.present.then import NOW, scrubbed

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


def leading(state: ViewState) -> tuple[Finding | None, tuple[Finding, ...]]:
    """The verdict that a person must read first, and what stands in the line below the two verdicts."""
    findings = state.analysis.findings
    standing = banners(state)
    first = of_axis(findings, "concurrency")
    # A banner that was found first (memory ran out while serving) leads.
    if not standing or findings[0] is not standing[0]:
        return first, standing
    if first is None or first.id in {"healthy", "not-enough-data"}:
        return standing[0], standing[1:]
    return standing[0], (first, *standing[1:])


def strip(state: ViewState, width: int, rows: int = 3) -> Strip:
    """What limits concurrency, with its proof below it; what limits a step; the banners in a last line if there are any.

    ``rows``: lines of the two verdicts, at least 2; with 2 each proof stands behind its title. With a time cursor one of
    them says what the verdict was then.
    """
    if state.cursor is not None:
        now = strip(replace(state, cursor=None), width - len(NOW), max(2, rows - 1)).lines
        return Strip(scrubbed(now if rows > 2 else (now[0], *now[2:]), state, state.cursor, width))
    first, standing = leading(state)
    step = of_axis(state.analysis.findings, "step")
    upper, lower = first, step
    axis: Axis = "step"
    if step is not None and step is state.analysis.findings[0]:
        # A step that is longer than it need be leads where nothing limits how many run.
        upper, lower, axis = step, first, "concurrency"
    why = state.key("why", glyphs.ENTER)
    if rows < 3:
        lines = [*_inline(upper, "concurrency", width, 1, why), *_inline(lower, axis, width, 1, why)]
    else:
        below = _inline(lower, axis, width, max(1, rows - 1 - _needed(upper, width)), why)
        lines = [*_first(upper, width, rows - 1 - len(below), why), *below]
    if standing:
        lines.append(_banner_line(standing, width))
    return Strip(tuple(clip_line(line, width) for line in lines))


def _needed(found: Finding | None, width: int) -> int:
    """Lines that the whole proof of the first verdict takes, at least one."""
    return 1 if found is None else max(1, len(wrapped(sentence_of(found), max(10, width - 4))))


def _none(axis: Axis) -> Line:
    return Span(f"{glyphs.BAR}{glyphs.NOT} ", "dim"), Span(NO_VERDICT[axis], "dim")


def _first(found: Finding | None, width: int, rows: int, why: str) -> list[Line]:
    """The primary verdict: a line of its own, and ``rows`` lines of proof; ``why``: the key that tells more."""
    if found is None:
        return [_none("concurrency"), *([(Span(glyphs.BAR, "dim"),)] * rows)]
    tone = glyphs.of_finding(found)[1]
    room = max(10, width - 4)
    told = fitted(sentence_of(found), room, rows) or (clip(sentence_of(found), room),)
    below = [*told, *([""] * (rows - len(told)))]
    return [between(_title(found), _right(found, why), width), *((Span(glyphs.BAR, tone), Span(f"  {text}")) for text in below)]


def _title(found: Finding) -> Line:
    sign, tone = glyphs.of_finding(found)
    return (Span(glyphs.BAR, tone), Span(f"{sign} ", tone), Span(clean(found.title, 200), "strong"))


def sentence_of(finding: Finding) -> str:
    """The proof without the title, where it begins with it."""
    title, sentence = clean(finding.title, 200), clean(finding.sentence)
    if sentence.startswith(title) and len(sentence) > len(title):
        sentence = sentence[len(title) :].lstrip(" :,.")
        sentence = sentence[:1].upper() + sentence[1:]
    return sentence


def _right(finding: Finding, why: str) -> Line:
    since = f"since {clock(finding.since, seconds=False)}" if finding.since is not None else ""
    sure = "" if finding.confidence == "high" or finding.id in {"healthy", "not-enough-data"} else f"{finding.confidence} confidence"
    return (Span("  ".join(part for part in (sure, since, f"{why} why") if part) + " ", "dim"),)


def _inline(found: Finding | None, axis: Axis, width: int, rows: int, why: str) -> list[Line]:
    """Title and proof from one line on, in at most ``rows`` lines; what stands at the right gives way to the proof."""
    if found is None:
        return [_none(axis)]
    head, right, sentence = _title(found), _right(found, why), sentence_of(found)
    begin, room = line_cells(head) - 1, max(10, width - 4)
    whole = wrapped(sentence, room, begin=begin)
    beside = wrapped(sentence, room, begin=begin + line_cells(right) + 2)
    if len(beside) <= min(rows, len(whole)):
        return _running(head, beside, right, width, glyphs.of_finding(found)[1])
    return _running(head, fitted(sentence, room, rows, begin=begin), right, width, glyphs.of_finding(found)[1])


def _running(head: Line, told: tuple[str, ...], right: Line, width: int, tone: Tone) -> list[Line]:
    """The title with the proof behind it, which goes on below."""
    first: Line = (*head, Span("  "), Span(told[0])) if told and told[0] else head
    fits = line_cells(first) + 2 + line_cells(right) <= width
    return [between(first, right, width) if fits else first, *((Span(glyphs.BAR, tone), Span(f"  {text}")) for text in told[1:])]


def _banner_line(standing: tuple[Finding, ...], width: int) -> Line:
    spans: list[Span] = []
    for finding in standing:
        sign, tone = glyphs.of_finding(finding)
        before = [Span(glyphs.BAR if not spans else f" {glyphs.BULLET} ", tone if not spans else "dim")]
        before.append(Span(f"{sign} {clean(finding.title, 200)}", tone))
        room = width - line_cells((*spans, *before)) - 2
        told = fitted(clean(finding.sentence), room, 1) if finding.sentence and room > 0 else ()
        spans += [*before, *(Span(f": {text}") for text in told)]
    return clip_line(tuple(spans), width)
