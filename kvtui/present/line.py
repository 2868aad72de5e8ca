"""Styled text without a terminal library: what panes and report share.

A line is a tuple of spans; a tone is a meaning (``warn``), never a colour. The view maps tones to
the palette. Text that was read from outside goes through ``clean`` before it becomes a span.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

Tone = Literal[
    "text", "dim", "strong", "label", "good", "note", "warn", "bad", "key", "changed", "mark",
    "weights", "kv-used", "kv-free", "draft", "state", "graphs", "context", "other", "processes", "free", "unknown",
]  # fmt: skip
TONES: Final[tuple[Tone, ...]] = get_args(Tone)

ELLIPSIS: Final = "…"
LONGEST: Final = 4_000
"""Characters of one foreign string that are looked at; no line of the screen needs more."""

_REPLACEMENT: Final = "�"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text with one tone."""

    text: str
    tone: Tone = "text"


@dataclass(frozen=True, slots=True)
class Edge(Span):
    """Cells drawn over the colour of something else: where one part of a bar ends and the next begins, a line over a band."""

    under: Tone = "free"


@dataclass(frozen=True, slots=True)
class Over(Edge):
    """A stroke or a mark over a band: in its own colour whole, for a tint of it would fade into the band."""


@dataclass(frozen=True, slots=True)
class Begin(Span):
    """The first span of a line that begins something, although it is blank: it does not go on with the line above."""


@dataclass(frozen=True, slots=True)
class Drawn(Span):
    """The first span of a line that is drawn, not written: nothing of it is worth copying."""


Line = tuple[Span, ...]
BLANK: Final[Line] = ()


def clean(text: str, longest: int = LONGEST) -> str:
    """Foreign text made safe for one line of a terminal.

    Line breaks and tabs become a space; control, bidirectional and invisible characters and lone
    surrogates become U+FFFD; what is longer than ``longest`` characters ends in an ellipsis.
    """
    cut = text[:longest]
    safe = cut if cut.isascii() and cut.isprintable() else "".join(_safe(c) for c in cut)
    return safe + ELLIPSIS if len(text) > longest else safe


def _safe(char: str) -> str:
    if char in "\n\r\t\v\f":
        return " "
    return _REPLACEMENT if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} else char


def cells(text: str) -> int:
    """Terminal columns that a text takes: wide East Asian characters two, combining marks none."""
    # To look up what is ASCII, as most numbers are, would take longer, and keep each number ever shown.
    return len(text) if text.isascii() else _wide_cells(text)


@lru_cache(maxsize=1024)
def _wide_cells(text: str) -> int:
    return sum(_char_cells(char) for char in text)


def _char_cells(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def clip(text: str, width: int) -> str:
    """The text in at most ``width`` columns, with an ellipsis where something was cut."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    kept, used = [], 0
    for char in text:
        used += _char_cells(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS


def pad(text: str, width: int) -> str:
    """The text in exactly ``width`` columns, left aligned."""
    cut = clip(text, width)
    return cut + " " * (width - cells(cut))


def pad_left(text: str, width: int) -> str:
    """The text in exactly ``width`` columns, right aligned."""
    cut = clip(text, width)
    return " " * (width - cells(cut)) + cut


def line_cells(line: Line) -> int:
    """Columns that a line takes."""
    return sum(cells(span.text) for span in line)


def clip_line(line: Line, width: int) -> Line:
    """The line in at most ``width`` columns."""
    if line_cells(line) <= width:
        return line
    kept: list[Span] = []
    left = width
    for span in line:
        size = cells(span.text)
        if size >= left:
            # A span that just fills the line still loses its last column: something follows it, and the ellipsis must say so.
            kept.append(Span(clip(span.text + " ", left) if size == left else clip(span.text, left), span.tone))
            break
        kept.append(span)
        left -= size
    return tuple(kept)


def between(left: Line, right: Line, width: int) -> Line:
    """``left`` at the left edge and ``right`` at the right one; ``left`` gives way where both do not fit."""
    room = width - line_cells(right) - 1
    if room < 8:
        return clip_line(left, width)
    shown = clip_line(left, room)
    return (*shown, Span(" " * (width - line_cells(shown) - line_cells(right))), *right)


def plain(line: Line) -> str:
    """The line without tones."""
    return "".join(span.text for span in line)


def wrap(text: str, width: int) -> tuple[str, ...]:
    """The text in lines of at most ``width`` columns, broken at spaces, at a pinch inside a word."""
    lines: list[str] = []
    current = ""
    # Only the plain space breaks: a no-break space holds a number and its unit together.
    for word in text.split(" "):
        rest = word
        while cells(rest) > max(1, width):
            if current:
                lines.append(current)
                current = ""
            head = _fit(rest, max(1, width))
            lines.append(head)
            rest = rest[len(head) :]
        joined = f"{current} {rest}" if current and rest else current or rest
        if cells(joined) > width and current:
            lines.append(current)
            current = rest
        else:
            current = joined
    return (*lines, current) if current else tuple(lines)


def _fit(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _char_cells(char)
        if used > width:
            return text[: max(1, index)]
    return text
