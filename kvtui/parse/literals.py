"""Python and shell literals of a log, read without evaluating anything."""

from __future__ import annotations

import re
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.parse.redact import safe

TEXT_LIMIT: Final = 2_000
"""Characters kept of one text value."""
_DEPTH_LIMIT: Final = 12
_ITEMS_LIMIT: Final = 1_024
_INTEGER_LIMIT: Final = 1 << 63
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?")
_ESCAPE: Final = re.compile(r"\\(n|t|r|\\|'|\"|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}
_CLOSER: Final = {"(": ")", "[": "]", "{": "}"}
_TOKEN: Final = re.compile(r"""[,()\[\]{}]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"]""", re.DOTALL)
_WORDS: Final[dict[str, Scalar]] = {"None": None, "null": None, "True": True, "true": True, "False": False, "false": False}


def number(text: str) -> int | float | None:
    """A finite number that fits 64 bits, or None."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        value: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return None
    return value if -_INTEGER_LIMIT < value < _INTEGER_LIMIT else None


def split_items(text: str) -> tuple[list[str], bool]:
    """The comma-separated items of ``text`` up to the closing bracket that has no opener here.

    Commas inside quotes and brackets do not separate. The second value is True where that closing
    bracket was found, so False marks a text that was cut.
    """
    items: list[str] = []
    begin, depth = 0, 0
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            if depth == 0:
                items.append(text[begin : match.start()])
                return [item.strip() for item in items if item.strip()], True
            depth -= 1
        elif mark == "," and depth == 0:
            items.append(text[begin : match.start()])
            begin = match.end()
        elif mark in "'\"":
            # a quote that never closes: the text was cut inside it, and dots stand for the torn item
            return [item.strip() for item in [*items, "..."] if item.strip()], False
    # an open bracket at the end: the last item was cut inside it
    items.append(text[begin:] if depth == 0 else "...")
    return [item.strip() for item in items if item.strip()], False


def scalar(text: str, depth: int = 0) -> Scalar:
    """A literal as a value: numbers, None, True, quoted texts, lists and tuples; anything else stays text, made safe."""
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    value = number(text)
    if value is not None:
        return value
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return safe(_ESCAPE.sub(_unescape, text[1:-1]), TEXT_LIMIT)
    if text[:1] in ("[", "(") and text[-1:] == _CLOSER[text[0]] and depth < _DEPTH_LIMIT:
        items, closed = split_items(text[1:])
        if closed and len(items) <= _ITEMS_LIMIT:
            return tuple(scalar(item, depth + 1) for item in items)
    return safe(text, TEXT_LIMIT)


def _unescape(match: re.Match[str]) -> str:
    mark = match[1]
    if mark[0] in "xu" and len(mark) > 1:
        return chr(int(mark[1:], 16))
    return _ESCAPED.get(mark, mark)
