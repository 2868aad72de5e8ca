"""The server's processes, looked for again and again: a restart gives it other pids."""

from __future__ import annotations

from collections.abc import Callable

from kvtui.domain.process import FoundServer
from kvtui.domain.reading import Known
from kvtui.sources.daemon import DaemonWorker
from kvtui.sources.discovery import Places, find

EVERY_S = 30.0
"""Reading every command line of a machine takes tens of milliseconds in a thread."""


class FoundSource:
    """Finds the server that listens at the same port. ``read`` never raises."""

    name = "processes"

    def __init__(
        self, first: FoundServer, changed: Callable[[FoundServer], None], *, every: float = EVERY_S, places: Places | None = None
    ) -> None:
        """``changed`` is called where its processes are others than before."""
        self.every = every
        self._found, self._changed = first, changed
        self._places = places or Places()
        self._worker = DaemonWorker("kvtui-processes")

    async def read(self) -> FoundServer:
        """The server as it is now; as it was where nothing listens at its port any more."""
        port = self._found.port
        if isinstance(port, Known):
            seen = await find(self._worker, places=self._places)
            now = next((s for s in seen.servers if isinstance(s.port, Known) and s.port.value == port.value), None)
            if now is not None and now != self._found:
                moved = now.pids != self._found.pids
                self._found = now
                if moved:
                    self._changed(now)
        return self._found

    async def close(self) -> None:
        """Let the thread end."""
        self._worker.close()
