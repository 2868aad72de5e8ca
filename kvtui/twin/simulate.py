"""One run from start to end, as a stream of states."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvtui.twin.demand import Demand
from kvtui.twin.scheduler import Twin
from kvtui.twin.setup import Server, StepTimes
from kvtui.twin.state import StepState


def advance(twin: Twin, until: float) -> Iterator[StepState]:
    """The states up to ``until`` seconds of the twin's own time, for a caller that keeps pace with a clock.

    The last decode step may end a little later. Ends early where the demand is served.
    """
    while twin.now < until:
        state = twin.step(until)
        if state is None:
            return
        yield state


def simulate(
    server: Server, demand: Demand, times: StepTimes, *, seed: int = 0, until: float | None = None, jump: bool = True
) -> Iterator[StepState]:
    """The states of one run, to ``until`` seconds or to the end of the demand. A demand without end needs ``until``.

    Raises ValueError where neither ends the run.
    """
    endless = demand.shape is not None and demand.count is None
    if until is None and endless:
        raise ValueError("a demand without end needs a time to stop at")
    stop = math.inf if until is None else until
    yield from advance(Twin(server, demand, times, seed=seed, jump=jump), stop)
