"""How the app looks: its palettes, and ASCII where a terminal has no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.filter import ANSIToTruecolor, Monochrome, NoColor

from kvtui.present.terminal import looks
from kvtui.views import style
from kvtui.views.ascii_filter import AsciiFilter
from kvtui.views.hangup import HangupApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.command import CommandPalette
    from textual.filter import LineFilter

    from kvtui.parse.palette import PaletteFile

_ASCII: Final = AsciiFilter()
_NO_COLOUR: Final = NoColor()


FindPalettes = Callable[[], "tuple[PaletteFile, ...]"]
"""Reads the palettes of the user."""


def paint_on_terminal() -> None:
    """Before an app runs: Textual paints on standard error, which a person may have sent to a file."""
    if sys.__stderr__ is not None and not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]


class DressedApp(HangupApp):
    """The part of the console that dresses it; the rest is ``kvtui.app``."""

    ascii_only = False
    """True: a terminal whose locale or font has no more than ASCII."""

    find_palettes: FindPalettes = tuple
    """Reads the palettes of the user; a quick call, made where a palette is chosen."""
    palette_problem = ""
    """Why the palette that was asked for is not the one that is shown."""
    _left = ""
    """The theme to go back to, while another is looked at."""

    def dress(self, theme: str) -> None:
        """Before it runs: take a palette by its name; one that is unknown or has errors gives the default."""
        wanted = style.dress(theme.removeprefix(style.PREFIX), self.find_palettes)
        if wanted is None or wanted.theme is None:
            self.palette_problem = _unusable(wanted) if wanted is not None else ""
            wanted = style.dress(style.DEFAULT.removeprefix(style.PREFIX))
        if wanted is None or wanted.theme is None:
            raise style.ThemeError("the default palette is missing from this installation")
        self.register_theme(wanted.theme)
        # Before the style sheet is read: a change afterwards would have it read again.
        self.set_reactive(DressedApp.theme, wanted.theme.name)
        self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """A palette that cannot be used is no reason not to start."""
        if self.palette_problem:
            self.notify(self.palette_problem, severity="warning", markup=False, timeout=12)

    def action_change_theme(self) -> None:
        """Choose a palette; each is shown while the cursor is on it."""
        from kvtui.views.screens.palettes import PaletteSearch

        choice = style.dresses(self.find_palettes())
        for one in choice:
            if one.theme is not None:
                self.register_theme(one.theme)
        self._left = self.theme
        # The palette that is shown comes first: the cursor is there when the list opens.
        choice = tuple(sorted(choice, key=lambda one: style.PREFIX + one.name != self.theme))
        self.push_screen(PaletteSearch(self.screen, choice, self._keep_palette))

    def _keep_palette(self, dress: style.Dress) -> None:
        if dress.theme is None:
            self.notify(f"{dress.where}: {dress.problems[0]}", severity="warning", markup=False, timeout=8)
        else:
            self.theme = dress.theme.name
            self.notify(f'to begin with it: palette = "{dress.name}" in config.toml', title=dress.name, markup=False, timeout=5)

    def on_command_palette_option_highlighted(self, event: CommandPalette.OptionHighlighted) -> None:
        """Show the palette under the cursor."""
        from kvtui.views.screens.palettes import PaletteSearch

        if self._left and isinstance(self.screen, PaletteSearch):
            wanted = self.screen.pointed(event.highlighted_event.option)
            self.theme = wanted if wanted is not None else self._left

    def on_command_palette_closed(self, event: CommandPalette.Closed) -> None:
        """Back to the palette that was left, unless another was chosen."""
        if self._left and not event.option_selected:
            self.theme = self._left
        self._left = ""

    def suit_terminal(self, palette: str | None) -> None:
        """Before it runs: the palette that was asked for, else one that the terminal can show; ASCII where it has no more."""
        stream = sys.__stderr__
        told = looks(_told_environment(), (stream.encoding if stream is not None else None) or "utf-8")
        self.ascii_only = told.ascii
        if stream is not None and stream.isatty():
            # Textual believes COLUMNS and LINES, and Rich takes TERM=dumb for 80 by 25. Told two sizes at its start, a screen is
            # laid out for either in turn, for ever.
            for name in ("COLUMNS", "LINES"):
                os.environ.pop(name, None)
            self.console.size = os.get_terminal_size(stream.fileno())
        # Textual also counts an empty one, which no-color.org does not.
        self.no_color = bool(os.environ.get("NO_COLOR"))
        self.dress(f"kvtui-{palette or told.palette}")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's but for colour, which it decides by the palette it begins with; and ASCII in the end where there is no more."""
        filters = [one for one in super().get_line_filters() if not isinstance(one, (Monochrome, NoColor))]
        if self.native_ansi_color:
            # The terminal's own colours are to stay what they are.
            filters = [one for one in filters if not isinstance(one, ANSIToTruecolor)]
        if self.no_color:
            filters.append(_NO_COLOUR)
        return [*filters, _ASCII] if self.ascii_only else filters

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Named colours for themes that are not ours."""
        return style.meanings()


def _told_environment() -> dict[str, str]:
    """The environment as a person set it: in a C locale Python itself names another LC_CTYPE."""
    environ = dict(os.environ)
    if sys.flags.utf8_mode and "PYTHONUTF8" not in environ:
        environ.pop("LC_CTYPE", None)
    return environ


def _unusable(dress: style.Dress) -> str:
    more = len(dress.problems) - 1
    rest = f" and {more} more" if more else ""
    return f"{dress.where}: {dress.problems[0]}{rest}. The default palette is shown; kvtui palettes lists every error."
