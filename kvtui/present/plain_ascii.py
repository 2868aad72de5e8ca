"""Every sign of the screen as one ASCII character: for terminals whose locale or font has no more.

One table, applied when a row is painted; a sign keeps its width, so nothing moves. Words stand beside signs
everywhere, so a sign that is ambiguous in ASCII is not ambiguous on the screen.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

_SIGNS: Final = {
    "✓": "+", "✖": "x", "▲": "!", "▼": "v", "◌": "o", "○": "o", "●": "*", "■": "#", "◆": "*", "▸": ">", "◂": "<", "‖": '"',
    "⏎": "@", "⇧": "^", "←": "<", "→": ">", "↑": "^", "↓": "v", "⌫": "<", "›": ">", "…": "~",
    "×": "x", "÷": "/", "−": "-", "–": "-", "—": "-", "±": "~", "≈": "~", "≤": "<", "≥": ">", "·": ".", "°": "o", "²": "2", "µ": "u",
    "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u202f": " ", "�": "?",
}  # fmt: skip
_BLOCKS: Final = {
    "█": "#", "▓": "=", "▒": "%", "░": "`", "▞": "/", "▚": "\\", "≡": "&",
    "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "|", "▊": "|", "▉": "|", "▐": "|", "▀": '"',
    "▁": "_", "▂": ".", "▃": ",", "▄": "-", "▅": "=", "▆": "+", "▇": "*",
}  # fmt: skip
_LINES: Final = {
    "─": "-", "━": "=", "═": "=", "╌": "~", "╍": "~", "┄": "-", "┈": "-", "╴": "-", "╶": "-",
    "│": "|", "┃": "|", "║": "|", "┊": ";", "┆": ":", "╎": ":", "╵": "'", "╷": ",",
}  # fmt: skip
TABLE: Final = {**_SIGNS, **_BLOCKS, **_LINES}
"""What stands for what. Other box drawing is a corner or a crossing and becomes ``+``; braille becomes its ink."""
_INK: Final = " ..::****"
"""A braille character by the number of its dots."""


def to_ascii(text: str) -> str:
    """The text in ASCII, in as many columns as before; what has no sign becomes a question mark a column."""
    return text if text.isascii() else "".join(char if char.isascii() else _sign(char) for char in text)


@lru_cache(maxsize=1024)
def _sign(char: str) -> str:
    known = TABLE.get(char)
    if known is not None:
        return known
    if "\u2500" <= char <= "\u257f":
        return "+"
    if "\u2800" <= char <= "\u28ff":
        return _INK[(ord(char) - 0x2800).bit_count()]
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return ""
    plain = unicodedata.normalize("NFKD", char)[:1]
    wide = unicodedata.east_asian_width(char) in {"W", "F"}
    return "??" if wide else plain if plain.isascii() and plain.isprintable() else "?"
