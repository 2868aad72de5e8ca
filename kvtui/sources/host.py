"""The machine: memory, swap, pressure, limits, NUMA nodes and the server's processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from kvtui.domain.frame import SourceHealth, SourceState
from kvtui.domain.host import CgroupMemory, HostReading, NumaNode, Pressure, ProcessUse
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse import procfs
from kvtui.parse.redact import safe
from kvtui.ports import Clock
from kvtui.sources.daemon import DaemonWorker, StillHanging

T = TypeVar("T")

_FAILURES: Final = (OSError, ValueError, IndexError)
_PROCESSES: Final = 256
_PAGE: Final = 65_536
_SELDOM_S: Final = 10.0
"""Seconds between two readings of limits and of NUMA nodes."""
NO_SWAP_COUNT: Final = Missing("vmstat counts no swapped pages")
FIRST: Final = Missing("a rate needs two readings")


class HostSource:
    """Reads the host again and again, in a thread: /proc of a process that is stuck in the kernel may block."""

    name = "host"

    def __init__(
        self,
        clock: Clock,
        pids: Iterable[int] = (),
        *,
        every: float = 2.0,
        proc_root: Path = Path("/proc"),
        sys_root: Path = Path("/sys"),
        timeout: float = 2.0,
    ) -> None:
        """``pids``: the server's processes, its main process first; see ``watch``. ``every``: seconds between two reads."""
        self.every = every
        self._clock = clock
        self._timeout = timeout
        self._worker = DaemonWorker("host")
        self._probe = _Probe(proc_root, sys_root)
        self._pids = tuple(pids)
        self._arrived: HostReading | None = None
        self._last = HostReading(SourceHealth("host", "this machine", "waiting", "not read yet", clock.now()), None)

    def watch(self, pids: Iterable[int]) -> None:
        """From the next reading on, the processes of this server: its main process first."""
        self._pids = tuple(pids)

    async def read(self) -> HostReading:
        """The host now, or as of ``HostReading.at`` where the system does not answer. Never raises."""
        now, pids = self._clock.now(), self._pids
        try:
            await self._worker.run(lambda: self._collect(now, pids), self._timeout)
        except StillHanging:
            reason = "the system does not answer; the figures are those of its last answer"
            got = self._arrived or self._last
            self._last = replace(got, health=self._health("waiting", reason, got.at), stale=True)
        else:
            got = self._arrived or self._last
            self._last = replace(got, health=self._health("live", "", now))
        return self._last

    def _collect(self, now: float, pids: tuple[int, ...]) -> None:
        self._arrived = self._probe.read(now, pids, self._last.health)

    def _health(self, state: SourceState, reason: str, at: float | None) -> SourceHealth:
        old = self._last.health
        since = old.since if old.state == state else self._clock.now()
        return SourceHealth("host", "this machine", state, reason, since, at)

    async def close(self) -> None:
        """Let the thread end."""
        self._worker.close()


class _Probe:
    """The blocking part; keeps the counters of the last reading for rates."""

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._proc = proc_root
        self._sys = sys_root
        self._swapped: tuple[float, int, int] | None = None
        self._ticks: dict[int, tuple[float, int, int]] = {}
        self._kept: dict[object, tuple[float, Any]] = {}
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._per_second = os.sysconf("SC_CLK_TCK")

    def read(self, at: float, pids: tuple[int, ...], health: SourceHealth) -> HostReading:
        memory = _known(at, "meminfo", lambda: procfs.fields(_text(self._proc / "meminfo")))
        total, available = (_field(memory, name) for name in ("MemTotal", "MemAvailable"))
        swap, unused = (_field(memory, name) for name in ("SwapTotal", "SwapFree"))
        rates = self._swap_rates(at)
        return HostReading(
            health=health,
            at=at,
            memory_total=total,
            memory_available=available,
            swap_total=swap,
            swap_used=Known(swap.value - unused.value, at, swap.where) if isinstance(swap, Known) and isinstance(unused, Known) else unused,
            swap_in=rates[0],
            swap_out=rates[1],
            pressure=self._pressure(at),
            cgroup=self._seldom(at, pids[:1], lambda: self._cgroup(at, pids[0] if pids else None)),
            nodes=self._seldom(at, "nodes", lambda: _known(at, "numa meminfo", self._nodes)),
            load=_known(at, "load average", os.getloadavg),
            cpus=_known(at, "cpu count", lambda: os.cpu_count() or 1),
            processes=self._processes(at, pids[:_PROCESSES]),
        )

    def _seldom(self, at: float, what: object, read: Callable[[], T]) -> T:
        """A part that takes several files and moves slowly: that of the last reading, until it is ten seconds old."""
        before = self._kept.get(what)
        if before is None or not 0 <= at - before[0] < _SELDOM_S:
            self._kept = {name: kept for name, kept in self._kept.items() if 0 <= at - kept[0] < _SELDOM_S}
            before = self._kept[what] = (at, read())
        found: T = before[1]
        return found

    def _swap_rates(self, at: float) -> tuple[Known[float] | Missing, Known[float] | Missing]:
        """Bytes a second into memory and out of it: vmstat counts pages."""
        try:
            text = _text(self._proc / "vmstat")
        except _FAILURES:
            text = ""
        pages = [procfs.keyed(text, name) for name in ("pswpin", "pswpout")]
        if pages[0] is None or pages[1] is None:
            self._swapped = None
            return NO_SWAP_COUNT, NO_SWAP_COUNT
        before, self._swapped = self._swapped, (at, pages[0] * self._page, pages[1] * self._page)
        if before is None or not at > before[0]:
            return FIRST, FIRST
        gone = at - before[0]
        rates = [max(0.0, (new - old) / gone) for new, old in zip(self._swapped[1:], before[1:], strict=True)]
        return (Known(rates[0], at, Where("host", "swap in")), Known(rates[1], at, Where("host", "swap out")))

    def _pressure(self, at: float) -> Known[Pressure] | Missing:
        try:
            found = procfs.pressure(_text(self._proc / "pressure" / "memory"))
        except _FAILURES:
            return Missing("this kernel reports no memory pressure (PSI is off)")
        return Missing("the pressure file has an unknown form") if found is None else Known(found, at, Where("host", "pressure/memory"))

    def _nodes(self) -> tuple[NumaNode, ...]:
        nodes: list[NumaNode] = []
        for folder in sorted((self._sys / "devices/system/node").glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
            sizes = procfs.node_memory(_text(folder / "meminfo"))
            if sizes is not None:
                nodes.append(NumaNode(int(folder.name[4:]), *sizes))
        if not nodes:
            raise ValueError("the system lists no NUMA node")
        return tuple(nodes)

    def _cgroup(self, at: float, pid: int | None) -> Known[CgroupMemory] | Missing:
        if pid is None:
            return Missing("the server's main process is not known")
        try:
            groups = procfs.control_groups(_text(self._proc / str(pid) / "cgroup"))
        except _FAILURES:
            return Missing("the control group of the server's process cannot be read")
        two = _Group(self._sys / "fs/cgroup", "memory.max", "memory.current", "inactive_file", at)
        one = _Group(self._sys / "fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", at)
        group = one if "memory" in groups else two
        path = groups.get("memory", groups.get(""))
        if path is None:
            return Missing("the server's process is in no control group for memory")
        found = group.tightest(path)
        return Missing("no memory control group is mounted here") if found is None else Known(found, at, Where("host", "cgroup memory"))

    def _processes(self, at: float, pids: tuple[int, ...]) -> tuple[ProcessUse, ...]:
        found = tuple(use for pid in pids if (use := self._process(at, pid)) is not None)
        self._ticks = {pid: ticks for pid, ticks in self._ticks.items() if pid in pids}
        return found

    def _process(self, at: float, pid: int) -> ProcessUse | None:
        folder = self._proc / str(pid)
        try:
            whole = procfs.stat(_text(folder / "stat"))
            words = procfs.arguments(_bytes(folder / "cmdline"))
        except _FAILURES:
            self._ticks.pop(pid, None)
            return None
        first = _known(at, "stat of the first thread", lambda: procfs.stat(_text(folder / "task" / str(pid) / "stat")))
        main = first.value if isinstance(first, Known) else None
        before = self._ticks.get(pid)
        if whole is not None:
            self._ticks[pid] = (at, whole.ticks, main.ticks if main is not None else 0)
        rss = _known(at, "resident memory", lambda: _resident(folder))
        return ProcessUse(
            pid=pid,
            title=safe(" ".join(words)[:4_096], 120),
            rss=rss,
            cpu=self._percent(at, before, 1, whole),
            main_thread_cpu=self._percent(at, before, 2, main),
        )

    def _percent(
        self, at: float, before: tuple[float, int, int] | None, part: int, now: procfs.ThreadTimes | None
    ) -> Known[float] | Missing:
        if now is None:
            return Missing("the process' times cannot be read")
        if before is None or not at > before[0]:
            return FIRST
        # A pid that was given to a new process has fewer ticks than before.
        spent = now.ticks - int(before[part])
        return FIRST if spent < 0 else Known(100 * spent / self._per_second / (at - before[0]), at, Where("host", "process times"))


class _Group:
    """Files of one kind of control group hierarchy."""

    def __init__(self, root: Path, limit: str, current: str, cache: str, at: float) -> None:
        self._root = root
        self._limit = limit
        self._current = current
        self._cache = cache
        self._at = at

    def tightest(self, path: str) -> CgroupMemory | None:
        """The group with the lowest limit from ``path`` upwards; without any limit the innermost one; None where there is none.

        In a container the path may be that of the host, of which only the root is mounted.
        """
        found: list[tuple[int | None, str, Path]] = []
        for name in procfs.ancestors(path):
            folder = self._root / name
            try:
                found.append((procfs.limit(_text(folder / self._limit)), name, folder))
            except _FAILURES:
                # The root of version 2 has no limit file, but inside a container it may have one.
                if (folder / self._current).exists():
                    found.append((None, name, folder))
        if not found:
            return None
        limited = [entry for entry in found if entry[0] is not None]
        limit, name, folder = min(limited, key=lambda entry: entry[0] or 0) if limited else found[0]
        return CgroupMemory(
            path=safe("/" + name, 200),
            limit=Missing("no limit is set") if limit is None else Known(limit, self._at, Where("host", self._limit)),
            current=self._figure(folder / self._current, procfs.limit),
            cache=self._figure(folder / "memory.stat", lambda text: procfs.keyed(text, self._cache)),
            out_of_memory_kills=self._figure(folder / "memory.events", lambda text: procfs.keyed(text, "oom_kill")),
        )

    def _figure(self, path: Path, convert: Callable[[str], int | None]) -> Known[int] | Missing:
        try:
            value = convert(_text(path))
        except _FAILURES:
            value = None
        return Missing(f"{path.name} does not tell") if value is None else Known(value, self._at, Where("host", path.name))


def _resident(folder: Path) -> int:
    return int(_text(folder / "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _known(at: float, what: str, read: Callable[[], T]) -> Known[T] | Missing:
    try:
        return Known(read(), at, Where("host", what))
    except _FAILURES as error:
        return Missing(f"{what}: {safe(getattr(error, 'strerror', None) or str(error), 80) or type(error).__name__}")


def _field(memory: Reading[dict[str, int]], name: str) -> Known[int] | Missing:
    """One figure of meminfo in bytes."""
    if isinstance(memory, Missing):
        return memory
    value = memory.value.get(name)
    return Missing(f"meminfo has no {name}") if value is None else Known(value, memory.at, Where("host", name))


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_PAGE)


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")
