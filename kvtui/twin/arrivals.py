"""When requests reach the scheduler."""

from __future__ import annotations

import heapq
import math
from random import Random
from typing import Final

from kvtui.twin.demand import Demand, TwinRequest

_LEAST_RETRY_S: Final = 1e-3
"""A client whose request was refused comes back no sooner: an endless loop at one instant helps nobody."""


class Arrivals:
    """The requests still to come, in order of arrival."""

    def __init__(self, demand: Demand, rng: Random) -> None:
        self._demand = demand
        self._stream = demand.stream(rng)
        self._due: list[tuple[float, int, TwinRequest]] = []
        self._sent = 0
        if demand.clients:
            for client in range(demand.clients):
                if not self._send(client * demand.ramp_s):
                    break
        else:
            self._send(0.0)

    @property
    def next_at(self) -> float:
        """Seconds of the next arrival; infinite where none is due."""
        return self._due[0][0] if self._due else math.inf

    def take(self, now: float) -> list[tuple[float, TwinRequest]]:
        """The requests that have arrived, oldest first."""
        taken = []
        while self._due and self._due[0][0] <= now:
            at, _, request = heapq.heappop(self._due)
            taken.append((at, request))
            if not self._demand.clients:
                self._send(at)
        return taken

    def answered(self, now: float, *, refused: bool = False) -> None:
        """A client has its answer: in a closed loop it sends its next request."""
        if self._demand.clients:
            self._send(now + max(self._demand.think_s, _LEAST_RETRY_S if refused else 0.0))

    def _send(self, earliest: float) -> bool:
        request = next(self._stream, None)
        if request is None:
            return False
        heapq.heappush(self._due, (max(earliest, request.arrival_s), self._sent, request))
        self._sent += 1
        return True
