"""Values of a Hugging Face configuration, checked: such a file may hold anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MAX_NUMBER: Final = 1 << 32
MAX_ITEMS: Final = 4096
MAX_TEXT: Final = 200


class ConfigError(ValueError):
    """What is wrong with a configuration, in one sentence fit for the screen."""


@dataclass(frozen=True, slots=True)
class Values:
    """Typed reads of one mapping; a null counts as absent, as it does for SGLang.

    ``fallback`` holds the values that the family's own configuration class would fill in.
    Every read raises ``ConfigError`` when the value has the wrong type or size.
    """

    raw: Mapping[str, object]
    fallback: Mapping[str, int | str]

    def get(self, key: str) -> object:
        """The raw value, or None when it is absent or null."""
        found = self.raw.get(key)
        return self.fallback.get(key) if found is None else found

    def has(self, key: str) -> bool:
        """Whether the key holds a value."""
        return self.get(key) is not None

    def integer(self, *keys: str, least: int = 0) -> int | None:
        """The first of the keys that holds a value, as a whole number; None when none does."""
        key = next((name for name in keys if self.has(name)), None)
        return None if key is None else whole(key, self.get(key), least)

    def need(self, *keys: str, least: int = 1) -> int:
        """As ``integer``, but an absent value is an error."""
        found = self.integer(*keys, least=least)
        if found is None:
            raise ConfigError(f"The configuration has no {' or '.join(keys)}.")
        return found

    def text(self, *keys: str) -> str | None:
        """The first of the keys that holds text."""
        for key in keys:
            found = self.get(key)
            if isinstance(found, str):
                return found[:MAX_TEXT]
        return None

    def mapping(self, key: str) -> Mapping[str, object] | None:
        """A nested mapping; None when it is absent."""
        found = self.get(key)
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise ConfigError(f"The configuration's {key} is not a mapping.")
        return found

    def items(self, key: str) -> Sequence[object] | None:
        """A list of bounded length; None when it is absent."""
        found = self.get(key)
        if found is None:
            return None
        if not isinstance(found, (list, tuple)) or len(found) > MAX_ITEMS:
            raise ConfigError(f"The configuration's {key} is not a list of at most {MAX_ITEMS} entries.")
        return found


def whole(key: str, value: object, least: int) -> int:
    """``value`` as a whole number between ``least`` and 2^32; raises ``ConfigError`` otherwise."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"The configuration's {key} is not a whole number.")
    if not least <= value <= MAX_NUMBER:
        raise ConfigError(f"The configuration's {key} is out of range.")
    return value


def positions(found: Sequence[object], wanted: frozenset[object], layers: int) -> tuple[int, ...]:
    """Indices below ``layers`` whose entry is one of ``wanted``; entries of other types never match."""
    return tuple(index for index, entry in enumerate(found[:layers]) if isinstance(entry, (str, int)) and entry in wanted)
