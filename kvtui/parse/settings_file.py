"""The configuration file: what it sets, or everything that is wrong with it, each with its line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from kvtui.domain.effective import Problem
from kvtui.domain.settings import DEFAULTS, OPEN_TABLES, TABLES, Entry, Settings, Target, entries_of, every_entry
from kvtui.parse.redact import safe
from kvtui.parse.setting_value import checked, nearest, quoted
from kvtui.parse.toml_lines import Path, line_of, lines_of, loads, statements

LONGEST_LINE: Final = 1_000
"""Characters of a line: the standard reader takes quadratic time over a dotted key of thousands of parts."""
DEEPEST: Final = 8
"""Brackets inside each other; readers are recursive."""
MOST_TARGETS: Final = 500
MOST_KEYS: Final = 8
"""Keys of one command."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLACE: Final = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\s*$")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What a file sets."""

    settings: Settings = DEFAULTS
    lines: Mapping[Path, int] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()
    """In the order of their lines; a file with any must not be used."""
    asked: Settings = DEFAULTS
    """What it asks for, as far as that is right, whatever else is wrong."""
    named: frozenset[str] = frozenset()
    """Paths of the settings that it sets, such as ``thresholds.usage_full``."""


def read_settings(text: str, commands: Collection[str] = ()) -> SettingsFile:
    """Read the text of a configuration file; never raises.

    ``commands``: words of the command line, which no target can be called.
    """
    if not text.strip():
        # Most people have no file: nothing is loaded to read it.
        return SettingsFile()
    unfit = _unfit(text)
    if unfit is not None:
        return SettingsFile(problems=(unfit,))
    try:
        told = loads(text)
    except (ValueError, RecursionError) as error:
        return SettingsFile(problems=(_no_toml(str(error), text),))
    check = _Check(lines_of(text), frozenset(commands))
    settings = check.everything(told)
    problems = tuple(sorted(check.problems, key=lambda problem: problem.line or 0))
    return SettingsFile(DEFAULTS if problems else settings, MappingProxyType(check.lines), problems, settings, frozenset(check.named))


def _unfit(text: str) -> Problem | None:
    """What a reader should not be given."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            return Problem(number, f"the line is longer than {LONGEST_LINE} characters")
    for statement in statements(text):
        if statement.depth > DEEPEST:
            return Problem(statement.line, f"more than {DEEPEST} brackets stand inside each other")
    return None


def _no_toml(message: str, text: str) -> Problem:
    place = _PLACE.search(message)
    reason = safe(_PLACE.sub("", message), 120).rstrip(".") or "it cannot be read"
    line = int(place[1]) if place is not None and place[1] is not None else text.count("\n") + (not text.endswith("\n"))
    return Problem(line, f"this is not TOML: {reason[0].lower()}{reason[1:]}")


@dataclass(slots=True)
class _Check:
    lines: Mapping[Path, int]
    commands: frozenset[str]
    problems: list[Problem] = field(default_factory=list)
    named: set[str] = field(default_factory=set)

    def everything(self, told: Mapping[str, object]) -> Settings:
        own = {entry.name: entry for entry in entries_of(Settings)}
        tables = (*TABLES, *OPEN_TABLES)
        for name in told:
            if name not in own and name not in tables:
                self._unknown((name,), (*own, *tables))
        found = self._fields((), {name: value for name, value in told.items() if name in own}, own)
        for name, made in TABLES.items():
            entries = {entry.name: entry for entry in entries_of(made, name)}
            found[name] = made(**self._fields((name,), self._table(told, name), entries))
        return replace(DEFAULTS, **found, targets=self._targets(told), keys=self._keys(told))

    def wrong(self, path: Path, text: str) -> None:
        self.problems.append(Problem(line_of(self.lines, *path), text))

    def _table(self, told: Mapping[str, object], name: str) -> Mapping[str, object]:
        table = told.get(name, {})
        if isinstance(table, dict):
            return table
        self.wrong((name,), f"{name} must be a table: a line [{name}], then one name = value a line")
        return {}

    def _fields(self, path: Path, told: Mapping[str, object], entries: Mapping[str, Entry]) -> dict[str, Any]:
        """The values that are right."""
        found = {}
        for name, value in told.items():
            here = (*path, name)
            entry = entries.get(name)
            if entry is None:
                self._unknown(here, entries)
                continue
            self.named.add(".".join(here))
            good, problem = checked(".".join(here), entry.told, value)
            if problem:
                self.wrong(here, problem)
            else:
                found[name] = good
        return found

    def _unknown(self, path: Path, known: Collection[str]) -> None:
        name = path[-1]
        elsewhere = next((entry for entry in every_entry() if entry.name == name and entry.table != (path[0] if path[1:] else "")), None)
        if elsewhere is not None:
            hint = f"; it belongs {f'in [{elsewhere.table}]' if elsewhere.table else 'above the first [table]'}"
        else:
            hint = nearest(name, known)
        self.wrong(path, f"there is no setting {quoted('.'.join(path))}{hint}")

    def _targets(self, told: Mapping[str, object]) -> Mapping[str, Target]:
        entries = {entry.name: entry for entry in entries_of(Target)}
        found = {}
        table = self._table(told, "targets")
        if len(table) > MOST_TARGETS:
            self.wrong(("targets",), f"there are more than {MOST_TARGETS} targets")
            return {}
        for name, value in table.items():
            path = ("targets", name)
            if not _NAME.fullmatch(name):
                self.wrong(path, f"{quoted(name)} cannot be the name of a target: letters, digits, dots, - and _ are allowed, at most 64")
            elif name in self.commands:
                self.wrong(path, f"{name} is a command of kvtui, so that no target can be called so")
            elif not isinstance(value, dict):
                self.wrong(path, f'targets.{name} must be a table: a line [targets.{name}], then url = "http://…"')
            else:
                before = len(self.problems)
                found[name] = Target(**self._fields(path, value, entries))
                if not found[name].opens and len(self.problems) == before:
                    self.wrong(path, f"targets.{name} names neither a url nor a log")
        return MappingProxyType(found)

    def _keys(self, told: Mapping[str, object]) -> Mapping[str, tuple[str, ...]]:
        found = {}
        for name, value in self._table(told, "keys").items():
            keys = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
            if not 0 < len(keys) <= MOST_KEYS or not all(isinstance(key, str) and 0 < len(key) <= 40 for key in keys):
                self.wrong(("keys", name), f'{quoted("keys." + name)} must be a key, such as "t", or a list of up to {MOST_KEYS}')
                continue
            self.named.add(f"keys.{name}")
            found[name] = keys
        return MappingProxyType(found)
