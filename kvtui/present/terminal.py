"""What a terminal can show, by its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MANY: Final = frozenset({"256color", "kitty"})
"""Last words of a TERM that promises more than sixteen colours. With any other, Rich writes sixteen, unless COLORTERM says more."""
TRUECOLOUR: Final = frozenset({"truecolor", "24bit"})
"""Values of COLORTERM."""
NO_COLOURS: Final = frozenset({"dumb", "vt100", "vt102", "vt220"})
"""TERMs without any."""
NO_FONT: Final = frozenset({"dumb", "linux", "vt100", "vt102", "vt220"})
"""TERMs whose fonts lack eighth-blocks and braille."""
PALETTES: Final = ("dark", "light", "contrast", "ansi", "mono")
"""Names of the palettes; one file of ``themes`` each."""


@dataclass(frozen=True, slots=True)
class Looks:
    """How to paint where nobody chose."""

    palette: str
    ascii: bool


def looks(environ: Mapping[str, str], encoding: str = "utf-8") -> Looks:
    """The palette and the signs for a terminal.

    ``encoding``: that of the stream that is painted on. NO_COLOR (https://no-color.org) counts where it is not empty.
    """
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term in NO_COLOURS:
        palette = "mono"
    elif term.rpartition("-")[2] in MANY or environ.get("COLORTERM", "").lower() in TRUECOLOUR:
        palette = "dark"
    else:
        palette = "ansi"
    return Looks(palette, term in NO_FONT or not _is_utf8(encoding) or not _speaks_utf8(environ))


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def _speaks_utf8(environ: Mapping[str, str]) -> bool:
    """False where the locale names another character set; an empty locale says nothing of the terminal."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return not locale or _is_utf8(locale.partition(".")[2].partition("@")[0])
