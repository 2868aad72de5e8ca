"""What one press of a key copies from a page: an entry, which wrapping may have spread over several lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kvtui.present import glyphs
from kvtui.present.line import Begin, Drawn, Line, Span

_SIGNS: Final = frozenset(
    {glyphs.GOOD, glyphs.BAD, glyphs.WARN, glyphs.UNSURE, glyphs.WAITING, glyphs.NOT, glyphs.BULLET, glyphs.POINTER, glyphs.MARKED}
)
_FLAGS: Final = re.compile(r"[^:]*: (--\S.*)")
"""A fix and its flags: only these are of use in a command."""


def entries(lines: Sequence[Line]) -> tuple[range, ...]:
    """The lines of each entry, from the top: a line that begins with a blank of its own goes on with the one above.

    A heading, a label alone in its line, is none.
    """
    found: list[range] = []
    for number, line in enumerate(lines):
        heading = len(line) == 1 and line[0].tone == "label"
        if heading or (line and isinstance(line[0], Drawn)) or not "".join(span.text for span in line).strip():
            continue
        goes_on = not line[0].text.strip() and not isinstance(line[0], Begin)
        if goes_on and found and found[-1].stop == number:
            found[-1] = range(found[-1].start, number + 1)
        else:
            found.append(range(number, number + 1))
    return tuple(found)


def entry_text(lines: Sequence[Line]) -> str:
    """An entry as it is copied: without its sign and its label, on one line; of a fix only the flags."""
    told = " ".join(" ".join(_words(line, first=number == 0) for number, line in enumerate(lines)).split())
    flags = _FLAGS.fullmatch(told)
    return flags[1] if flags else told


def row_text(line: Line) -> str:
    """One row of a pane: its words and figures, without what is drawn and without what only leads the eye."""
    drawn = set(glyphs.BLOCKS) | {" ", "\u00a0"}
    kept = ["  " if span.tone == "kv-used" and set(span.text) <= drawn else span.text for span in line]
    return re.sub(r"\s{2,}", "  ", "".join(kept).replace(f"{glyphs.LEFT} ", "").replace(f" {glyphs.RIGHT}", "")).strip()


def _words(line: Line, *, first: bool) -> str:
    spans: Iterable[Span] = line
    if first and len(line) > 1 and (line[0].tone == "label" or line[0].text.strip(f" {glyphs.BAR}") in _SIGNS):
        spans = line[1:]
    return "".join(span.text for span in spans).replace(f"{glyphs.MARKED} ", "")
