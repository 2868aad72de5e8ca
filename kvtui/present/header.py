"""The header line: which server this is, and how its sources are doing."""

from __future__ import annotations

from kvtui.domain.account import Identity
from kvtui.domain.frame import Frame, SourceHealth
from kvtui.domain.notice import Notice, NoticeKind
from kvtui.domain.reading import Known
from kvtui.present import glyphs
from kvtui.present.figures import clock, stamp, version_text
from kvtui.present.line import Line, Span, between, clean, line_cells
from kvtui.present.readings import finite, text_or
from kvtui.present.state import ViewState

SEPARATOR = Span(f" {glyphs.BULLET} ", "dim")
TAGS: dict[NoticeKind, str] = {
    "restart": "restarted",
    "frozen": "values stand still since",
    "clock": "clock was set",
    "suspended": "was suspended until",
}
"""What the header says of a notice; its time stands behind."""


def header(state: ViewState, width: int) -> Line:
    """The line in ``width`` columns."""
    frame = state.analysis.frame
    right: Line = (*_notice(frame.notices), *_right(state, frame), Span(" "))
    first, *more = _identity(state.analysis.account.identity)
    boot: Line = ()
    if len(frame.boots) > 1:
        boot = (SEPARATOR, Span(f"boot {frame.boots.index(frame.boots[frame.chosen]) + 1} of {len(frame.boots)}"))
    left: list[Span] = [Span(" kvtui ", "mark"), Span("  "), Span(first, "strong")]
    for text in more:
        # Whole facts only: half a name of a type says nothing.
        if line_cells((*left, SEPARATOR, Span(text), *boot, *right)) + 2 <= width:
            left += [SEPARATOR, Span(text)]
    if line_cells((*left, *boot, *right)) + 2 <= width:
        left += boot
    return between(tuple(left), right, width)


def _notice(notices: tuple[Notice, ...]) -> Line:
    """The most urgent notice in a few words; all of them stand among the notes of why."""
    if not notices:
        return ()
    first = notices[0]
    when = f" {clock(first.at)}" if first.at is not None else ""
    more = f" +{len(notices) - 1}" if len(notices) > 1 else ""
    return (Span(f"{glyphs.WARN} {TAGS[first.kind]}{when}{more}", "warn"), Span("  "))


def _identity(identity: Identity) -> list[str]:
    """The model, then facts about its server, the most telling first."""
    parts = [text_or(identity.model, "model unknown"), f"SGLang {version_text(identity.version, identity.version_span)}"]
    sizes = [(name, finite(size)) for name, size in (("TP", identity.tp), ("DP", identity.dp), ("PP", identity.pp))]
    shown = [f"{name}{size}" for name, size in sizes if size is not None and (size > 1 or name == "TP")]
    if shown:
        parts.append(" ".join(shown) + (" DP attention" if identity.dp_attention else ""))
    if isinstance(identity.attention, Known):
        parts.append(identity.attention.value.value.upper())
    if isinstance(identity.kv_dtype, Known):
        parts.append(f"KV {text_or(identity.kv_dtype, '')}")
    return parts


def _right(state: ViewState, frame: Frame) -> Line:
    if state.paused_at is not None:
        return (Span(f"{glyphs.PAUSED} paused at {clock(state.paused_at)}", "changed"),)
    if len(frame.sources) <= 2:
        spans: list[Span] = []
        for source in frame.sources:
            spans += [Span("  "), *_source(source)]
        return tuple(spans[1:])
    return _many(frame.sources)


def _many(sources: tuple[SourceHealth, ...]) -> Line:
    """Several sources in a few words: how many live, and which do not."""
    live = [source for source in sources if source.state in {"live", "ended"}]
    newest = max((source.last_at for source in live if source.last_at is not None), default=None)
    word = "simulated" if any(source.simulated for source in live) else "live"
    spans = [Span("● ", "good"), Span(f"{word} {clock(newest)}" if newest is not None else word, "dim")] if live else []
    for source in sources:
        if source.state not in {"live", "ended"}:
            sign, tone = glyphs.SOURCES[source.state]
            spans += [Span("  "), Span(sign, tone), Span(f" {clean(source.name, 12)}", "text")]
    return tuple(spans)


def _source(source: SourceHealth) -> Line:
    sign, tone = glyphs.SOURCES[source.state]
    said = f" {clean(source.name, 20)} {'simulated' if source.simulated else source.state}"
    if source.last_at is not None:
        # What has ended may be of any day.
        said += f" {stamp(source.last_at) if source.state == 'ended' else clock(source.last_at)}"
    return Span(sign, tone), Span(said, "dim" if source.state in {"live", "ended"} else "text")
