"""The processes of this machine, read from /proc without root where the kernel allows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kvtui.parse import procfs

_READ: Final = 131_072
_TABLE: Final = 8_388_608
"""Bytes read of a table of sockets: 50,000 connections."""
_STEPS: Final = 64
"""Parents walked at most: a loop in a tree that changes while it is read must end."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process as it was when it was read."""

    pid: int
    words: tuple[str, ...]
    parent: int | None
    inner_pid: int | None
    """Its pid in the innermost namespace, where that differs."""


@dataclass(slots=True)
class ProcessTable:
    """Reads processes; each may be gone at any moment, which is never an error."""

    root: Path
    _seen: dict[int, Process | None] = field(default_factory=dict)

    def pids(self) -> list[int]:
        """All pids now, ascending; empty where /proc cannot be read."""
        try:
            return sorted(int(entry.name) for entry in self.root.iterdir() if entry.name.isascii() and entry.name.isdigit())
        except OSError:
            return []

    def words(self, pid: int) -> tuple[str, ...]:
        """The command line or title; empty for a kernel thread, a zombie and a process that is gone."""
        raw = self.read(pid, "cmdline")
        return () if raw is None else procfs.arguments(raw)

    def get(self, pid: int) -> Process | None:
        """A process with its parent; None where it is gone."""
        if pid not in self._seen:
            raw = self.read(pid, "status")
            if raw is None:
                self._seen[pid] = None
            else:
                status = procfs.status(raw.decode("utf-8", "replace"))
                inner = status.inner_pids[-1] if len(status.inner_pids) > 1 else None
                self._seen[pid] = Process(pid, self.words(pid), status.parent, inner)
        return self._seen[pid]

    def ancestors(self, pid: int) -> Iterator[Process]:
        """The parent, its parent and so on, without pid 0."""
        process = self.get(pid)
        for _ in range(_STEPS):
            if process is None or not process.parent:
                return
            process = self.get(process.parent)
            if process is not None:
                yield process

    def read(self, pid: int, name: str) -> bytes | None:
        """A file of a process; None where it is gone or may not be read."""
        try:
            with (self.root / str(pid) / name).open("rb") as file:
                return file.read(_READ)
        except OSError:
            return None

    def denied(self, pid: int) -> bool:
        """True where the kernel keeps the command line of a process from this user."""
        try:
            with (self.root / str(pid) / "cmdline").open("rb"):
                return False
        except PermissionError:
            return True
        except OSError:
            return False

    def listens(self, port: int) -> bool | None:
        """True where a program of this network listens at a TCP port, by the kernel's tables; None where none of them can be read."""
        read = False
        for name in ("tcp", "tcp6"):
            try:
                with (self.root / "net" / name).open("rb") as file:
                    text = file.read(_TABLE).decode("ascii", "replace")
            except OSError:
                continue
            read = True
            if procfs.listens(text, port):
                return True
        return False if read else None

    def link(self, pid: int, name: str) -> str | None:
        """Where a link of a process points; None where it is gone or may not be read."""
        try:
            return str((self.root / str(pid) / name).readlink())
        except (OSError, ValueError):
            return None

    def own_link(self, name: str) -> str | None:
        """Where a link of this program itself points."""
        try:
            return str((self.root / "self" / name).readlink())
        except (OSError, ValueError):
            return None
