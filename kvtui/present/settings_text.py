"""The settings as text: those that hold with their origin, an example with all of them, and the README's table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kvtui.domain.settings import TABLES, Entry, Settings, Target, entries_of
from kvtui.parse.redact import redact, safe

COLUMN = 40
"""Where comments begin."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The keys of one command."""

    id: str
    keys: tuple[str, ...]
    help: str


def value_text(value: object) -> str:
    """A value as the file has it."""
    if isinstance(value, tuple):
        return value_text(value[0]) if len(value) == 1 else f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, str):
        return json.dumps(safe(redact(value), 1_000), ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def meaning(entry: Entry) -> str:
    """A sentence on a setting."""
    told = entry.told
    parts = [told.help[0].upper() + told.help[1:]]
    if told.range:
        parts.append(f"{told.range}")
    return ": ".join(parts) + "."


def listing(settings: Settings, origins: Mapping[str, str], file: str) -> tuple[str, ...]:
    """Every setting that holds, and where it comes from; the lines are TOML themselves.

    ``file``: what is said of the file, secrets removed.
    """
    lines = [f"# {file}", *_rows(settings, entries_of(Settings), origins)]
    for name, made in TABLES.items():
        lines += ["", f"[{name}]", *_rows(getattr(settings, name), entries_of(made, name), origins)]
    for name, target in settings.targets.items():
        table = f"targets.{name}"
        head = f'targets."{name}"' if "." in name else table
        set_here = (entry for entry in entries_of(Target, table) if getattr(target, entry.name) is not None)
        lines += ["", f"[{head}]", *_rows(target, set_here, origins)]
    if settings.keys:
        keys = (_row(f"{name} = {value_text(told)}", origins.get(f"keys.{name}", "")) for name, told in settings.keys.items())
        lines += ["", "[keys]", *keys]
    return tuple(lines)


def _rows(told: object, entries: Iterable[Entry], origins: Mapping[str, str]) -> Iterator[str]:
    for entry in entries:
        value, origin = getattr(told, entry.name), origins.get(entry.path, "default")
        if value is None:
            yield _row(f"#{entry.name}", f"{origin}: {entry.told.unset}")
        else:
            yield _row(f"{entry.name} = {value_text(value)}", origin)


def _row(left: str, comment: str) -> str:
    return f"{left:<{COLUMN - 1}} # {comment}"


def example(keys: Iterable[KeyRow], place: str) -> str:
    """A file that sets nothing and shows everything: each setting at its default, behind a ``#`` that can be taken off.

    ``place``: where kvtui looks for it.
    """
    lines = [
        f"# The configuration of kvtui. It looks for it in {place},",
        "# or where KVTUI_CONFIG or --config says. Take the # off what you change.",
        "# The command line goes before the environment, and that before this file.",
        *_examples(entries_of(Settings)),
    ]
    for name, made in TABLES.items():
        lines += ["", f"[{name}]", *_examples(entries_of(made, name))]
    lines += ["", "# A server or a log by a name: kvtui prod. Paths begin at this file's folder; ~ is your home.", "#[targets.prod]"]
    lines += _examples(entries_of(Target, "targets.prod"))
    lines += ["", "# One key or several for a command; names of keys are those of Textual.", "[keys]"]
    lines += [_row(f"#{row.id} = {value_text(row.keys)}", row.help) for row in keys]
    return "\n".join(lines) + "\n"


def _examples(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        more = [f"Unset: {entry.told.unset}."] if entry.told.unset else []
        more += [f"Also: {entry.told.variable}."] if entry.told.variable else []
        yield ""
        yield f"# {' '.join((meaning(entry), *more))}"
        yield f"#{entry.name} = {value_text(entry.default) if entry.default is not None else entry.told.example}"


def table_rows() -> tuple[tuple[str, str, str, str], ...]:
    """(setting, default, range, meaning) for the README."""
    entries = [*entries_of(Settings), *(entry for name, made in TABLES.items() for entry in entries_of(made, name))]
    entries += entries_of(Target, "targets.NAME")
    return tuple(
        (e.path, value_text(e.default) if e.default is not None else e.told.unset, e.told.range or _kind(e), e.told.help) for e in entries
    )


def _kind(entry: Entry) -> str:
    return {"switch": "true, false", "text": "a name", "file": "a path", "address": "an address"}[entry.told.kind]
