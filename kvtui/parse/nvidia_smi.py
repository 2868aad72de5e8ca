"""What ``nvidia-smi --query-gpu=... --format=csv,nounits`` prints: the second choice where NVML cannot be loaded."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import Final, TypeVar

from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, MemoryErrors, PcieLink, clock_reasons
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.units import MIB
from kvtui.parse.redact import safe

T = TypeVar("T")

_CORE: Final = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "driver_version",
    "memory.total",
    "memory.used",
    "memory.free",
    "utilization.gpu",
    "utilization.memory",
    "temperature.gpu",
    "power.draw",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
)
_NEWER: Final = (
    "memory.reserved",
    "enforced.power.limit",
    "clocks_event_reasons.active",
    "mig.mode.current",
    "ecc.mode.current",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
)
QUERIES: Final = (",".join(_CORE + _NEWER), ",".join(_CORE))
"""Fields to ask for, richest first: nvidia-smi refuses a whole query for one field it does not know."""
PROCESS_QUERY: Final = "gpu_uuid,pid,used_memory"
REFUSED: Final = "is not a valid field"
"""Said by nvidia-smi about a field that it does not know."""
_ROWS: Final = 256
_TEXT: Final = 1 << 20


def gpus_of_csv(text: str, processes: str, at: float) -> tuple[tuple[Gpu, ...], Reading[str]]:
    """GPUs, and the driver's version.

    ``text``: with the header line; ``processes``: of ``PROCESS_QUERY``, empty where it failed; ``at``: wall-clock seconds.
    Never raises; a row that cannot be read is left out.
    """
    held = _processes(processes, at)
    rows = [_Row(row, at) for row in _rows(text)]
    gpus = tuple(_gpu(row, held) for row in rows if isinstance(row.number("index"), Known))
    driver: Reading[str] = rows[0].text("driver_version") if rows else Missing("nvidia-smi listed no GPU")
    return gpus, driver


def _rows(text: str) -> list[dict[str, str]]:
    lines = [line for line in text[:_TEXT].splitlines() if "," in line][: _ROWS + 1]
    try:
        table = list(csv.reader(lines, skipinitialspace=True))
    except csv.Error:
        return []
    if not table:
        return []
    names = [re.sub(r"\s*\[.*\]$", "", name).strip() for name in table[0]]
    return [dict(zip(names, row, strict=True)) for row in table[1:] if len(row) == len(names)]


class _Row:
    """One line, by field."""

    def __init__(self, row: dict[str, str], at: float) -> None:
        self._row = row
        self._at = at

    def read(self, name: str, convert: Callable[[str], T]) -> Known[T] | Missing:
        word = self._row.get(name, "").strip()
        if name not in self._row:
            return Missing("this nvidia-smi does not report it")
        if not word or word.startswith("[") or word == "N/A":
            return Missing(f"nvidia-smi: {safe(word.strip('[]'), 40) or 'nothing'}")
        try:
            return Known(convert(word), self._at, Where("nvml", f"nvidia-smi {name}"))
        except (ValueError, OverflowError):
            return Missing("nvidia-smi printed something unexpected")

    def text(self, name: str) -> Known[str] | Missing:
        return self.read(name, lambda word: safe(word, 80))

    def number(self, name: str) -> Known[int] | Missing:
        return self.read(name, _whole)

    def real(self, name: str) -> Known[float] | Missing:
        return self.read(name, _real)

    def size(self, name: str) -> Known[int] | Missing:
        """MiB as bytes."""
        return self.read(name, lambda word: _whole(word) * MIB)

    def switch(self, name: str) -> Known[bool] | Missing:
        return self.read(name, lambda word: word == "Enabled")


def _whole(word: str) -> int:
    if len(word) > 19:
        raise ValueError(word[:19])
    return int(word)


def _real(word: str) -> float:
    value = float(word)
    if not 0 <= value < 1e9:
        raise ValueError(word[:19])
    return value


def _gpu(row: _Row, held: dict[str, list[GpuProcess]] | None) -> Gpu:
    index, uuid = row.number("index"), row.text("uuid")
    memory = _memory(row)
    return Gpu(
        index=index.value if isinstance(index, Known) else 0,
        name=row.text("name"),
        uuid=uuid,
        bus_id=row.text("pci.bus_id"),
        memory=memory,
        unified=isinstance(memory, Missing) and isinstance(row.text("name"), Known),
        processes=_held(uuid, held),
        utilisation=row.number("utilization.gpu"),
        memory_busy=row.number("utilization.memory"),
        power=row.real("power.draw"),
        power_limit=row.real("enforced.power.limit"),
        temperature=row.number("temperature.gpu"),
        clocks=Clocks(
            row.number("clocks.sm"),
            row.number("clocks.max.sm"),
            row.number("clocks.mem"),
            row.number("clocks.max.mem"),
            row.read("clocks_event_reasons.active", lambda word: clock_reasons(int(word[:18], 16))),
        ),
        pcie=PcieLink(
            row.number("pcie.link.gen.current"),
            row.number("pcie.link.width.current"),
            row.number("pcie.link.gen.max"),
            row.number("pcie.link.width.max"),
        ),
        errors=MemoryErrors(
            row.switch("ecc.mode.current"),
            row.number("ecc.errors.corrected.volatile.total"),
            row.number("ecc.errors.uncorrected.volatile.total"),
        ),
        mig=row.switch("mig.mode.current"),
    )


def _memory(row: _Row) -> Reading[GpuMemory]:
    total, used, free = row.size("memory.total"), row.size("memory.used"), row.size("memory.free")
    if isinstance(total, Missing):
        return total
    if isinstance(used, Missing):
        return used
    if isinstance(free, Missing):
        return free
    return Known(GpuMemory(total.value, used.value, free.value, row.size("memory.reserved")), total.at, total.where)


def _processes(text: str, at: float) -> dict[str, list[GpuProcess]] | None:
    """By UUID; None where the list could not be had."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("gpu_uuid"):
        return None
    held: dict[str, list[GpuProcess]] = {}
    for row in (_Row(row, at) for row in _rows(text)):
        uuid, pid = row.text("gpu_uuid"), row.number("pid")
        if isinstance(uuid, Known) and isinstance(pid, Known):
            held.setdefault(uuid.value, []).append(GpuProcess(pid.value, row.size("used_gpu_memory")))
    return held


def _held(uuid: Reading[str], held: dict[str, list[GpuProcess]] | None) -> Known[tuple[GpuProcess, ...]] | Missing:
    if held is None or isinstance(uuid, Missing):
        return Missing("nvidia-smi listed no processes")
    return Known(tuple(held.get(uuid.value, ())), None, Where("nvml", "nvidia-smi --query-compute-apps"))
