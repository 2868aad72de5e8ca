"""The header line: which server this is, and how its sources are doing."""

from __future__ import annotations

from typing import Final

from kvtui.domain.account import Identity
from kvtui.domain.frame import Frame, SourceHealth
from kvtui.domain.notice import Notice, NoticeKind
from kvtui.domain.reading import Known
from kvtui.present import glyphs
from kvtui.present.figures import age, clock, stamp, version_text
from kvtui.present.line import Line, Span, between, clean, line_cells
from kvtui.present.readings import finite, text_or
from kvtui.present.state import ViewState

SEPARATOR = Span(f" {glyphs.BULLET} ", "dim")
OLD_S: Final = 10.0
"""Seconds after which the newest value of a server is no longer called live; pages come each second or two."""
MACHINE: Final = frozenset({"nvml", "host"})
"""Sources that tell of the machine, whether the server answers or not."""
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
    # Without a name the model's class says as much as the report does.
    parts = [
        text_or(identity.model, text_or(identity.architecture, "model unknown")),
        f"SGLang {version_text(identity.version, identity.version_span)}",
    ]
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
    return _many(frame.sources, frame.now)


def _many(sources: tuple[SourceHealth, ...], now: float | None) -> Line:
    """Several sources in a few words: how new the newest of the server is, and which do not live.

    The machine's own sources go on when the server does not, and one that fails still has the newest value: neither
    may make the time look fresh, nor go back.
    """
    up = [source for source in sources if source.state in {"live", "ended"}]
    told = [source.last_at for source in sources if source.last_at is not None and source.name not in MACHINE]
    newest = max(told or [source.last_at for source in up if source.last_at is not None], default=None)
    old = newest is not None and now is not None and now - newest > OLD_S and any(source.state == "live" for source in up)
    spans: list[Span] = []
    if old and newest is not None and now is not None:
        spans = [Span(f"{glyphs.WARN} ", "warn"), Span(f"newest {clock(newest)}, {age(now - newest)} ago", "warn")]
    elif up:
        simulated, live = any(source.simulated for source in up), any(source.state == "live" for source in up)
        word = "simulated" if simulated else "live" if live else "ended"
        when = "" if newest is None else f" {clock(newest) if live else stamp(newest)}"
        spans = [Span("● ", "good" if live else "dim"), Span(f"{word}{when}", "dim")]
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
