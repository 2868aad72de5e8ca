"""The GPUs of this machine: through NVML, else through nvidia-smi, else a sentence that says why not."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtui.domain.frame import SourceHealth, SourceState
from kvtui.domain.gpu import GpuReading
from kvtui.ports import Clock
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.nvml import Nvml, NvmlDown, Pass

if TYPE_CHECKING:
    from kvtui.sources.nvidia_smi import NvidiaSmi

_BACK_OFF: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_SMI_EVERY: Final = 5.0
"""Seconds between two runs of nvidia-smi: each is two processes."""


class GpuSource:
    """Reads all GPUs again and again; a driver that hangs makes its figures old, nothing else."""

    name = "nvml"

    def __init__(
        self,
        clock: Clock,
        *,
        every: float = 2.0,
        timeout: float = 2.0,
        smi: NvidiaSmi | None = None,
        pci_devices: Path = Path("/sys/bus/pci/devices"),
    ) -> None:
        """``every``: seconds between two reads; ``timeout``: seconds that ``read`` waits for the driver."""
        self.every = every
        self._clock = clock
        self._timeout = timeout
        self._smi = smi
        self._nvml = Nvml(pci_devices)
        self._worker = DaemonWorker("nvml")
        self._arrived: Pass | None = None
        self._last = GpuReading((), SourceHealth("nvml", "this machine", "waiting", "not read yet", clock.now()), None)
        self._failures = 0
        self._nvml_again_at = 0.0
        self._smi_again_at = 0.0
        self._nvml_reason = ""

    async def read(self) -> GpuReading:
        """The GPUs now, or as of ``GpuReading.at`` where the driver hangs. Never raises."""
        now = self._clock.now()
        # A clock that was set back must not postpone the next try.
        if now >= self._nvml_again_at or self._nvml_again_at - now > _BACK_OFF[-1]:
            try:
                await self._worker.run(lambda: self._collect(now), self._timeout)
            except StillHanging:
                return self._hanging()
            except NvmlDown as error:
                self._down(str(error), now)
            else:
                return self._live()
        return await self._second_choice(now)

    def _collect(self, now: float) -> None:
        # Kept here, not returned: an answer that comes too late for its caller is still the newest there is.
        self._arrived = self._nvml.read(now)

    def _live(self) -> GpuReading:
        self._failures = 0
        got = self._arrived
        if got is None:
            return self._last
        reason = "" if got.gpus else "the driver lists no GPU on this machine"
        state: SourceState = "live" if got.gpus else "failed"
        self._last = GpuReading(got.gpus, self._health(state, reason, got.at), got.at, got.driver, notes=got.notes)
        return self._last

    def _hanging(self) -> GpuReading:
        reason = "the NVIDIA driver does not answer; the figures are those of its last answer"
        got = self._arrived
        if got is not None and (self._last.at is None or got.at > self._last.at):
            self._last = GpuReading(got.gpus, self._last.health, got.at, got.driver, notes=got.notes)
        last = self._last
        self._last = GpuReading(last.gpus, self._health("waiting", reason, last.at), last.at, last.driver, stale=True, notes=last.notes)
        return self._last

    def _down(self, reason: str, now: float) -> None:
        self._nvml_reason = reason
        self._nvml_again_at = now + _BACK_OFF[min(self._failures, len(_BACK_OFF) - 1)]
        self._failures += 1

    async def _second_choice(self, now: float) -> GpuReading:
        if now < self._smi_again_at <= now + _BACK_OFF[-1]:
            return self._last
        # Where NVML answers, the library that runs programs is never needed.
        from kvtui.sources.nvidia_smi import NvidiaSmi, SmiDown

        self._smi = self._smi or NvidiaSmi()
        try:
            gpus, driver = await self._smi.read(now)
        except SmiDown as error:
            self._smi_again_at = now + _BACK_OFF[-1]
            reason = f"no GPU seen here: {self._nvml_reason}; {error}"
            last = self._last
            # What was seen before is kept, marked as old: the driver may only be reloading.
            self._last = GpuReading(last.gpus, self._health("failed", reason, last.at), last.at, last.driver, stale=bool(last.gpus))
        else:
            self._smi_again_at = now + _SMI_EVERY
            health = self._health("live", f"through nvidia-smi, every 5 s: {self._nvml_reason}", now)
            self._last = GpuReading(gpus, health, now, driver)
        return self._last

    def _health(self, state: SourceState, reason: str, at: float | None) -> SourceHealth:
        old = self._last.health
        since = old.since if old.state == state else self._clock.now()
        return SourceHealth("nvml", "this machine", state, reason, since, at)

    async def close(self) -> None:
        """Let go of the driver and of a running nvidia-smi; a hung call is left to die with the process."""
        if self._smi is not None:
            await self._smi.close()
        with contextlib.suppress(StillHanging):
            await self._worker.run(self._nvml.close, 0.2)
        self._worker.close()
