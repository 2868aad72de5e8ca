"""Why a verdict holds: its proof, what it was told apart from, what to do, and how to check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kvtui.domain.estimate import Estimate
from kvtui.domain.finding import Axis, Evidence, Finding
from kvtui.domain.frame import Analysis
from kvtui.options.ceiling import is_possible
from kvtui.options.of_analysis import context_of
from kvtui.present import glyphs
from kvtui.present.figures import clock
from kvtui.present.gain import gain
from kvtui.present.line import BLANK, Begin, Line, Span, Tone, clean, clip_line, wrap
from kvtui.present.option_names import option_name
from kvtui.present.periods import before, times
from kvtui.present.periods import lines as periods
from kvtui.present.pictures import Pictures
from kvtui.present.saved import followed_lines
from kvtui.present.state import ViewState
from kvtui.present.then import looking_back
from kvtui.present.verdict import sentence_of

AXES: Final[Mapping[Axis, str]] = {"concurrency": "how many run", "step": "tokens per step", "banner": "the server as a whole"}
"""What a verdict is about."""
WHOLE: Final = frozenset(("startup-failure", "server-stuck", "hardware-fault", "headroom"))
"""Verdicts that are about more than how many run, whatever they stand first for."""


def why(state: ViewState, width: int, pictures: Pictures | None = None) -> tuple[Line, ...]:
    """All verdicts, the primary one first, in lines of at most ``width`` columns; with their ``pictures`` where there is what draws."""
    analysis = state.analysis
    lines: list[Line] = [*looking_back(state, width)]
    for number, finding in enumerate(analysis.findings):
        drawn = pictures.of(finding, number, state, width) if pictures is not None else []
        lines += [*_finding(finding, state, width, drawn), BLANK]
    if state.followed is not None:
        lines += [*followed_lines(state.followed, width), BLANK]
    told = periods(analysis.periods)
    if told:
        lines += [(Span("Verdicts over time", "strong"),), *((Span("   "), *line) for line in told), BLANK]
    reach = is_possible(context_of(analysis))
    if reach:
        lines += [(Span("How far it can go", "strong"),), *((Span(f"   {part}"),) for part in wrap(clean(reach), width - 3)), BLANK]
    if not analysis.findings:
        lines += [(Span("No verdict: nothing that was read can be judged.", "note"),), BLANK]
    return tuple(clip_line(line, width) for line in (*lines, *_notes(analysis, width)))


def _finding(finding: Finding, state: ViewState, width: int, drawn: Sequence[Line]) -> list[Line]:
    sign, tone = glyphs.of_finding(finding)
    about = AXES["banner" if finding.id in WHOLE else finding.axis]
    told = wrap(sentence_of(finding), width - 3)
    since = f", since {clock(finding.since)}" if finding.since is not None else ""
    earlier = before(state.analysis.periods) if finding is state.analysis.findings[0] else None
    past = f"; before: {clean(earlier.title, 200)} {times(earlier)}" if earlier is not None else ""
    lines: list[Line] = [
        (Span(f"{glyphs.BAR}{sign} ", tone), Span(clean(finding.title), "strong")),
        *_entry(wrap(f"{about}, confidence {finding.confidence}{since}{past}", width - 3), "dim"),
        *_entry(told),
        *drawn,
    ]
    lines += _section("evidence", "good", glyphs.GOOD, (_proof(e) for e in finding.evidence), width)
    lines += _section("ruled out", "dim", glyphs.NOT, (f"{r.verdict}: {r.why}" for r in finding.ruled_out), width)
    lines += _fixes(finding, state, width)
    lines += _section("advice", "key", glyphs.POINTER, finding.advice, width)
    lines += _section("check afterwards", "dim", glyphs.BULLET, finding.verify, width)
    lines += _section("would settle it", "note", glyphs.UNSURE, finding.needs, width)
    return lines


def _entry(parts: Iterable[str], tone: Tone = "text") -> Iterator[Line]:
    """One text in several lines: a blank of its own says that a line goes on with the one above."""
    for number, part in enumerate(parts):
        yield (Span("   "), Span(part, tone)) if number else (Span(f"   {part}", tone),)


def _proof(evidence: Evidence) -> str:
    places = [evidence.where] if evidence.where else []
    if evidence.at is not None:
        places.append(clock(evidence.at))
    return f"{evidence.text}  [{', '.join(places)}]" if places else evidence.text


def _fixes(finding: Finding, state: ViewState, width: int) -> list[Line]:
    """Each fix with its flags, and below it what it would bring: an entry of its own, so that the flags are copied alone."""
    lines: list[Line] = []
    for option in finding.fixes:
        found = next((e for e in state.estimates if e.id == option), None)
        lines += _entries("key", glyphs.POINTER, [_fix(option, found)], width)
        if found is not None and found.applies:
            for number, part in enumerate(wrap(clean(gain(found, state)), max(10, width - 9))):
                lines.append(((Span if number else Begin)("         "), Span(part, "dim")))
    return [(Span("   fixes", "label"),), *lines] if lines else []


def _fix(option: str, found: Estimate | None) -> str:
    if found is None:
        return f"{option_name(option)}: not estimated here"
    if not found.applies:
        return f"{found.title}: not here, {found.why_not}"
    flags = " ".join(found.flags)
    return f"{found.title}: {flags}" if flags else found.title


def _section(name: str, tone: Tone, sign: str, texts: Iterable[str], width: int) -> list[Line]:
    lines = _entries(tone, sign, texts, width)
    return [(Span(f"   {name}", "label"),), *lines] if lines else []


def _entries(tone: Tone, sign: str, texts: Iterable[str], width: int) -> list[Line]:
    return [
        (Span(f"     {sign} " if number == 0 else "       ", tone), Span(part))
        for text in texts
        for number, part in enumerate(wrap(clean(text), max(10, width - 7)))
    ]


def _notes(analysis: Analysis, width: int) -> list[Line]:
    notes = [*analysis.notes, *analysis.account.notes, *analysis.frame.notes]
    return _section("notes", "dim", glyphs.BULLET, notes, width)
