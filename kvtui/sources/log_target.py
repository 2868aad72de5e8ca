"""Where a process' output goes: a file, a pipe into ``tee``, the journal, a container's runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kvtui.domain.process import LogTarget
from kvtui.parse.launch import Confines
from kvtui.parse.redact import safe
from kvtui.sources.proc import ProcessTable

_AS_OWNER: Final = "run kvtui as root or as the server's user, or give the log file as the target"
_OPENABLE: Final = frozenset({"file", "journal", "docker", "podman", "kubernetes"})
_TERMINALS: Final = ("/dev/pts/", "/dev/tty", "/dev/console")


@dataclass(frozen=True, slots=True)
class Output:
    """A process whose output is looked for, and what is known of it."""

    table: ProcessTable
    pid: int
    inside: Confines
    environment: Mapping[str, str]
    var_log: Path


def log_target(output: Output) -> LogTarget:
    """The log of a process: by its standard error, where SGLang's log goes, else by its standard output."""
    found: list[LogTarget] = []
    for number in (2, 1):
        link = output.table.link(output.pid, f"fd/{number}")
        if link is not None:
            target = _of_stream(output, link) if link.startswith(("pipe:", "socket:")) else _of_path(output, number, link)
            if target.kind in _OPENABLE:
                return target
            found.append(target)
    if found:
        return found[0]
    inside = output.inside
    if inside.container is not None:
        return _of_container(output)
    if inside.unit is not None:
        note = "its open files cannot be seen: the unit's journal is the likely place"
        return LogTarget("journal", inside.unit, user=inside.user_unit, note=note)
    return LogTarget("unknown", note=f"its open files cannot be seen: {_AS_OWNER}")


def _of_stream(output: Output, link: str) -> LogTarget:
    """A pipe or a socket."""
    inside = output.inside
    if inside.container is not None:
        return _of_container(output)
    if link.startswith("pipe:"):
        return _of_pipe(output, link)
    if inside.unit is not None:
        return LogTarget("journal", inside.unit, user=inside.user_unit)
    if "JOURNAL_STREAM" in output.environment:
        return LogTarget("unknown", note="its output goes to the journal, but its unit is not known: journalctl -f | kvtui -")
    return LogTarget("unknown", note="its output goes into a socket: give the log file as the target")


def _of_path(output: Output, number: int, link: str) -> LogTarget:
    """A file, named as it can be opened from here; or a device."""
    table, process = output.table, output.table.root / str(output.pid)
    if link.startswith(_TERMINALS):
        note = "its output goes to a terminal and is kept nowhere: start it with 2>&1 | tee server.log"
        return _of_container(output) if output.inside.container else LogTarget("terminal", link, note=note)
    if link == "/dev/null":
        return LogTarget("none", note="its output is thrown away (/dev/null): start it with > server.log 2>&1")
    if not link.startswith("/"):
        return LogTarget("unknown", note="its output goes to something that is no file: give the log file as the target")
    if link.endswith(" (deleted)"):
        return LogTarget("file", str(process / "fd" / str(number)), note="the file was deleted; it is read through the process")
    own, ours = table.link(output.pid, "ns/mnt"), table.own_link("ns/mnt")
    if own is not None and ours is not None and own != ours:
        return LogTarget("file", str(process / "root") + link, note="a file inside the container, read through the process")
    return LogTarget("file", link)


def _of_pipe(output: Output, link: str) -> LogTarget:
    """Who reads the pipe; ``tee`` says by its arguments where it writes."""
    table = output.table
    for other in table.pids():
        if other == output.pid or table.link(other, "fd/0") != link:
            continue
        words = table.words(other)
        name = words[0].rpartition("/")[2] if words else ""
        if name != "tee":
            shown = safe(name, 40) or "a program"
            return LogTarget("unknown", note=f"its output is piped into {shown}: give the file that it writes as the target")
        files = [word for word in words[1:] if not word.startswith("-")]
        folder = table.link(other, "cwd")
        if files and (files[0].startswith("/") or folder is not None):
            return LogTarget("file", str(Path(folder or "/") / files[0]))
    return LogTarget("unknown", note=f"its output goes into a pipe whose reader cannot be seen: {_AS_OWNER}")


def _of_container(output: Output) -> LogTarget:
    inside = output.inside
    container = inside.container or ""
    if inside.runtime in {"docker", "podman"}:
        return LogTarget("docker" if inside.runtime == "docker" else "podman", container)
    # The kubelet links each container's file under its id; it can often be read without kubectl.
    files = sorted(_matches(output.var_log / "containers", f"*-{container}.log"))
    if files:
        return LogTarget("file", str(files[0]))
    pod = output.environment.get("HOSTNAME", "")
    if inside.runtime == "kubernetes" and pod:
        return LogTarget("kubernetes", pod, note="the pod's name is taken from its host name; its namespace is not known")
    note = f"it runs in container {container[:12]}: pipe its log in, as in kubectl logs -f POD | kvtui -"
    return LogTarget("unknown", note=note)


def _matches(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []
