"""Every sign that carries state, in one place; a word always stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtui.present.line import Tone

if TYPE_CHECKING:
    # Signs are needed for the first paint; what they stand for is not.
    from kvtui.domain.finding import Finding
    from kvtui.domain.frame import SourceState

BLOCKS: Final = "▁▂▃▄▅▆▇█"
EIGHTHS: Final = "▏▎▍▌▋▊▉"
"""A cell from the left, an eighth to seven."""
FILLS: Final[dict[Tone, tuple[str, str]]] = {
    "context": ("≡", "CUDA context"),
    "weights": ("█", "weights"),
    "kv-used": ("▓", "KV used"),
    "kv-free": ("░", "KV free"),
    "state": ("▞", "state pool"),
    "draft": ("▚", "draft"),
    "graphs": ("▒", "graphs"),
    "other": (":", "other"),
    "processes": ("x", "other processes"),
    "unknown": ("?", "unknown"),
    "free": ("·", "free"),
}
"""Glyph and word of each part of a memory bar."""
GOOD: Final = "✓"
BAD: Final = "✖"
WARN: Final = "▲"
UNSURE: Final = "?"
WAITING: Final = "◌"
NOT: Final = "–"
IDLE: Final = "○"
POINTER: Final = "▸"
MARKED: Final = "◆"
LEFT: Final = "◂"
RIGHT: Final = "▸"
BAR: Final = "▌"
ENTER: Final = "⏎"
BULLET: Final = "·"
PAUSED: Final = "‖"
RULE: Final = "─"

SOURCES: Final[dict[SourceState, tuple[str, Tone]]] = {
    "live": ("●", "good"),
    "ended": ("■", "dim"),
    "waiting": (WAITING, "note"),
    "failed": (BAD, "bad"),
}
"""Sign and tone of a source's state; the state's own name is the word."""


def of_finding(finding: Finding) -> tuple[str, Tone]:
    """Sign and tone of a verdict: how sure it is that something limits, or that nothing does."""
    if finding.id == "healthy":
        return GOOD, "good"
    if finding.id == "not-enough-data":
        return WAITING, "dim"
    if finding.id == "client":
        # A server with room is no fault of it.
        return IDLE, "note"
    if finding.confidence == "high":
        return BAD, "bad"
    return (WARN, "warn") if finding.confidence == "medium" else (UNSURE, "note")
