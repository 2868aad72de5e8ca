"""GPUs through the ``nvidia-smi`` program, for machines where NVML cannot be loaded into this process."""

from __future__ import annotations

from typing import Final

from kvtui.domain.gpu import Gpu
from kvtui.domain.reading import Reading
from kvtui.parse.nvidia_smi import PROCESS_QUERY, QUERIES, REFUSED, gpus_of_csv
from kvtui.parse.redact import safe
from kvtui.sources.child import CannotStart, Child, NotInstalled

_OUTPUT_LIMIT: Final = 1 << 20
_TIMEOUT: Final = 5.0
"""Seconds; without persistence mode the first call loads the driver's state."""


class SmiDown(Exception):  # noqa: N818 (the reason is a sentence for the screen)
    """nvidia-smi gives nothing; the text says why."""


class NvidiaSmi:
    """Runs the program and reads what it prints."""

    def __init__(self, program: str = "nvidia-smi", timeout: float = _TIMEOUT) -> None:
        self._program = program
        self._timeout = timeout
        self._query = 0
        self._child: Child | None = None

    async def read(self, at: float) -> tuple[tuple[Gpu, ...], Reading[str]]:
        """GPUs and the driver's version; ``at``: wall-clock seconds.

        Raises SmiDown.
        """
        text = await self._run(f"--query-gpu={QUERIES[self._query]}")
        if REFUSED in text and self._query + 1 < len(QUERIES):
            self._query += 1
            text = await self._run(f"--query-gpu={QUERIES[self._query]}")
        gpus, driver = gpus_of_csv(text, "", at)
        if not gpus:
            raise SmiDown(f"{self._program}: {safe(text, 160) or 'it printed nothing'}")
        processes = await self._run(f"--query-compute-apps={PROCESS_QUERY}")
        return gpus_of_csv(text, processes, at)[0], driver

    async def _run(self, query: str) -> str:
        output = bytearray()

        def keep(chunk: bytes) -> None:
            output.extend(chunk[: _OUTPUT_LIMIT - len(output)])

        try:
            child = self._child = Child(self._program, (query, "--format=csv,nounits"), keep)
        except NotInstalled as error:
            raise SmiDown(f"{self._program} is not installed either") from error
        except CannotStart as error:
            raise SmiDown(str(error)) from error
        try:
            if not await child.finish(self._timeout):
                raise SmiDown(f"{self._program} has not answered in {self._timeout:.0f} s: the driver hangs")
        finally:
            await child.close()
            self._child = None
        return output.decode("utf-8", "replace")

    async def close(self) -> None:
        """End a run that is under way."""
        if self._child is not None:
            await self._child.close()
