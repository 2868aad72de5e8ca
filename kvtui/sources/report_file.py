"""Reports that the console writes: beside the user, readable by the user alone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from kvtui.sources.errors import Unreadable
from kvtui.sources.state_file import state_folder

_TRIES: Final = 100


def write_report(name: str, text: str, folders: tuple[Path, ...] | None = None) -> str:
    """Write ``text`` to a new file NAME.md, mode 0600, in the current folder or, where that is not writable, the state folder.

    A file that is there is never replaced: NAME-2.md and so on. Gives the path; raises Unreadable with one sentence.
    """
    reason = "no folder is known"
    for folder in folders if folders is not None else _folders():
        path, why = _attempt(folder, name, text)
        if path is not None:
            return str(path)
        reason = f"{folder}: {why}"
    raise Unreadable(f"The report cannot be written ({reason}).")


def _folders() -> tuple[Path, ...]:
    found = []
    # The current folder may have been removed, and a user may have no home.
    for place in (Path.cwd, lambda: state_folder() / "reports"):
        with suppress(OSError, RuntimeError):
            found.append(place())
    return tuple(found)


def _attempt(folder: Path, name: str, text: str) -> tuple[Path | None, str]:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _new_file(folder, name, text), ""
    except OSError as error:
        return None, error.strerror or "it cannot be written"


def _new_file(folder: Path, name: str, text: str) -> Path:
    for number in range(1, _TRIES):
        path = folder / (f"{name}.md" if number == 1 else f"{name}-{number}.md")
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                # Not what a loose or tight umask makes of it.
                os.fchmod(file.fileno(), 0o600)
                file.write(text)
            return path
    raise OSError(f"{_TRIES} reports of that name are there already")
