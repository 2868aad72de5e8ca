"""Servers found on this machine, in words: a list to choose from, or what was looked for in vain."""

from __future__ import annotations

from typing import Final

from kvtui.domain.process import Discovery, FoundServer
from kvtui.domain.reading import Known

WITHOUT: Final = "Without a server: kvtui guide teaches triage on a simulated one, and kvtui --demo opens the console on it."
"""What can be done where no server runs."""

NOTHING: Final = "No SGLang server was found on this machine."


def found_lines(seen: Discovery) -> tuple[str, ...]:
    """One line a server, numbered from 1."""
    return tuple(f"{number:>3}  {_line(server)}" for number, server in enumerate(seen.servers, 1))


def _line(server: FoundServer) -> str:
    model = server.model.value.rstrip("/").rsplit("/", 1)[-1] if isinstance(server.model, Known) else "model unknown"
    port = f":{server.port.value}" if isinstance(server.port, Known) else "port unknown"
    pid = f"pid {server.main.value}" if isinstance(server.main, Known) else "main process gone"
    log = f"log: {server.log.kind}" if server.log.kind not in {"none", "unknown"} else "log not found"
    return f"{model}  {port}  {pid}  {len(server.processes)} processes  {log}"


def nothing_found(seen: Discovery) -> str:
    """What was looked for, and what to do."""
    looked = f"Looked for {'; '.join(seen.looked_for)}." if seen.looked_for else ""
    given = "Give a log (kvtui server.log) or an address (kvtui http://host:30000)."
    return " ".join(part for part in (NOTHING, looked, given, WITHOUT) if part)
