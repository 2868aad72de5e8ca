"""The lines of a page like the one before: only the numbers are read.

A server's pages hold the same series in the same order for as long as nothing new happens to it. Where each line begins as
it did, what stands there is known, and its last word is the value.
"""

from __future__ import annotations

from typing import Final

from kvtui.parse.exposition import NUMBER_LIMIT, SIGN, Page, wanted_lines

_BLANK: Final = b" "


class PageLines:
    """``wanted_lines`` for page after page of one server."""

    def __init__(self) -> None:
        self._heads: list[tuple[bytes, bool]] = []
        """How each line begins, and whether its value is wanted; empty where the page before tells nothing of the next."""

    def read(self, body: bytes, *, cut: bool = False) -> Page:
        """As ``wanted_lines`` gives it; never raises."""
        lines = body.split(b"\n") if self._heads and not cut else []
        samples = self._again(lines) if lines and len(lines) == len(self._heads) else None
        if samples is not None:
            return Page("sglang", samples)
        page = wanted_lines(body, cut=cut)
        self._heads = _heads(body, page) if page.kind == "sglang" and page.whole and not page.broken_off else []
        return page

    def _again(self, lines: list[bytes]) -> tuple[tuple[bytes, float], ...] | None:
        """The samples; None where a line is another one, or its value is not read at a glance."""
        kept: list[tuple[bytes, float]] = []
        for line, (head, wanted) in zip(lines, self._heads, strict=True):
            if not line.startswith(head):
                return None
            if wanted:
                value = line[len(head) :]
                if not value.startswith(_BLANK) or len(value) > NUMBER_LIMIT or b"_" in value:
                    return None
                try:
                    kept.append((head, float(value)))
                except ValueError:
                    return None
        # The last line must be the empty one behind the page's end: else the page may be torn.
        return tuple(kept) if not lines[-1] else None


def _heads(body: bytes, page: Page) -> list[tuple[bytes, bool]]:
    """How each line of a page begins; empty where too little of one tells that another is none of SGLang's."""
    wanted = iter(page.samples)
    series = next(wanted, (b"", 0.0))[0]
    heads: list[tuple[bytes, bool]] = []
    *lines, last = body.split(b"\n")
    for line in lines:
        if series and line.startswith(series) and line[len(series) : len(series) + 1] == _BLANK:
            heads.append((series, True))
            series = next(wanted, (b"", 0.0))[0]
        elif line.startswith(SIGN):
            name = line.partition(b"{")
            heads.append((name[0] + name[1], False) if name[1] else (line.partition(_BLANK)[0] + _BLANK, False))
        elif len(line) < len(SIGN):
            return []
        else:
            heads.append((line[: len(SIGN)], False))
    return [*heads, (b"", False)] if not series and not last else []
