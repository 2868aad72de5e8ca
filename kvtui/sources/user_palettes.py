"""Palettes of the user: ``themes/*.toml`` of the folder for configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kvtui.parse.palette import PaletteFile
from kvtui.sources.config_place import config_file

LONGEST: Final = 64 * 1024
"""Bytes of a palette at most; a full one has two thousand."""
MOST: Final = 100
"""Palettes that are looked at."""


def palette_folder() -> Path:
    """Where palettes of the user are looked for: beside the configuration that ``KVTUI_CONFIG`` names, else in the platform's place."""
    return config_file(None, os.environ)[0].parent / "themes"


def user_palettes(folder: Path | None = None) -> tuple[PaletteFile, ...]:
    """Every palette there is, by name; one that cannot be read says why. None: the platform's folder."""
    place = palette_folder() if folder is None else folder
    try:
        found = sorted(path for path in place.glob("*.toml") if not path.name.startswith("."))
    except OSError:
        return ()
    return tuple(_read(path) for path in found[:MOST])


def _read(path: Path) -> PaletteFile:
    where = _tilde(path)
    try:
        if not path.is_file():
            return PaletteFile(path.stem, where, "", "it is not a file")
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) > LONGEST:
            return PaletteFile(path.stem, where, "", f"it is longer than {LONGEST // 1024} KiB")
        return PaletteFile(path.stem, where, data.decode("utf-8-sig"))
    except OSError as error:
        return PaletteFile(path.stem, where, "", f"it cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return PaletteFile(path.stem, where, "", "it is not UTF-8 text")


def _tilde(path: Path) -> str:
    """The path with the home folder as ``~``."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)
