"""A simulated server's HTTP side: its pages and answers go through the readers of a live server's."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Final

from kvtui.domain.answers import ServerInfo
from kvtui.domain.health import SourceHealth, SourceState
from kvtui.domain.http_reading import Failure, HttpReading
from kvtui.domain.reading import Missing
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.loads import read_loads
from kvtui.parse.server_info import read_server_info
from kvtui.scenarios import Player
from kvtui.sources.exposition_reader import PageReader
from kvtui.sources.server_memory import ServerMemory

TARGET: Final = "http://127.0.0.1:30000"
_LOADS_S: Final = 60.0
_NOTHING: Final = Failure("refused", f"Nothing listens at {TARGET}: the simulated server is starting or down.")
_NO_MODEL: Final = Missing("not asked of a simulated server")


class DemoHttp:
    """Scrapes a player. ``look`` at each moment that counts, then ``reading``."""

    def __init__(self) -> None:
        self._memory, self._pages = ServerMemory(), PageReader()
        self._loads_at: float | None = None
        self._failure: Failure | None = None
        self._since = 0.0

    def look(self, player: Player) -> None:
        """One page and what goes with it."""
        at, memory = player.epoch + player.now, self._memory
        text = player.page()
        if not text:
            if self._failure is None:
                self._failure, self._since, self._loads_at = _NOTHING, at, None
            memory.went_away(at)
            return
        if self._failure is not None:
            self._failure, self._since = None, at
        memory.page(self._pages.scrape(wanted_lines(text.encode()), at, memory.release))
        if not isinstance(memory.info, ServerInfo) and (told := player.server_info()):
            info = read_server_info(json.loads(told), at)
            memory.info = info if isinstance(info, ServerInfo) else memory.info
        if memory.loads_are_free or self._loads_at is None or at - self._loads_at >= _LOADS_S:
            self._loads_at = at
            loads = read_loads(json.loads(player.loads()), at)
            if not isinstance(loads, Missing):
                memory.loads(loads, alone=False)

    def reading(self, at: float) -> HttpReading:
        """All that it says by now; rows and events are those since the reading before."""
        memory, failure = self._memory, self._failure
        state: SourceState = "live" if failure is None else "failed"
        reason = "" if failure is None else failure.reason
        health = tuple(
            SourceHealth(name, f"{TARGET}/{path}", state, reason, self._since, at)
            for name, path in (("metrics", "metrics"), ("server_info", "server_info"), ("loads", "v1/loads"))
        )
        return HttpReading(
            now=at,
            target=TARGET,
            model=_NO_MODEL,
            health=health,
            failures=MappingProxyType({} if failure is None else {"metrics": failure, "server_info": failure, "loads": failure}),
            **memory.told(),
        )
