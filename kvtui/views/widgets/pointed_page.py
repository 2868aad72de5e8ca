"""A page of text with a pointer: what it points at can be copied."""

from __future__ import annotations

from kvtui.present import glyphs
from kvtui.present.entries import entries, entry_text
from kvtui.present.line import Line, Span
from kvtui.views.widgets.gpu_bars import Shaded
from kvtui.views.widgets.lines import Page

GUTTER = 2
"""Columns left of the text, for the pointer."""
_BLANK = Span(" " * GUTTER)
_POINTER = Span(f"{glyphs.POINTER} ", "key")


class PointedPage(Page, Shaded):
    """Lines with a column for the pointer left of them."""

    at: int | None = None
    """Number of the entry that is pointed at; None until somebody does."""
    lines: tuple[Line, ...] = ()
    """The text, without the column of the pointer."""

    def _update(self) -> None:
        if self._make is None or self.size.width <= GUTTER:
            return
        told, self.lines = self.copied(), self._make(self.size.width - GUTTER)
        if told and self.copied() != told:
            # What is pointed at stays so where lines came or went above it.
            texts = [entry_text([self.lines[n] for n in one]) for one in entries(self.lines)]
            self.at = texts.index(told) if told in texts else self.at
        here = self.pointed
        rows = ((_POINTER if here and n == here.start else _BLANK, *line) if line else line for n, line in enumerate(self.lines))
        self.set_rows(tuple(rows))

    @property
    def pointed(self) -> range | None:
        """Lines of the entry that is pointed at."""
        found = entries(self.lines)
        return found[min(self.at, len(found) - 1)] if self.at is not None and found else None

    def move(self, step: int, top: int) -> None:
        """Point at the next entry; at first, at the first one from line ``top`` on."""
        found = entries(self.lines)
        if not found:
            return
        if self.at is None:
            self.at = next((n for n, lines in enumerate(found) if lines.start >= top), len(found) - 1)
        else:
            self.at = max(0, min(len(found) - 1, self.at + step))
        self._update()

    def leave(self) -> None:
        """Point at nothing."""
        if self.at is not None:
            self.at = None
            self._update()

    def copied(self) -> str:
        """The entry that is pointed at, on one line; empty where none is."""
        here = self.pointed
        return entry_text([self.lines[n] for n in here]) if here is not None else ""
