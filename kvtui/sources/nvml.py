"""The NVIDIA driver's own library, through nvidia-ml-py; blocking, for a worker's thread only."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pynvml

from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.sources.nvml_calls import DOWN, FAILURES, LOST, Asker, count, label, words
from kvtui.sources.nvml_device import Device, lost_gpu

_REOPEN_EVERY: Final = 10.0
"""Seconds between two tries to get fresh handles while a GPU is lost or gone."""
_MOST_GPUS: Final = 64


class NvmlDown(Exception):  # noqa: N818 (the reason is a sentence for the screen)
    """The driver cannot be asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one round of questions gave."""

    at: float
    gpus: tuple[Gpu, ...]
    driver: Reading[str]
    notes: tuple[str, ...]


class Nvml:
    """An open session with the driver.

    Handles go bad when a GPU is lost or the driver is reloaded: they are then taken anew.
    """

    def __init__(self, pci_devices: Path = Path("/sys/bus/pci/devices")) -> None:
        self._pci_devices = pci_devices
        self._devices: list[Device | Missing] = []
        self._driver: Reading[str] = Missing("not asked yet")
        self._open = False
        self._opened_at = 0.0
        self._seen: dict[str, Gpu] = {}
        self._turn = 0

    def read(self, at: float) -> Pass:
        """All GPUs at wall-clock time ``at``.

        Raises NvmlDown.
        """
        if not self._open:
            self._begin(at)
        gpus: list[Gpu] = []
        codes: set[int] = set()
        measured = self._turn % max(1, len(self._devices))
        self._turn += 1
        for index, device in enumerate(self._devices):
            if isinstance(device, Missing):
                gpus.append(lost_gpu(index, device, device, device, device))
                continue
            gpu, failed = device.read(at, traffic=index == measured)
            gpus.append(gpu)
            codes |= failed
        if codes & DOWN:
            self.close()
            raise NvmlDown(words(pynvml.NVMLError(min(codes & DOWN))))
        notes = self._notes(gpus)
        if (codes & LOST or notes) and at - self._opened_at >= _REOPEN_EVERY:
            self.close()
        return Pass(at, tuple(gpus), self._driver, notes)

    def _begin(self, at: float) -> None:
        try:
            pynvml.nvmlInit()
        except FAILURES as error:
            raise NvmlDown(words(error)) from error
        self._open = True
        self._opened_at = at
        asker = Asker(at)
        self._driver = asker.ask(label, "nvmlSystemGetDriverVersion")
        number = asker.ask(count, "nvmlDeviceGetCount")
        if isinstance(number, Missing):
            self.close()
            raise NvmlDown(number.reason)
        self._devices = [self._device(index) for index in range(min(number.value, _MOST_GPUS))]

    def _device(self, index: int) -> Device | Missing:
        try:
            return Device(index, pynvml.nvmlDeviceGetHandleByIndex(index), self._pci_devices)
        except FAILURES as error:
            return Missing(words(error))

    def _notes(self, gpus: list[Gpu]) -> tuple[str, ...]:
        """Sentences on GPUs that are lost, or that were listed before and are no more."""
        notes = [f"{gpu.label}: {gpu.memory.reason}" for gpu in gpus if gpu.lost and isinstance(gpu.memory, Missing)]
        listed = {gpu.bus_id.value: gpu for gpu in gpus if isinstance(gpu.bus_id, Known)}
        unnamed = any(isinstance(gpu.bus_id, Missing) for gpu in gpus)
        self._seen.update(listed)
        gone = [] if unnamed else [gpu for bus, gpu in self._seen.items() if bus not in listed]
        notes += [f"the GPU at {bus} is no longer listed by the driver; see dmesg" for bus in (_bus(gpu) for gpu in gone)]
        return tuple(notes)

    def close(self) -> None:
        """Give the driver back its handles."""
        if self._open:
            self._open = False
            self._devices = []
            with contextlib.suppress(*FAILURES):
                pynvml.nvmlShutdown()


def _bus(gpu: Gpu) -> str:
    return gpu.bus_id.value if isinstance(gpu.bus_id, Known) else "an unknown address"
