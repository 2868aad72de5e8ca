"""One palette file: what it sets, or everything that is wrong with it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from kvtui.parse.palette_names import BASE, MEANING, WIDGETS

TABLES: Final[dict[str, frozenset[str]]] = {"base": frozenset(BASE), "meaning": frozenset(MEANING) | WIDGETS}
TOP: Final = frozenset({"about", "extends", "dark", "ansi", *TABLES})
STYLES: Final = frozenset({"none", "bold", "reverse", "underline"})
"""Values of a name that ends in ``-text-style``."""
LONGEST_ABOUT: Final = 80

ColourProblem = Callable[[str], str | None]
"""Says in a few words what to write in place of a text that is no colour; None for a colour."""


@dataclass(frozen=True, slots=True)
class PaletteFile:
    """A palette of the user, as it was found."""

    name: str
    """What ``--theme`` calls it."""
    where: str
    """The file, as a person reads it."""
    text: str
    problem: str = ""
    """Why the file cannot be read; empty: ``text`` is what it holds."""


@dataclass(frozen=True, slots=True)
class Palette:
    """What a palette file sets; what it leaves out is inherited."""

    about: str = ""
    extends: str | None = None
    dark: bool | None = None
    ansi: bool | None = None
    base: Mapping[str, str] = field(default_factory=dict)
    meaning: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Each in one sentence, with its line where that is known; a palette with any must not be used."""


def read_palette(text: str, known: Collection[str], colour_problem: ColourProblem) -> Palette:
    """Read the TOML text of a palette; never raises.

    ``known``: palettes that can be extended. ``colour_problem``: judges the text of a colour.
    """
    # tomllib came with 3.11; tomli is the same reader for 3.10.
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        told: dict[str, object] = reader.loads(text)
    except (ValueError, RecursionError) as error:
        return Palette(problems=(f"it is not valid TOML: {error}",))
    check = _Check(text)
    for name in told:
        check.name("", name, TOP)
    read = Palette(
        about=check.text(told, "about")[:LONGEST_ABOUT],
        extends=check.text(told, "extends") or None,
        dark=check.switch(told, "dark"),
        ansi=check.switch(told, "ansi"),
        base=check.colours(told, "base", colour_problem),
        meaning=check.colours(told, "meaning", colour_problem),
    )
    if read.extends is not None and read.extends not in known:
        check.wrong("", "extends", f"extends names no palette {_quoted(read.extends)}{_nearest(read.extends, known)}")
    return Palette(problems=check.sentences()) if check.problems else read


@dataclass(slots=True)
class _Check:
    """Collects what is wrong with one file."""

    source: str
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    """Line, and what is wrong there."""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def wrong(self, table: str, key: str, reason: str) -> None:
        # Only a mistake needs it, as below.
        from kvtui.parse.toml_lines import line_of, lines_of  # noqa: PLC0415

        if not self.lines:
            self.lines = lines_of(self.source)
        self.problems.append((line_of(self.lines, *((table, key) if table else (key,))), reason))

    def sentences(self) -> tuple[str, ...]:
        ordered = sorted(self.problems, key=lambda problem: problem[0] or 0)
        return tuple(f"line {line}: {reason}" if line is not None else reason for line, reason in ordered)

    def name(self, table: str, key: str, known: Collection[str]) -> bool:
        if key in known:
            return True
        place = f" in [{table}]" if table else ""
        other = next((name for name, names in TABLES.items() if key in names and name != table), None)
        hint = f"; it belongs in [{other}]" if other is not None else _nearest(key, known)
        self.wrong(table, key, f"unknown name {_quoted(key)}{place}{hint}")
        return False

    def text(self, told: Mapping[str, object], key: str) -> str:
        value = told.get(key, "")
        if isinstance(value, str):
            return value
        self.wrong("", key, f'{key} must be a text, such as "dark"')
        return ""

    def switch(self, told: Mapping[str, object], key: str) -> bool | None:
        value = told.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.wrong("", key, f"{key} must be true or false")
        return None

    def colours(self, told: Mapping[str, object], table: str, colour_problem: ColourProblem) -> dict[str, str]:
        values = told.get(table, {})
        if not isinstance(values, dict):
            self.wrong("", table, f"{table} must be a table: a line [{table}], then one name = colour a line")
            return {}
        found: dict[str, str] = {}
        for key, value in values.items():
            if not self.name(table, key, TABLES[table]):
                continue
            if not isinstance(value, str):
                self.wrong(table, key, f'{key} must be a colour in quotes, such as "#58c48f"')
            elif key.endswith("-text-style"):
                if value not in STYLES:
                    self.wrong(table, key, f"{key} is {_quoted(value)}: it can be {', '.join(sorted(STYLES))}")
            elif (problem := colour_problem(value)) is not None:
                self.wrong(table, key, f"{key} is {_quoted(value)}, which is no colour: {problem}")
            found[key] = str(value)
        return found


def _nearest(name: str, known: Collection[str]) -> str:
    # Only a mistake needs it: each start of the console reads a palette.
    from kvtui.parse.setting_value import nearest  # noqa: PLC0415

    return nearest(name, known)


def _quoted(text: str) -> str:
    from kvtui.parse.setting_value import quoted  # noqa: PLC0415

    return quoted(text)
