"""Finds ``themes/``: layout as ``base.tcss``, and each palette of ``*.toml`` as a Textual theme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from textual.theme import Theme

from kvtui.parse.palette import Palette, PaletteFile, read_palette
from kvtui.parse.palette_names import BASE
from kvtui.present.terminal import PALETTES

PREFIX: Final = "kvtui-"
DEFAULT: Final = f"{PREFIX}dark"


class ThemeError(RuntimeError):
    """A palette of kvtui's own or the layout is missing or cannot be read."""


@dataclass(frozen=True, slots=True)
class Dress:
    """A palette that can be chosen, or that has errors."""

    name: str
    """As ``--theme`` calls it."""
    about: str
    where: str
    """The file of a user's palette; empty for one of kvtui's own."""
    theme: Theme | None
    """None where there are problems."""
    problems: tuple[str, ...] = ()

    @property
    def is_named_well(self) -> bool:
        """False for a name that could not be typed after ``--theme`` without care."""
        return re.fullmatch(r"[\w-]+", self.name, re.ASCII) is not None


def folder() -> Path:
    """The themes' folder: inside the package where it is installed, beside it in a checkout.

    Raises ThemeError where neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / "themes", package.parent / "themes"):
        if (place / "base.tcss").is_file():
            return place
    raise ThemeError("the folder 'themes' is missing from this installation")


def palettes() -> tuple[Theme, ...]:
    """The themes of all palettes of kvtui's own.

    Raises ThemeError for one that cannot be read.
    """
    return tuple(_theme(name) for name in PALETTES)


def meanings() -> dict[str, str]:
    """The named colours of the default palette: what a theme without them falls back to."""
    return dict(_theme(DEFAULT.removeprefix(PREFIX)).variables)


def dresses(files: Iterable[PaletteFile] = ()) -> tuple[Dress, ...]:
    """Every palette: kvtui's own, then those of the user.

    Raises ThemeError for one of kvtui's own that cannot be read.
    """
    return (*(_of_kvtui(name) for name in PALETTES), *(_of_user(file) for file in files))


def dress(name: str, find: Callable[[], Iterable[PaletteFile]] = tuple) -> Dress | None:
    """The palette of that name, reading no other; None where there is none. ``find``: reads those of the user.

    Raises ThemeError for one of kvtui's own that cannot be read.
    """
    if name in PALETTES:
        return _of_kvtui(name)
    return next((_of_user(file) for file in find() if file.name == name), None)


@lru_cache(maxsize=len(PALETTES))
def _of_kvtui(name: str) -> Dress:
    path = folder() / f"{name}.toml"
    try:
        # Colours of kvtui's own palettes are judged by a test, not at each start.
        read = read_palette(path.read_text(encoding="utf-8"), (), lambda _colour: None)
        if read.problems:
            raise ThemeError(f"{path.name}: {'; '.join(read.problems)}")
        theme = Theme(PREFIX + name, dark=read.dark is not False, ansi=read.ansi is True, variables=dict(read.meaning), **read.base)  # type: ignore[arg-type]
    except (OSError, TypeError) as error:
        raise ThemeError(f"{path.name}: {error}") from error
    return Dress(name, read.about, "", theme)


def _of_user(file: PaletteFile) -> Dress:
    if file.name in PALETTES:
        return Dress(file.name, "", file.where, None, (f"{file.name} is a palette of kvtui's own: the file needs another name",))
    if file.problem:
        return Dress(file.name, "", file.where, None, (file.problem,))
    read = read_palette(file.text, PALETTES, _colour_problem)
    if read.problems:
        return Dress(file.name, "", file.where, None, read.problems)
    dress = Dress(file.name, read.about or "yours", file.where, _extended(file.name, read))
    return dress if dress.is_named_well else replace(dress, theme=None, problems=("a file's name may hold letters, digits, - and _ alone",))


def _extended(name: str, read: Palette) -> Theme:
    """A palette over the one that it extends; what it does not name is inherited."""
    below = _theme(read.extends or DEFAULT.removeprefix(PREFIX))
    base = {key: value for key in BASE if (value := read.base.get(key, getattr(below, key))) is not None}
    return Theme(
        PREFIX + name,
        dark=below.dark if read.dark is None else read.dark,
        ansi=below.ansi if read.ansi is None else read.ansi,
        variables={**below.variables, **read.meaning},
        **base,
    )


def _theme(name: str) -> Theme:
    """The theme of a palette of kvtui's own."""
    theme = _of_kvtui(name).theme
    if theme is None:
        raise ThemeError(f"{name}.toml cannot be used")
    return theme


def _colour_problem(text: str) -> str | None:
    """What a person could write in place of a text that Textual does not take as a colour; None where it does."""
    from textual.color import Color, ColorParseError

    try:
        Color.parse(text)
    except ColorParseError as error:
        return f"did you mean {error.suggested_color}?" if error.suggested_color else 'write "#58c48f", "teal" or "ansi_green"'
    return None
