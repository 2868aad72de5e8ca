"""SGLang servers on this machine, by their processes alone: no port is scanned and nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kvtui.domain.process import DEFAULT_PORT, Discovery, FoundServer, Role, ServerProcess
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse import procfs
from kvtui.parse.launch import Confines, confines, is_helper, launch_role, read_launch, runs_python, shown_command, title_role
from kvtui.parse.redact import is_secret_name, safe
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.log_target import Output, log_target
from kvtui.sources.proc import Process, ProcessTable

_NAMES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HOSTNAME", "JOURNAL_STREAM", "CUDA_DEVICE_ORDER")
_PREFIXES: Final = ("SGLANG_", "SGL_", "NCCL_", "CUDA_", "PYTORCH_", "TORCH_NCCL_")
_SECRET_PARTS: Final = ("TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CREDENTIAL")
_TITLE: Final = 200
_ELSEWHERE: Final = "a server in a container is seen from the host, not from another container"
_NOT_OWNER: Final = "run kvtui as root or as the server's user"


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look."""

    proc: Path = Path("/proc")
    var_log: Path = Path("/var/log")


def discover(proc_root: Path = Path("/proc"), var_log: Path = Path("/var/log")) -> Discovery:
    """All servers of this machine. Blocking; never raises; see ``find`` for the event loop."""
    places = Places(proc_root, var_log)
    table = ProcessTable(proc_root)
    pids = table.pids()
    if not pids:
        return Discovery((), (f"processes: {proc_root} cannot be read, so no server can be found by its processes",))
    roles: dict[int, Role] = {}
    routers: list[int] = []
    for pid in pids:
        words = table.words(pid)
        role = title_role(words) or launch_role(words) or ("helper" if is_helper(words) else None)
        if role == "router":
            routers.append(pid)
        elif role is not None:
            roles[pid] = role
    groups = _groups(table, roles)
    servers = tuple(_server(table, key, members, roles, places) for key, members in sorted(groups.items()))
    said = _looked_for(len(pids), servers)
    if not servers:
        said += (*_kept_from_us(table, pids), _at_port(table), _ELSEWHERE)
    return Discovery(tuple(server for server in servers if server.processes), (*said, *_routers(routers)))


async def find(worker: DaemonWorker, timeout: float = 5.0, places: Places = Places()) -> Discovery:
    """``discover`` in a thread: the command line of a process that is stuck in the kernel may block its reader."""
    try:
        return await worker.run(lambda: discover(places.proc, places.var_log), timeout)
    except StillHanging:
        return Discovery((), ("processes: the system did not answer while they were read; give the server's URL or log as the target",))


def _groups(table: ProcessTable, roles: Mapping[int, Role]) -> dict[int, list[int]]:
    """Members by the pid of their main process; workers without one under minus their process group."""
    groups: dict[int, list[int]] = {}
    for pid, role in roles.items():
        line = list(table.ancestors(pid))
        # The outermost launch counts: a server that forks has children with its own command line.
        mains = [process.pid for process in line if roles.get(process.pid) == "main"]
        if mains:
            groups.setdefault(mains[-1], []).append(pid)
        elif role == "main":
            groups.setdefault(pid, []).append(pid)
        elif role != "helper":
            groups.setdefault(_owner(table, pid, line, roles), []).append(pid)
    return groups


def _owner(table: ProcessTable, pid: int, line: list[Process], roles: Mapping[int, Role]) -> int:
    """The script that started a worker by itself, or minus the worker's process group where nobody did."""
    for process in line:
        if process.pid in roles:
            continue
        if process.pid > 1 and runs_python(process.words):
            return process.pid
        break
    times = procfs.stat((table.read(pid, "stat") or b"").decode("utf-8", "replace"))
    return -(times.group if times is not None else pid)


def _server(table: ProcessTable, key: int, members: list[int], roles: Mapping[int, Role], places: Places) -> FoundServer:
    main = table.get(key) if key > 0 else None
    pids = sorted({*members, *((key,) if main is not None else ())}, key=lambda pid: (pid != key, pid))
    processes = tuple(shown for pid in pids if (shown := _process(table, pid, "main" if pid == key else roles[pid])) is not None)
    if main is None:
        listed = " ".join(str(process.pid) for process in processes)
        gone = Missing("its main process is gone")
        note = f"the main process is gone but its workers are left and may hold GPU memory: pids {listed}"
        return FoundServer(main=gone, processes=processes, command=gone, notes=(note,) if processes else ())
    return _described(table, main, processes, own_script=roles.get(key) != "main", places=places)


def _described(
    table: ProcessTable, main: Process, processes: tuple[ServerProcess, ...], *, own_script: bool, places: Places
) -> FoundServer:
    launch = read_launch(main.words)
    notes: list[str] = []
    environment = _environment(table, main.pid, notes)
    inside = _confines(table, main.pid, notes)
    network = _own_network(table, main.pid)
    if own_script:
        notes.append(
            "it was started by a script of its own (sglang.Engine): its flags are not in the command line, and it may serve no HTTP"
        )
    if launch.config_file is not None:
        notes.append(f"flags that stand in {launch.config_file} are not in the command line")
    if isinstance(network, Known) and network.value:
        notes.append("it has a network of its own (container): if its port does not answer here, give the URL at which it is published")
    none = Missing("it was not launched by SGLang's command line")
    return FoundServer(
        main=Known(main.pid, None, Where("host", "/proc")),
        processes=processes,
        command=Known(launch.command, None, Where("host", f"/proc/{main.pid}/cmdline")),
        settings=MappingProxyType({}) if own_script else launch.settings,
        model=none if own_script else launch.model,
        host=none if own_script else launch.host,
        port=none if own_script else launch.port,
        log=log_target(Output(table, main.pid, inside, environment, places.var_log)),
        unit=Missing("it does not run in a systemd unit") if inside.unit is None else Known(inside.unit, None, Where("host", "cgroup")),
        container=Missing("it does not run in a container that can be seen from here")
        if inside.container is None
        else Known(inside.container, None, Where("host", "cgroup")),
        visible_devices=_devices(environment, notes),
        own_network=network,
        environment=MappingProxyType(environment),
        notes=tuple(notes),
    )


def _process(table: ProcessTable, pid: int, role: Role) -> ServerProcess | None:
    process = table.get(pid)
    if process is None:
        return None
    return ServerProcess(pid, role, safe(shown_command(process.words), _TITLE), process.inner_pid)


def _environment(table: ProcessTable, pid: int, notes: list[str]) -> dict[str, str]:
    raw = table.read(pid, "environ")
    if raw is None:
        notes.append(f"its environment cannot be read, so its visible GPUs are not known: {_NOT_OWNER}")
        return {}
    found = procfs.variables(raw, _NAMES, _PREFIXES)
    return {
        safe(name, 80): safe(value, 300)
        for name, value in found.items()
        if not is_secret_name(name) and not any(part in name.upper() for part in _SECRET_PARTS)
    }


def _devices(environment: Mapping[str, str], notes: list[str]) -> Reading[tuple[str, ...]]:
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return Missing(
            "CUDA_VISIBLE_DEVICES cannot be read" if notes and not environment else "CUDA_VISIBLE_DEVICES is not set: all GPUs are visible"
        )
    entries = tuple(entry.strip() for entry in value.split(",") if entry.strip())
    return Known(entries[:64], None, Where("host", "CUDA_VISIBLE_DEVICES of the main process"))


def _confines(table: ProcessTable, pid: int, notes: list[str]) -> Confines:
    raw = table.read(pid, "cgroup")
    if raw is None:
        notes.append(f"its control group cannot be read, so its unit or container is not known: {_NOT_OWNER}")
        return Confines()
    return confines(procfs.control_groups(raw.decode("utf-8", "replace")))


def _own_network(table: ProcessTable, pid: int) -> Reading[bool]:
    own, ours = table.link(pid, "ns/net"), table.own_link("ns/net")
    if own is None or ours is None:
        return Missing(f"its network namespace cannot be read: {_NOT_OWNER}")
    return Known(own != ours, None, Where("host", "ns/net"))


def _looked_for(count: int, servers: tuple[FoundServer, ...]) -> tuple[str, ...]:
    said: list[str] = []
    titled = any(process.role == "scheduler" for server in servers for process in server.processes)
    launched = any(isinstance(server.main, Known) for server in servers)
    if not launched:
        said.append(f"launch commands (python -m sglang.launch_server, sglang serve): none among {count} processes")
    if not titled:
        said.append(f"process titles (sglang::scheduler, sglang::detokenizer): none among {count} processes")
    return tuple(said)


def _kept_from_us(table: ProcessTable, pids: list[int]) -> tuple[str, ...]:
    """What the kernel does not show this user."""
    if 1 not in pids:
        return (f"other users' processes: {table.root} does not show them; {_NOT_OWNER}",)
    denied = sum(table.denied(pid) for pid in pids)
    return (f"{denied} of {len(pids)} processes: their command lines may not be read; {_NOT_OWNER}",) if denied else ()


def _at_port(table: ProcessTable) -> str:
    """What the kernel says of SGLang's own port; nothing is sent there."""
    found = table.listens(DEFAULT_PORT)
    if found is None:
        return f"port {DEFAULT_PORT}, SGLang's own: {table.root}/net/tcp cannot be read"
    if found:
        return f"port {DEFAULT_PORT}, SGLang's own: a program that is not seen as SGLang listens there; to ask it, give :{DEFAULT_PORT}"
    return f"port {DEFAULT_PORT}, SGLang's own: nothing listens there"


def _routers(pids: list[int]) -> tuple[str, ...]:
    return tuple(f"a router runs here (pid {pid}), which is no engine: give the URL of an engine" for pid in pids[:8])
