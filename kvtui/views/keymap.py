"""Keys of one's own: each command at the keys that the configuration gives it, or what is wrong with them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final

from textual.binding import Binding
from textual.keys import Keys, key_to_character

from kvtui.parse.setting_value import nearest, quoted
from kvtui.views.commands import COMMANDS, Command, Scope

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
_ABOVE: Final[frozenset[Scope]] = frozenset({"main"})
_BELOW: Final[frozenset[Scope]] = frozenset({"app", "demo"})
"""The main screen takes a key before the app does."""


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
    problems += _clashes(commands, own, moved)
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
    taken = {key: command for command in commands if command.scope in _ABOVE for key in command.keys}
    for command in commands:
        if command.scope in _BELOW and all(key in taken for key in command.keys):
            above = taken[command.keys[0]]
            name = command.id if command.id in moved else above.id
            other = above if name == command.id else command
            yield (
                name,
                f"keys.{name}: {shown(command.keys[0])} is the key of {other.id} too, and the main screen keeps it from {command.id}",
            )


@cache
def _signs() -> Mapping[str, str]:
    """How named keys are shown."""
    return {**{_name_of(sign): sign for sign in string.punctuation}, **SIGNS}


@cache
def _names() -> frozenset[str]:
    """What a key can be called, without modifiers."""
    words = (key.value.rpartition("+")[2] for key in Keys)
    return frozenset(word for word in words if re.fullmatch(r"[a-z][a-z0-9_]+", word)) | _signs().keys()


def _name_of(character: str) -> str:
    """Textual's name of a character; a comma separates keys there."""
    return "comma" if character == "," else next(iter(Binding.make_bindings([Binding(character, "")]))).key


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
        name = _name_of(base.lower() if modifiers else base)
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
    character = key_to_character(base)
    short = _signs().get(base) or (character if character is not None and character.isprintable() and character != " " else base)
    short = short.upper() if re.fullmatch(r"f\d+", short) else short
    marks = {"ctrl": "^", "shift": "⇧"}
    return "".join(marks.get(modifier, f"{modifier}+") for modifier in modifiers) + short
