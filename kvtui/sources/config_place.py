"""Where the configuration lies, and the text of its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kvtui.sources.errors import Unreadable

FILE: Final = "config.toml"
VARIABLE: Final = "KVTUI_CONFIG"
LARGEST: Final = 64 << 10
"""Bytes of a configuration; one that sets everything has four thousand."""


def config_folder() -> Path:
    """The folder for configuration where this platform keeps it; it need not exist."""
    # Only who has named no file waits for it.
    from platformdirs import user_config_path  # noqa: PLC0415

    return user_config_path("kvtui", appauthor=False)


def config_file(told: Path | None, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The configuration file, and whether a person named it: ``told``, else ``KVTUI_CONFIG``, else the platform's place."""
    named = told if told is not None else Path(environ[VARIABLE]) if environ.get(VARIABLE) else None
    return (named.expanduser(), True) if named is not None else (config_folder() / FILE, False)


def read_config(path: Path, *, named: bool) -> str:
    """The text of the file; empty where there is none and nobody named it.

    Raises Unreadable, with half a sentence that follows the file's name.
    """
    try:
        if path.is_fifo():
            # One that nobody writes to would hold the start for ever.
            raise Unreadable("is a pipe, not a file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        if named:
            raise Unreadable("does not exist") from None
        return ""
    except NotADirectoryError:
        raise Unreadable("does not exist") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except ValueError:
        raise Unreadable("is not the name of a file") from None
    if len(data) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST >> 10} KiB: it is no configuration of kvtui")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8 text") from None
