"""A server under watch: what is news, and each news as one line. A mere number is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.finding import Finding, VerdictId
from kvtui.domain.frame import Analysis, Frame, SourceHealth
from kvtui.domain.reading import optional
from kvtui.present import glyphs
from kvtui.present.figures import stamp
from kvtui.present.line import clean
from kvtui.present.report_json import SCHEMA, Json, verdict_part

News = Literal[
    "start",  # the first line: what is so now
    "lost",  # a source no longer answers
    "back",  # a source that was lost answers again
    "restart",  # the server began anew
    "verdict",  # other verdicts, another order of them, or another confidence of the primary one
]
SOUND: Final[frozenset[VerdictId]] = frozenset({"healthy", "not-enough-data"})
"""Primary verdicts with which a report ends with status 0."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a reader knows from the lines so far."""

    verdicts: tuple[VerdictId, ...]
    confidence: str
    """Of the primary verdict; empty where there is none."""
    boots: int
    """Most starts that were seen at once."""
    lost: frozenset[str]
    """Names of the sources that do not answer."""


@dataclass(frozen=True, slots=True)
class Change:
    """One piece of news, with all that is so at that moment."""

    event: News
    analysis: Analysis
    was: Told | None = None
    """What was known before; None for the first line."""
    source: SourceHealth | None = None
    """The source that was lost or is back."""


def settled(frame: Frame) -> bool:
    """True once every source was tried: before that there is no state to tell."""
    return all(source.state != "waiting" for source in frame.sources)


def ended(frame: Frame) -> bool:
    """True where what is piped in has come to its end, or holds nothing that can be read."""
    unreadable = not frame.counts.lines and all(source.state == "failed" for source in frame.sources)
    return unreadable or (frame.finished and all(source.state in {"ended", "failed"} for source in frame.sources))


def limited(analysis: Analysis) -> bool:
    """True where something limits the server, as for the exit status of a report."""
    return bool(analysis.findings) and analysis.findings[0].id not in SOUND


def changes(before: Told | None, analysis: Analysis) -> tuple[tuple[Change, ...], Told]:
    """The news of an analysis, in the order to tell them, and what is known afterwards."""
    frame, findings = analysis.frame, analysis.findings
    down = {source.name for source in frame.sources if source.state == "failed"}
    # A source that is being waited for is as it was before.
    held = {source.name for source in frame.sources if source.state == "waiting"} & (before.lost if before is not None else frozenset())
    now = Told(
        tuple(finding.id for finding in findings),
        findings[0].confidence if findings else "",
        max(len(frame.boots), before.boots if before is not None else 0),
        frozenset(down | held),
    )
    if before is None:
        return (Change("start", analysis),), now
    named = {source.name: source for source in frame.sources}
    found = [Change("lost", analysis, before, named[name]) for name in sorted(now.lost - before.lost)]
    found += [Change("back", analysis, before, named[name]) for name in sorted(before.lost - now.lost) if name in named]
    # The first start that is read of a log was there before the watch.
    if now.boots > before.boots > 0:
        found.append(Change("restart", analysis, before))
    if (now.verdicts, now.confidence) != (before.verdicts, before.confidence):
        found.append(Change("verdict", analysis, before))
    return tuple(found), now


def change_json(change: Change, at: float, target: str) -> dict[str, Json]:
    """The line for scripts. ``at``: seconds since the epoch; ``target``: what is watched, secrets removed.

    Times of ``primary`` and ``source_time`` are on the source's clock, as in the report.
    """
    analysis = change.analysis
    frame, findings = analysis.frame, analysis.findings
    source = change.source
    return {
        "schema": SCHEMA,
        "at": f"{stamp(at).replace(' ', 'T')}Z",
        "event": change.event,
        "target": target,
        "model": optional(analysis.account.identity.model),
        "source_time": stamp(frame.now) if frame.now is not None else None,
        "limited": limited(analysis),
        "primary": _primary(findings[0]) if findings else None,
        "verdicts": [{"id": f.id, "axis": f.axis, "confidence": f.confidence} for f in findings],
        "was": _was(change.was) if change.was is not None else None,
        "source": {"name": source.name, "state": source.state, "reason": source.reason or None} if source is not None else None,
        "lost": _names(health.name for health in frame.sources if health.state == "failed"),
        "starts": len(frame.boots),
    }


def _primary(finding: Finding) -> Json:
    told = verdict_part(finding)
    return {name: told[name] for name in ("id", "title", "sentence", "axis", "confidence", "since", "fixes")}


def _names(names: Iterable[str]) -> Json:
    return [*sorted(names)]


def _was(told: Told) -> Json:
    return {
        "primary": {"id": told.verdicts[0], "confidence": told.confidence} if told.verdicts else None,
        "verdicts": list(told.verdicts),
        "lost": _names(told.lost),
        "starts": told.boots,
    }


def change_text(change: Change, at: float) -> str:
    """The line for a person; the time is the source's, else ``at``."""
    frame = change.analysis.frame
    when, source = stamp(frame.now if frame.now is not None else at), change.source
    if change.event == "lost" and source is not None:
        return f"{when}  {glyphs.BAD} lost: {clean(source.name, 40)}. {clean(source.reason, 300)}".rstrip()
    if change.event == "back" and source is not None:
        return f"{when}  {glyphs.GOOD} back: {clean(source.name, 40)}"
    if change.event == "restart":
        return f"{when}  {glyphs.WARN} restart: the server began anew, start {len(frame.boots)}"
    if not change.analysis.findings:
        return f"{when}  {glyphs.NOT} no verdict"
    first = change.analysis.findings[0]
    was = change.was
    other = was is not None and bool(was.verdicts) and was.verdicts[0] != first.id
    before = f"; before: {was.verdicts[0]}" if was is not None and other else ""
    beside = [finding.id for finding in change.analysis.findings[1:]]
    more = f" Beside it: {', '.join(beside)}." if beside else ""
    sign = glyphs.of_finding(first)[0]
    return f"{when}  {sign} {clean(first.title, 200)} [{first.id}, {first.confidence} confidence{before}]: {clean(first.sentence)}{more}"
