"""A sentence in less room than it needs: whole clauses are left out from its end, never half a word."""

from __future__ import annotations

import re
import textwrap
from typing import Final

from kvtui.present.line import cells

_ENDS: Final = re.compile(r"(?<=[,;:.])\s(?!but |although |not |and )|\s(?=\([^()]*\)[,;:.])")
"""Where a clause ends: behind a mark that a blank follows (never inside ``2,060``), and before a bracket that ends it.

What takes back or completes the clause before it ("but", "although", "not", "and") stays with it.
"""
_CONDITIONS: Final = ("if ", "when ", "where ", "while ", "although ", "as long as ")
"""A clause that begins so says nothing without the next one."""
_FILL: Final = "\u2007"
"""A blank that the wrapping takes for a letter."""


def shortened(text: str) -> tuple[str, ...]:
    """The sentence, then the same with one clause less each, longest first; brackets are kept or left out whole."""
    told = [text]
    for end in reversed([match.start() for match in _ENDS.finditer(text)]):
        part = text[:end].rstrip(" ,;:.")
        last = re.split(r"[;:.]\s", part)[-1].lower()
        if part.count("(") == part.count(")") and not (last.startswith(_CONDITIONS) and "," not in last):
            told.append(f"{part}.")
    return tuple(told)


def fitted(text: str, width: int, rows: int, *, begin: int = 0) -> tuple[str, ...]:
    """The text in at most ``rows`` lines of ``width`` columns, the first of them ``begin`` columns shorter.

    As many whole clauses as fit; empty where not even the first one does.
    """
    for part in shortened(text):
        lines = wrapped(part, width, begin=begin)
        if len(lines) <= rows:
            return lines
    return ()


def wrapped(text: str, width: int, *, begin: int = 0) -> tuple[str, ...]:
    """The text in lines of ``width`` columns, the first ``begin`` columns shorter: empty where its first word has no room there."""
    room = max(1, width)
    if begin and text and begin + cells(text.split(maxsplit=1)[0]) > room:
        return ("", *wrapped(text, width))
    lines = textwrap.wrap(text, room, initial_indent=_FILL * begin, break_on_hyphens=False, break_long_words=False)
    return (lines[0].lstrip(_FILL), *lines[1:]) if lines else ()
