"""The help screen's words: the keys, and what the words on the screen mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtui.present.glossary import WORDS
from kvtui.present.line import BLANK, Line, Span, cells, pad, wrap

MARKS: Final = (
    ("✓ ▲ ✖", "good, doubtful, bad; beside a verdict, how sure it is: ✖ high, ▲ medium, ? low."),
    ("◌ –", "not enough data yet; not judged or not applicable."),
    ("● ■ ◌ ✖", "a source is live, ended, waiting, failed."),
    ("◆", "an option is marked for the plan."),
)
ABOUT: Final = (
    "kvtui reads and computes; it never changes the server. Every size is GiB (2^30 bytes), also where SGLang prints GB. "
    "To select text with the mouse, hold Shift. Copying uses OSC 52; in tmux it needs: set -g set-clipboard on."
)


def help_lines(keys: Iterable[tuple[str, tuple[tuple[str, str, str], ...]]], width: int) -> tuple[Line, ...]:
    """The whole page.

    ``keys``: sections of (keys, title, help), as the commands define them.
    """
    lines: list[Line] = [(Span(part),) for part in wrap(ABOUT, width)]
    sections = tuple(keys)
    column = _column(key for _, commands in sections for key, _, _ in commands)
    for section, commands in sections:
        lines += [BLANK, (Span(section, "strong"),)]
        for key, title, text in commands:
            lines += _entry(key, f"{title}: {text}" if text else title, width, column)
    words = tuple((entry.word, entry.text) for entry in WORDS)
    column = _column(name for name, _ in (*words, *MARKS))
    for section, rows in (("Words", words), ("Signs", MARKS)):
        lines += [BLANK, (Span(section, "strong"),)]
        for name, text in rows:
            lines += _entry(name, text, width, column)
    return tuple(lines)


def _column(names: Iterable[str]) -> int:
    return max((cells(name) for name in names), default=0) + 2


def _entry(name: str, text: str, width: int, column: int) -> list[Line]:
    parts = wrap(text, max(10, width - column - 2)) or ("",)
    first: Line = (Span("  "), Span(pad(name, column), "key"), Span(parts[0]))
    return [first, *((Span(" " * (column + 2)), Span(part)) for part in parts[1:])]
