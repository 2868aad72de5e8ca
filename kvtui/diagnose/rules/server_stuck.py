"""The server stopped working: a watchdog, a kill, or silence while requests were running."""

from __future__ import annotations

import itertools
import math
from typing import Final

from kvtui.diagnose.context import Context, read, witness
from kvtui.diagnose.failures import runtime_oom
from kvtui.diagnose.registry import rule
from kvtui.domain.events import Event
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.samples import DECODE

_SILENT_S: Final = 10.0
_TIMES_USUAL: Final = 5.0
_STEADY: Final = 0.8
_LOOK_BACK: Final = 10


@rule("server-stuck")
def server_stuck(context: Context) -> Finding | None:
    """An event that says so after the start, or no batch line for 10 s although a steady batch was running."""
    if not context.came_up or runtime_oom(context) is not None:
        return None
    event = _stop(context)
    quiet = _silence(context)
    if event is None and quiet is None:
        return None
    seconds, running = quiet if quiet is not None else (0.0, 0.0)
    told = (
        f"no batch line for {seconds:.0f} s although {running:.0f} requests were running"
        if quiet is not None
        else "the log says it stopped"
    )
    return Finding(
        id="server-stuck",
        title="The server stopped working",
        sentence=f"The scheduler does not move: {told}.",
        axis="concurrency",
        confidence="high" if event is not None else "medium",
        since=event.at if event is not None else read(context.workload.last_at),
        evidence=(
            *((witness(event),) if event is not None else ()),
            *((Evidence(told, "log: last batch line against last line"),) if quiet is not None else ()),
        ),
        ruled_out=(Ruled("healthy", "the last batch was as large as those before it: it did not drain"),) if quiet is not None else (),
        advice=(
            "See whether the scheduler processes are alive and what they wait for: ps -ef | grep sglang::scheduler; py-spy dump --pid PID.",
            "Look at dmesg for a kill by the kernel and for Xid errors of the GPU.",
        ),
        needs=() if event is not None else ("the state of the scheduler process: stopped, dead or waiting; the log cannot tell",),
    )


def _stop(context: Context) -> Event | None:
    """The first sign of an end that is not a wished one: after it no batch line followed."""
    last = context.rank.last_line if context.rank is not None else None
    for event in context.events("watchdog", "killed", "exception", "nccl", "health-failed", "leak"):
        if last is None or event.line > last or event.kind == "watchdog":
            return event
    return None


def _silence(context: Context) -> tuple[float, float] | None:
    """Seconds without a batch line and the requests that ran then, where that is unlike the time before."""
    silent, line = context.silent_s, context.frame.timeline
    if silent is None or silent < _SILENT_S or any(context.events("exit")):
        return None
    rows = list(line.where(DECODE))[-_LOOK_BACK:]
    recent = [value for i in rows if not math.isnan(value := line.value("running", i))]
    times = [time for time in line.column("at") if not math.isnan(time)]
    if len(recent) < 3 or recent[-1] < 2 or recent[-1] < _STEADY * sum(recent) / len(recent):
        return None
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    # The first gap is the wait for the first client; it says nothing of the pace under load.
    usual = max(gaps[len(gaps) // 2 :], default=0.0)
    return (silent, recent[-1]) if silent >= _TIMES_USUAL * usual else None
