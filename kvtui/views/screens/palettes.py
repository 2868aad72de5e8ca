"""The choice of a palette: a command palette that holds palettes alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.command import Command, CommandPalette, SimpleCommand, SimpleProvider
from textual.markup import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.screen import Screen
    from textual.widgets.option_list import Option

    from kvtui.views.style import Dress


class PaletteSearch(CommandPalette):
    """Palettes by name; the app shows the one under the cursor."""

    def __init__(self, screen: Screen[object], choice: Iterable[Dress], keep: Callable[[Dress], None]) -> None:
        """Offer ``choice`` in its order over ``screen``. ``keep`` is called with what is chosen."""
        self._choice: dict[str, Dress] = {}
        for dress in choice:
            # kvtui's own come first: a file of the same name takes none of them away.
            if dress.is_named_well:
                self._choice.setdefault(dress.name, dress)
        found = SimpleProvider(
            screen, [SimpleCommand(name, partial(keep, dress), escape(_told(dress))) for name, dress in self._choice.items()]
        )
        # Textual's types do not name what its own search_commands hands over.
        super().__init__([found], placeholder="palette: ↑↓ show it, ⏎ keeps it, esc goes back")  # type: ignore[list-item]

    def on_mount(self) -> None:
        """Textual leaves its own screens as they are when the theme changes."""
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.app.stylesheet.update(self))

    def pointed(self, option: Option) -> str | None:
        """The theme of a row; None for a row that has none."""
        dress = self._choice.get(str(option.hit.text)) if isinstance(option, Command) else None
        return dress.theme.name if dress is not None and dress.theme is not None else None


def _told(dress: Dress) -> str:
    if dress.problems:
        return f"▲ cannot be used: {dress.problems[0]}"
    return f"{dress.about} · {dress.where}" if dress.where else dress.about
