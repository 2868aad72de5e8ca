"""Widgets that show lines: a fixed bar, and a text that scrolls inside its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.views.widgets.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from kvtui.present.line import Line

    Maker = Callable[[int], tuple[Line, ...]]
    """Lines for a width in columns."""


class Bar(Rows):
    """Lines in a box of fixed height; only the rows that differ are sent to the terminal."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make: Maker | None = None

    def show(self, make: Maker) -> None:
        """Show what ``make`` gives, now and after each change of the width."""
        self._make = make
        self._update()

    def on_resize(self, _event: events.Resize) -> None:
        """The lines are made for a width."""
        self._update()

    def _update(self) -> None:
        if self._make is None or not self.size:
            return
        self.put(self._make(self.size.width))


class Page(Bar):
    """Lines as high as they are; the container around them scrolls."""

    def _update(self) -> None:
        if self._make is None or not self.size.width:
            return
        self.set_rows(self._make(self.size.width))

    def set_rows(self, made: tuple[Line, ...]) -> None:
        """Show these rows; laid out anew only where their number differs."""
        if made != self.rows:
            if len(made) == len(self.rows):
                self.put(made)
            else:
                self.rows = made
                self.refresh(layout=True)
