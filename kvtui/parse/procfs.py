"""Files of /proc, /sys and control groups as text, read into values. Pure: whoever calls has read the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtui.domain.host import Pressure

ARGUMENTS_LIMIT: Final = 65_536
"""Bytes looked at of a command line or of an environment."""
_WORDS_LIMIT: Final = 2_000
_PCI: Final = re.compile(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")
_PRESSURE: Final = re.compile(r"^(some|full) avg10=(\d{1,3}(?:\.\d{1,4})?)\b", re.MULTILINE)
_NODE_FIELD: Final = re.compile(r"^Node\s+(\d{1,5})\s+(MemTotal|MemFree):\s+(\d{1,15})\s*kB", re.MULTILINE)
_FIELD: Final = re.compile(r"^(\w{1,40}):\s+(\d{1,15}) kB$", re.MULTILINE)
NO_LIMIT_FROM: Final = 1 << 62
"""Version 1 writes "no limit" as the largest number of pages: values from here on are none."""


def arguments(raw: bytes) -> tuple[str, ...]:
    """The words of /proc/PID/cmdline; the padding that setproctitle leaves is dropped."""
    words = raw[:ARGUMENTS_LIMIT].rstrip(b"\0").split(b"\0")[:_WORDS_LIMIT]
    return () if words == [b""] else tuple(word.decode("utf-8", "replace") for word in words)


def variables(raw: bytes, keep: Iterable[str], prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """The variables of /proc/PID/environ whose name is in ``keep`` or begins with one of ``prefixes``; at most 200."""
    names = frozenset(keep)
    found: dict[str, str] = {}
    for entry in raw.split(b"\0")[:_WORDS_LIMIT]:
        name, equals, value = entry[:ARGUMENTS_LIMIT].decode("utf-8", "replace").partition("=")
        if equals and (name in names or (prefixes and name.startswith(prefixes))) and len(found) < 200:
            found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class Status:
    """What is used of /proc/PID/status."""

    parent: int | None
    inner_pids: tuple[int, ...]
    """NSpid: the pid in each namespace, outermost first; empty on old kernels."""
    state: str
    """``R``, ``S``, ``D``, ``Z`` ..."""


def status(text: str) -> Status:
    """Parent, inner pids and state. Never raises."""
    fields = dict(line.split(":", 1) for line in text[:16_384].splitlines() if ":" in line)
    parent = fields.get("PPid", "").strip()
    inner = tuple(int(word) for word in fields.get("NSpid", "").split() if _is_number(word))
    return Status(int(parent) if _is_number(parent) else None, inner, fields.get("State", "?").strip()[:1] or "?")


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """CPU ticks and the process group of a stat file."""

    ticks: int
    group: int


def stat(text: str) -> ThreadTimes | None:
    """Of /proc/PID/stat or /proc/PID/task/TID/stat; None where it is no such file. The name in it may hold anything."""
    words = text[:4_096].rpartition(")")[2].split()
    if len(words) < 13 or not all(_is_number(word) for word in (words[2], words[11], words[12])):
        return None
    return ThreadTimes(int(words[11]) + int(words[12]), int(words[2]))


def pressure(text: str) -> Pressure | None:
    """/proc/pressure/memory; None where it cannot be read."""
    found = {kind: float(value) for kind, value in _PRESSURE.findall(text[:4_096])}
    return Pressure(found["some"], found["full"]) if len(found) == 2 else None


def fields(text: str) -> dict[str, int]:
    """Bytes by name of /proc/meminfo; lines of another form are left out."""
    return {name: int(value) * 1024 for name, value in _FIELD.findall(text[:65_536])}


def node_memory(text: str) -> tuple[int, int] | None:
    """Total and free bytes of /sys/devices/system/node/nodeN/meminfo."""
    found = {name: int(value) * 1024 for _, name, value in _NODE_FIELD.findall(text[:16_384])}
    return (found["MemTotal"], found["MemFree"]) if len(found) == 2 else None


def control_groups(text: str) -> dict[str, str]:
    """Paths of /proc/PID/cgroup by controller; the unified hierarchy (version 2) under the empty name."""
    found: dict[str, str] = {}
    for line in text[:65_536].splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/"):
            for name in parts[1].split(","):
                found.setdefault(name, parts[2].removesuffix(" (deleted)"))
    return found


def ancestors(path: str) -> tuple[str, ...]:
    """A control group's path and those above it, from the inside out, without the root's slash at the front."""
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}][:64]
    return tuple("/".join(parts[:size]) for size in range(len(parts), -1, -1))


def limit(text: str) -> int | None:
    """Bytes of memory.max or memory.limit_in_bytes; None for "max" and for what cannot be read."""
    word = text.strip()
    return int(word) if _is_number(word) and int(word) < NO_LIMIT_FROM else None


def keyed(text: str, name: str) -> int | None:
    """One figure of memory.stat or memory.events."""
    for line in text[:65_536].splitlines():
        key, _, value = line.partition(" ")
        if key == name and _is_number(value.strip()):
            return int(value)
    return None


def sysfs_address(bus_id: str) -> str | None:
    """``00000000:1B:00.0`` as /sys names it, ``0000:1b:00.0``; None where it is no PCI address."""
    match = _PCI.fullmatch(bus_id.strip())
    if match is None:
        return None
    return f"{int(match[1], 16):04x}:{match[2].lower()}:{match[3].lower()}.{match[4]}"


def numa_node(text: str) -> int | None:
    """The number in a numa_node file; None for -1, which means that the firmware names none."""
    number = int(text.strip())
    return number if number >= 0 else None


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 20


def listens(table: str, port: int) -> bool:
    """True where a row of ``/proc/net/tcp`` or ``tcp6`` listens (state 0A) at that port, at whatever address."""
    at = f":{port:04X}"
    rows = (line.split(None, 4) for line in table.splitlines()[1:])
    return any(len(row) > 3 and row[1].endswith(at) and row[3] == "0A" for row in rows)
