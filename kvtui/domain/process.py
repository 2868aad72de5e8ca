"""SGLang servers found on this machine by their processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from kvtui.domain.boot import Scalar
from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Known, Missing, Reading, Where

Role = Literal["main", "scheduler", "detokenizer", "dp controller", "tokenizer", "router", "helper"]
LogKind = Literal["file", "journal", "docker", "podman", "kubernetes", "terminal", "none", "unknown"]

NOT_FOUND: Final = Missing("the processes do not tell")
"""Until more is known."""
DEFAULT_PORT: Final = 30000
"""SGLang's ``--port`` where none is given, in all versions."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """One process of a server."""

    pid: int
    role: Role
    title: str
    """Process title or command, secrets removed, control characters shown."""
    inner_pid: int | None = None
    """Its pid inside its container; None where it is the same."""


@dataclass(frozen=True, slots=True)
class LogTarget:
    """Where a server's output goes, and so where its log can be read."""

    kind: LogKind
    name: str = ""
    """Path, unit, container id or pod; empty where there is nothing to open."""
    user: bool = False
    """Journal: a unit of the user's own manager."""
    namespace: str = ""
    """Kubernetes namespace, where known."""
    container: str = ""
    """Kubernetes: container of the pod, where one must be named."""
    note: str = ""
    """One sentence where the log cannot be opened, or only in a certain way: what to do."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """One server and what its processes tell without asking it."""

    main: Reading[int]
    """Pid of the process that was launched; Missing where it is gone and only its workers are left."""
    processes: tuple[ServerProcess, ...]
    """All of it, main first, then by pid."""
    command: Reading[str]
    """The command line as asked for, secrets removed."""
    settings: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))
    """Its flags under their ServerArgs names; secrets replaced."""
    model: Reading[str] = NOT_FOUND
    host: Reading[str] = NOT_FOUND
    port: Reading[int] = NOT_FOUND
    log: LogTarget = LogTarget("unknown")
    unit: Reading[str] = NOT_FOUND
    container: Reading[str] = NOT_FOUND
    """Container id."""
    visible_devices: Reading[tuple[str, ...]] = NOT_FOUND
    """Entries of CUDA_VISIBLE_DEVICES: indices or UUIDs."""
    own_network: Reading[bool] = NOT_FOUND
    """True: it lives in a network namespace of its own, so its port may not be reachable at 127.0.0.1."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables that steer SGLang, NCCL and CUDA; names that may hold secrets are left out."""
    notes: tuple[str, ...] = ()
    """What could not be read and why; sentences."""

    @property
    def pids(self) -> frozenset[int]:
        """Pids of all its processes, as the machine numbers them."""
        return frozenset(process.pid for process in self.processes)

    @property
    def shown(self) -> str:
        """The server as a person calls it."""
        return self.url or "the server on this machine"

    @property
    def url(self) -> str | None:
        """Where to ask it from this machine; None where the port is not known."""
        if isinstance(self.port, Missing):
            return None
        host = self.host.value if isinstance(self.host, Known) else "127.0.0.1"
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1", "localhost": "127.0.0.1"}.get(host, host)  # noqa: S104 (what a server binds)
        return f"http://[{host}]:{self.port.value}" if ":" in host else f"http://{host}:{self.port.value}"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found on this machine, and what was looked for in vain."""

    servers: tuple[FoundServer, ...]
    looked_for: tuple[str, ...]
    """Sentences for the screen that shows that nothing, or not all, was found."""


def gpus_of(server: FoundServer, gpus: Iterable[Gpu]) -> Known[tuple[int, ...]] | Missing:
    """Indices of the GPUs that a server uses: by the pids the driver lists, else by CUDA_VISIBLE_DEVICES.

    ``gpus``: as the driver numbers them. Missing where neither tells.
    """
    known = tuple(gpus)
    pids = server.pids
    held = tuple(
        gpu.index for gpu in known if isinstance(gpu.processes, Known) and any(process.pid in pids for process in gpu.processes.value)
    )
    if held:
        return Known(held, where=Where("nvml", "processes of the GPU"))
    if isinstance(server.visible_devices, Missing):
        return Missing("the driver lists none of the server's processes, and CUDA_VISIBLE_DEVICES is not known")
    by_uuid = {gpu.uuid.value: gpu.index for gpu in known if isinstance(gpu.uuid, Known)}
    indices = {gpu.index for gpu in known}
    chosen: list[int] = []
    for entry in server.visible_devices.value:
        matches = [index for uuid, index in by_uuid.items() if entry.startswith("GPU-") and uuid.startswith(entry)]
        index = int(entry) if entry.isdecimal() and len(entry) < 5 else (matches[0] if len(matches) == 1 else None)
        # CUDA stops at the first entry it does not know
        if index is None or index not in indices:
            break
        chosen.append(index)
    if not chosen:
        return Missing("CUDA_VISIBLE_DEVICES names no GPU that the driver lists")
    return Known(tuple(chosen), where=Where("host", "CUDA_VISIBLE_DEVICES of the main process"))
