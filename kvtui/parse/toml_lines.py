"""On which line of a TOML file each key stands.

The standard reader (tomllib) tells values only, and no library that is well kept tells positions, tomlkit neither. So the
text is cut into statements here, by what can hold a line break (strings, brackets, comments), and the standard reader
reads the key of each: nothing of TOML's grammar is written down twice.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Path = tuple[str, ...]

_PART: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"?|\'[^\'\n]*\'?|#[^\n]*|[\[{]|[\]}]|\n|[^"\'#\[\]{}\n]+', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A key with its value, or a table's header."""

    line: int
    """Where it begins, from 1."""
    text: str
    depth: int
    """Brackets inside each other, at most."""


def loads(text: str) -> dict[str, object]:
    """The tables of a text, by the standard reader. Raises ValueError or RecursionError."""
    # tomllib came with 3.11; tomli is the same reader for 3.10.
    return dict(importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text))


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text, in order; of one that is no TOML, pieces of it."""
    line, begun, parts, depth, deepest = 1, 1, list[str](), 0, 0
    for found in _PART.finditer(text):
        part = found[0]
        if part == "\n" and depth <= 0:
            if "".join(parts).strip():
                yield Statement(begun, "".join(parts), deepest)
            parts, depth, deepest = [], 0, 0
        elif not part.startswith("#"):
            if not "".join(parts[:1]).strip():
                begun, parts = line, []
            depth += (part in "[{") - (part in "]}") if len(part) == 1 else 0
            deepest = max(deepest, depth)
            parts.append(part)
        line += part.count("\n")
    if "".join(parts).strip():
        yield Statement(begun, "".join(parts), deepest)


def lines_of(text: str) -> Mapping[Path, int]:
    """The line of each key and table of a text that the standard reader takes; the first one where there are several."""
    found: dict[Path, int] = {}
    table: Path = ()
    for statement in statements(text):
        head = statement.text.strip()
        if head.startswith("["):
            path = table = _key(head.strip("[]"))
        else:
            path = (*table, *_key(_before_equals(head)))
        for end in range(1, len(path) + 1):
            found.setdefault(path[:end], statement.line)
    return found


def line_of(lines: Mapping[Path, int], *path: str) -> int | None:
    """The line of a key; of the table or the inline table that holds it, where it has none of its own."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def _before_equals(statement: str) -> str:
    """The key of a statement: what stands before the first ``=`` outside quotes."""
    length = 0
    for found in _PART.finditer(statement):
        if "=" in found[0] and found[0][0] not in "\"'":
            return statement[: length + found[0].index("=")]
        length += len(found[0])
    return statement


def _key(text: str) -> Path:
    """A dotted key, taken apart by the standard reader; nothing where it is none."""
    try:
        told: object = loads(f"{text.strip()} = 0")
    except (ValueError, RecursionError):
        return ()
    path: list[str] = []
    while isinstance(told, dict) and told:
        name, told = next(iter(told.items()))
        path.append(str(name))
    return tuple(path)
