"""A model's configuration on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from kvtui.domain.accounting import NO_GEOMETRY, Given
from kvtui.parse.model_config import geometry_from_config
from kvtui.sources.errors import Unreadable

MAX_BYTES: Final = 8 << 20
"""A configuration is a few kB; larger files are something else."""


def read_geometry(path: Path, *, optional: bool = False) -> Given:
    """The geometry in a ``config.json`` or in a folder that holds one.

    ``optional``: a file that is absent or cannot be read gives no geometry instead of an error.
    Raises Unreadable with one sentence otherwise.
    """
    try:
        return _read(path)
    except RecursionError:
        if optional:
            return NO_GEOMETRY
        raise Unreadable(f"{path} cannot be used as a model configuration: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        if optional:
            return NO_GEOMETRY
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(f"{path} cannot be used as a model configuration: {reason}") from error


def _read(path: Path) -> Given:
    """Read it, or raise OSError or ValueError."""
    file = path / "config.json" if path.is_dir() else path
    if file.stat().st_size > MAX_BYTES:
        raise ValueError("it is larger than a model configuration can be")
    config = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    if not isinstance(config, dict):
        raise ValueError("it holds no JSON object")  # noqa: TRY004 (for the user it is a wrong value)
    name = path.name if path.is_dir() else (path.parent.name or path.stem)
    return Given(geometry_from_config(config, name), str(file))
