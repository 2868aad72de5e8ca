"""What keys are called, as Textual calls them: a configuration is judged where there is no screen, and no Textual, too."""

from __future__ import annotations

import unicodedata
from typing import Final

SHORT: Final = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Characters that Textual calls by another name than Unicode does."""
NAMED: Final = frozenset(
    {"backspace", "delete", "down", "end", "enter", "escape", "home", "insert", "left", "pagedown", "pageup", "return", "right", "space"}
    | {"tab", "up", *(f"f{number}" for number in range(1, 25))}
)
"""Keys that are no character, and the space."""


def name_of(character: str) -> str:
    """The name of the key that prints a character; a comma separates keys there, so that it has a name as well."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return SHORT.get(name, name)


def character_of(key: str) -> str | None:
    """The character that a key prints, by the key's name without modifiers; None for one that prints none, or whose name is short."""
    if len(key) == 1:
        return key
    try:
        return unicodedata.lookup(key.replace("_", " ").upper())
    except KeyError:
        return None
