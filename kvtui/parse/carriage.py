"""Carriage returns that are line ends, or the pulse of a progress bar.

Old Windows tools and terminals end lines with one; ``tqdm`` draws a bar over itself with one, hundreds of times in a "line".
"""

from __future__ import annotations

import re
from typing import Final

FEW: Final = 8
"""Carriage returns of one line that are left to the framing of records, so that its line number stays that of an editor."""
_BAR: Final = re.compile(rb"\d%(?: Completed)? ?\||\d(?:it|s)/(?:s|it)")
_STAMP: Final = re.compile(rb"\[(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d{1,6})?[ \]]")


def without_bars(line: bytes) -> bytes:
    """The line without what a progress bar drew over; its last state and what stands beside a stamp stay."""
    parts = line.split(b"\r")
    kept = [part for part in parts[:-1] if _STAMP.search(part) or not _BAR.search(part)]
    return b"\r".join([*kept, parts[-1]])


def lines_of(line: bytes) -> list[bytes]:
    """A line as it stands between two line feeds, cut where carriage returns end lines; mostly the line itself."""
    if line.count(b"\r", 0, -1) <= FEW:
        return [line]
    line = without_bars(line)
    return [line] if line.count(b"\r", 0, -1) <= FEW else line.split(b"\r")


def settled(pending: bytes) -> tuple[list[bytes], bytes]:
    """The lines of what has come without a line feed so far, and what is still open."""
    if pending.count(b"\r", 0, -1) <= FEW:
        return [], pending
    # A last carriage return may be the first half of a line end.
    head, _, rest = pending[:-1].rpartition(b"\r")
    head, rest = without_bars(head + b"\r"), rest + pending[-1:]
    if head.count(b"\r") <= FEW:
        return [], head + rest
    return head[:-1].split(b"\r"), rest
