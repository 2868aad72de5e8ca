"""How the app looks: its palettes, and ASCII where a terminal has no more."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from textual.filter import ANSIToTruecolor, Monochrome, NoColor

from kvtui.present.terminal import looks
from kvtui.views import style
from kvtui.views.ascii_filter import AsciiFilter
from kvtui.views.hangup import HangupApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.filter import LineFilter

_ASCII: Final = AsciiFilter()
_NO_COLOUR: Final = NoColor()


class DressedApp(HangupApp):
    """The part of the console that dresses it; the rest is ``kvtui.app``."""

    ascii_only = False
    """True: a terminal whose locale or font has no more than ASCII."""

    def dress(self, theme: str) -> None:
        """Before it runs: take a palette by its name; an unknown one gives the default."""
        for palette in style.palettes():
            self.register_theme(palette)
        # Before the style sheet is read: a change afterwards would have it read again.
        self.set_reactive(DressedApp.theme, theme if theme in self.available_themes else style.DEFAULT)
        self.stylesheet.set_variables(self.get_css_variables())

    def suit_terminal(self, palette: str | None) -> None:
        """Before it runs: the palette that was asked for, else one that the terminal can show; ASCII where it has no more."""
        stream = sys.__stderr__
        told = looks(os.environ, (stream.encoding if stream is not None else None) or "utf-8")
        self.ascii_only = told.ascii
        self.dress(f"kvtui-{palette or told.palette}")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, and ASCII in the end where the terminal has no more."""
        filters = super().get_line_filters()
        if self.native_ansi_color:
            # Textual chooses its filters for the palette it begins with; the terminal's own colours are to stay what they are.
            plain = [one for one in filters if not isinstance(one, (ANSIToTruecolor, Monochrome))]
            filters = [*plain, _NO_COLOUR] if self.no_color else plain
        return [*filters, _ASCII] if self.ascii_only else filters

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Named colours for themes that are not ours."""
        return style.meanings()
