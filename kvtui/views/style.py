"""Finds ``themes/``: layout as ``base.tcss``, and each palette of ``*.toml`` as a Textual theme."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from textual.theme import Theme

DEFAULT: Final = "kvtui-dark"


class ThemeError(RuntimeError):
    """A palette or the layout is missing or cannot be read."""


def folder() -> Path:
    """The themes' folder: inside the package where it is installed, beside it in a checkout.

    Raises ThemeError where neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / "themes", package.parent / "themes"):
        if (place / "base.tcss").is_file():
            return place
    raise ThemeError("the folder 'themes' is missing from this installation")


@lru_cache(maxsize=1)
def palettes() -> tuple[Theme, ...]:
    """All palettes, by name.

    Raises ThemeError for one that cannot be read.
    """
    return tuple(_palette(path) for path in sorted(folder().glob("*.toml")))


def meanings() -> dict[str, str]:
    """The named colours of the default palette: what a theme without them falls back to."""
    return dict(next(palette for palette in palettes() if palette.name == DEFAULT).variables)


def _palette(path: Path) -> Theme:
    # tomllib came with 3.11; tomli is the same reader for 3.10.
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        told: Mapping[str, object] = reader.loads(path.read_text(encoding="utf-8"))
        base, meaning = _names(told["base"]), _names(told["meaning"])
        dark, ansi = told.get("dark") is not False, told.get("ansi") is True
        return replace(Theme(f"kvtui-{path.stem}", base["primary"], variables=meaning, dark=dark, ansi=ansi), **_colours(base))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ThemeError(f"{path.name}: {error!r}") from error


def _names(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise TypeError("a table of names and colours is needed")
    return {str(name): str(colour) for name, colour in table.items()}


def _colours(base: dict[str, str]) -> dict[str, Any]:
    allowed = {"primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel", "boost"}
    unknown = sorted(base.keys() - allowed)
    if unknown:
        raise ValueError(f"unknown base colour {', '.join(unknown)}")
    return {**base}
