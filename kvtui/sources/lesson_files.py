"""Reads the lessons' files as plain tables; what they mean is not known here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "guide" / "lessons"
FILE: Final = "lesson.toml"


def lesson_tables(folder: Path = FOLDER) -> tuple[tuple[str, dict[str, object]], ...]:
    """(folder name, content) of each lesson, by folder name.

    Raises ValueError, with the file's name, for one that cannot be read.
    """
    return tuple((path.parent.name, _table(path)) for path in sorted(folder.glob(f"*/{FILE}")))


def _table(path: Path) -> dict[str, object]:
    # tomllib came with 3.11; tomli is the same reader for 3.10.
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return dict(reader.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"lesson {path.parent.name}: {error}") from error
