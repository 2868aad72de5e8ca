"""Keys of one's own: each command at the keys that the configuration gives it, or what is wrong with them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Final

from kvtui.parse.setting_value import nearest, quoted
from kvtui.views.commands import COMMANDS, IN_SEARCH, Command, Scope
from kvtui.views.key_names import NAMED, character_of, name_of

MODIFIERS: Final = ("ctrl", "alt", "shift", "super", "meta", "hyper")
SAME: Final = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+left_square_bracket": "escape", "ctrl+[": "escape"}
"""Keys for which a terminal sends another one's code."""
SIGNS: Final = {
    "enter": "⏎", "escape": "esc", "backspace": "⌫", "left": "←", "right": "→", "up": "↑", "down": "↓",
    "home": "Home", "end": "End", "pageup": "PgUp", "pagedown": "PgDn",
}  # fmt: skip
"""Keys that are shown otherwise than by their name."""
_TOGETHER: Final[tuple[frozenset[Scope], ...]] = (frozenset({"app", "demo"}), frozenset({"main", "lesson"}))
"""Scopes whose keys are looked up at once, so that one key can belong to one command of them only."""
_UNDER: Final[frozenset[Scope]] = frozenset({"app", "demo"})
"""Scopes that get a key only where those of ``_OVER`` leave it."""
_OVER: Final[Mapping[Scope, str]] = MappingProxyType(
    {
        "main": "the main screen",
        "lesson": "the lesson",
        "search": "the search",
        "options": "the options pane",
        "card": "the card of a lesson",
    }
)
_WHOLE: Final[frozenset[Scope]] = frozenset({"main", "lesson", "search"})
"""Those of them that cannot be left for another pane, where the app's command could be reached."""


@dataclass(frozen=True, slots=True)
class Remap:
    """All commands, some of them at other keys."""

    commands: tuple[Command, ...] = COMMANDS
    problems: tuple[tuple[str, str], ...] = ()
    """(name in the configuration, half a sentence); with any, the commands must not be used."""

    @property
    def keymap(self) -> Mapping[str, str]:
        """For Textual: the keys of each command by its id.

        Of each, not only of those that were moved: Textual takes a key from every other command at once where one is moved to it.
        """
        return MappingProxyType({command.id: ",".join(command.keys) for command in self.commands})


def remap(told: Mapping[str, tuple[str, ...]]) -> Remap:
    """The commands at the keys of ``told``: Textual's names or single characters, by the command's id."""
    own = {command.id: command for command in COMMANDS}
    problems: list[tuple[str, str]] = []
    moved: dict[str, Command] = {}
    for name, keys in told.items():
        if name not in own:
            problems.append((name, f"there is no command {quoted(name)}{nearest(name, own)}"))
            continue
        found = [_key(key) for key in keys]
        problems += [(name, f"keys.{name}: {wrong}") for _, wrong in found if wrong]
        if not any(wrong for _, wrong in found):
            names = tuple(dict.fromkeys(key for key, _ in found))
            moved[name] = replace(own[name], keys=names, shown=shown(names[0]))
    commands = tuple(moved.get(command.id, command) for command in COMMANDS)
    problems += dict.fromkeys(_clashes(commands, own, moved))
    return Remap(COMMANDS if problems else commands, tuple(problems))


def _clashes(commands: tuple[Command, ...], own: Mapping[str, Command], moved: Mapping[str, Command]) -> Iterator[tuple[str, str]]:
    """Keys that two commands want, and commands that no key would reach; the blame lies with what was moved."""
    by_key: dict[tuple[frozenset[Scope], str], list[Command]] = {}
    for command in commands:
        scopes = next((together for together in _TOGETHER if command.scope in together), frozenset({command.scope}))
        for key in command.keys:
            by_key.setdefault((scopes, key), []).append(command)
    for (_, key), sharing in by_key.items():
        to_blame = next((command for command in sharing if command.id in moved and key not in own[command.id].keys), None)
        for other in sharing:
            if to_blame is not None and other is not to_blame:
                more = f" ({other.title})" if other.title != other.id else ""
                yield to_blame.id, f"keys.{to_blame.id}: {shown(key)} is the key of {other.id}{more} too; give that one another"
    covered = tuple(_covered(commands, own, moved))
    yield from covered
    yield from (one for one in _unreachable(commands, moved) if one[0] not in dict(covered))


def _covered(commands: tuple[Command, ...], own: Mapping[str, Command], moved: Mapping[str, Command]) -> Iterator[tuple[str, str]]:
    """Keys that a command was moved to, and that one of another scope takes first, or gets no more."""
    found: dict[tuple[str, str], list[tuple[Command, Command]]] = {}
    for upper, lower in product(commands, commands):
        # Those that share a key as delivered are meant to: the upper one stands for the lower.
        if not _lies_on(upper, lower) or set(own[upper.id].keys) & set(own[lower.id].keys):
            continue
        for key in set(upper.keys) & set(lower.keys):
            blamed = upper if upper.id in moved and key not in own[upper.id].keys else lower
            if blamed is upper or lower.priority or upper.scope in _WHOLE:
                found.setdefault((blamed.id, key), []).append((upper, lower))
    for (name, key), pairs in found.items():
        upper, lower = pairs[0]
        others = list(dict.fromkeys(one.id for pair in pairs for one in pair if one.id != name))
        besides = f"; it is the key of {' and '.join(others[1:])} besides" if others[1:] else ""
        first = f"{lower.id} goes before all others" if lower.priority else f"{_OVER[upper.scope]} keeps it from {lower.id}"
        yield name, f"keys.{name}: {shown(key)} is the key of {others[0]} too, and {first}{besides}"


def _lies_on(upper: Command, lower: Command) -> bool:
    """True where one press can mean both, and they are of different scopes."""
    if lower.scope not in _UNDER or upper.scope in _UNDER:
        return False
    there = upper.scope in _OVER and (upper.scope != "search" or lower.id in IN_SEARCH)
    return there or lower.priority


def _unreachable(commands: tuple[Command, ...], moved: Mapping[str, Command]) -> Iterator[tuple[str, str]]:
    """Commands of the app of which the main screen leaves no key."""
    taken = {key: command for command in commands if command.scope == "main" for key in command.keys}
    for command in commands:
        if command.scope in _UNDER and all(key in taken for key in command.keys):
            above = taken[command.keys[0]]
            name = command.id if command.id in moved else above.id
            other = above if name == command.id else command
            sign = shown(command.keys[0])
            yield name, f"keys.{name}: {sign} is the key of {other.id} too, and the main screen keeps it from {command.id}"


@cache
def _signs() -> Mapping[str, str]:
    """How named keys are shown."""
    return {**{name_of(sign): sign for sign in string.punctuation}, **SIGNS}


@cache
def _names() -> frozenset[str]:
    """What a key can be called, without modifiers."""
    return NAMED | _signs().keys()


def _key(text: str) -> tuple[str, str]:
    """Textual's name of a key, and an empty text; or what is wrong with it."""
    *modifiers, base = text.split("+") if len(text) > 1 and not text.endswith("+") else [text]
    modifiers = sorted((modifier.strip().lower() for modifier in modifiers), key=lambda m: MODIFIERS.index(m) if m in MODIFIERS else 0)
    base = "space" if base == " " else base.strip() if len(base) == 1 else base.strip().lower()
    unknown = next((modifier for modifier in modifiers if modifier not in MODIFIERS), None)
    if unknown is not None:
        return "", f"{quoted(text)} has the modifier {quoted(unknown)}{nearest(unknown, MODIFIERS)}"
    if len(base) == 1 and base.isprintable():
        if modifiers == ["shift"]:
            return "", f"a terminal sends {quoted(base.upper())} for {quoted(text)}: write that"
        name = name_of(base.lower() if modifiers else base)
    elif base in _names():
        name = base
    else:
        return "", f"there is no key {quoted(text)}{nearest(base, _names()) if base else ''}"
    full = "+".join((*modifiers, name))
    if full in SAME:
        return "", f"a terminal sends the same for {quoted(text)} as for {SAME[full]}: it cannot be told apart"
    return full, ""


def shown(key: str) -> str:
    """A key as the footer shows it, of Textual's name for it."""
    *modifiers, base = key.split("+")
    character = character_of(base)
    short = _signs().get(base) or (character if character is not None and character.isprintable() and character != " " else base)
    short = short.upper() if re.fullmatch(r"f\d+", short) else short
    marks = {"ctrl": "^", "shift": "⇧"}
    return "".join(marks.get(modifier, f"{modifier}+") for modifier in modifiers) + short
