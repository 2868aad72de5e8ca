"""A small JSON file in the platform's folder for state, readable by its owner alone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_LONGEST: Final = 1_000_000


def state_folder() -> Path:
    """Where this platform keeps a program's state; it need not exist."""
    # The first paint waits for nothing that is only kept for later.
    from platformdirs import user_state_path  # noqa: PLC0415

    return user_state_path("kvtui", appauthor=False)


def read_state(path: Path) -> object:
    """What the file holds; None where there is none, or nothing that can be read."""
    import json  # noqa: PLC0415 (as above)

    try:
        with path.open("rb") as file:
            return json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None


def write_state(path: Path, data: object) -> str:
    """Replace the file as a whole, mode 0600; returns why that failed, or an empty string."""
    import json  # noqa: PLC0415 (as above)

    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(data, file)
        # A draft that was left behind by an older run may have another mode.
        draft.chmod(0o600)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        return f"Progress is not kept: {error.strerror or 'the file cannot be written'}."
    return ""
