"""Widgets that show lines: a fixed bar, and a text that scrolls inside its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.widget import Widget

from kvtui.views.paint import block

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.visual import VisualType

    from kvtui.present.line import Line

    Maker = Callable[[int], tuple[Line, ...]]
    """Lines for a width in columns."""


class Bar(Widget):
    """Lines in a box of fixed height; only the rows that differ are sent to the terminal."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make: Maker | None = None
        self.rows: tuple[Line, ...] = ()

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
        before, self.rows = self.rows, self._make(self.size.width)
        pairs = [
            (y, before[y] if y < len(before) else (), self.rows[y] if y < len(self.rows) else ())
            for y in range(max(len(before), len(self.rows)))
        ]
        changed = [Region(0, y, self.size.width, 1) for y, old, new in pairs if old != new]
        if changed:
            self.refresh(*changed)

    def render(self) -> VisualType:
        """The rows."""
        return block(self.rows)


class Page(Bar):
    """Lines as high as they are; the container around them scrolls."""

    def _update(self) -> None:
        if self._make is None or not self.size.width:
            return
        made = self._make(self.size.width)
        if made != self.rows:
            higher = len(made) != len(self.rows)
            self.rows = made
            self.refresh(layout=higher)
