"""The server stopped working: a watchdog, a kill, or silence while requests were running."""

from __future__ import annotations

import itertools
import math
from typing import Final

from kvtui.diagnose.context import Context, read, witness
from kvtui.diagnose.failures import runtime_oom
from kvtui.diagnose.registry import rule
from kvtui.domain.answers import Loads
from kvtui.domain.events import Event
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.motion import FRESH_S, IDLE_REFRESH_S
from kvtui.domain.reading import Known
from kvtui.domain.samples import DECODE
from kvtui.domain.scrape import Scrape

_SILENT_S: Final = 10.0
_TIMES_USUAL: Final = 5.0
_STEADY: Final = 0.8
_LOOK_BACK: Final = 10
_GONE: Final = frozenset(("refused", "unreachable", "timeout", "broken", "server-error"))


@rule("server-stuck")
def server_stuck(context: Context) -> Finding | None:
    """An event that says so after the start, or no batch line for 10 s although a steady batch was running."""
    if not context.came_up or runtime_oom(context) is not None:
        return None
    event, told = _stop(context), _over_http(context)
    quiet = None if told is not None or _seen_alive(context) else _silence(context)
    if event is None and quiet is None and told is None:
        return None
    proofs = [*((witness(event),) if event is not None else ()), *((told,) if told is not None else ())]
    if quiet is not None:
        proofs.append(_silence_proof(context, *quiet))
    sign = told or (proofs[-1] if quiet is not None else None)
    text = sign.text if sign is not None else "the log says it stopped"
    return Finding(
        id="server-stuck",
        title="The server stopped working",
        sentence=f"The scheduler does not move: {text[0].lower()}{text[1:].rstrip('.')}.",
        axis="concurrency",
        confidence="high" if event is not None or _proven(context) else "medium",
        since=event.at if event is not None else sign.at if sign is not None and sign.at is not None else read(context.workload.last_at),
        evidence=tuple(proofs),
        ruled_out=_ruled(context, quiet is not None),
        advice=(
            "See whether the scheduler processes are alive and what they wait for: ps -ef | grep sglang::scheduler; py-spy dump --pid PID.",
            "Look at dmesg for a kill by the kernel and for Xid errors of the GPU.",
        ),
        verify=("running, queued and throughput move again at the same demand",),
        needs=() if event is not None else ("the state of the scheduler process: stopped, dead or waiting; what is read cannot tell",),
    )


def _ruled(context: Context, quiet: bool) -> tuple[Ruled, ...]:
    found = []
    if quiet:
        found.append(Ruled("healthy", "the last batch was as large as those before it: it did not drain"))
    http = context.frame.http
    if http is not None and http.motion.state == "stuck":
        found.append(Ruled("measurement", "an idle server refreshes its gauges within 30 s; these claim requests and stand still"))
    return tuple(found)


def _silence_proof(context: Context, seconds: float, running: float) -> Evidence:
    if context.sampled:
        return Evidence(
            f"no gauge has moved for {seconds:.0f} s although {running:.0f} requests were running", "metric: successive pages",
            read(context.workload.last_at),
        )  # fmt: skip
    return Evidence(
        f"no batch line for {seconds:.0f} s although {running:.0f} requests were running", "log: last batch line against last line",
        read(context.workload.last_at),
    )  # fmt: skip


def _over_http(context: Context) -> Evidence | None:
    """What HTTP tells of a scheduler that hangs, or of a server that is gone."""
    http = context.frame.http
    if http is None or _drained(http):
        return None
    if http.motion.state == "stuck" and _proven(context):
        return Evidence(http.motion.reason, "metric: successive pages", context.stamp(http.motion.gauges_at))
    age, place = http.age(http.scrape), f"http: {http.target}"
    if not isinstance(http.scrape, Scrape) or age is None or age < _SILENT_S:
        return None
    failure = http.failures.get("metrics")
    if failure is not None and all(other.kind in _GONE for other in http.failures.values()):
        return Evidence(
            f"it answered until {age:.0f} s ago and no longer does ({failure.reason.rstrip('.')})", place, context.stamp(http.scrape.at)
        )
    if http.scheduler_stuck and _was_running(context):
        return Evidence(
            "/server_info, which asks the scheduler, gets no answer while the HTTP side does", place, context.stamp(http.scrape.at)
        )
    return None


def _proven(context: Context) -> bool:
    """True where nothing moves and it cannot be an idle server: those show their last batch for up to 30 s after it."""
    http = context.frame.http
    if http is None or http.motion.state != "stuck" or not isinstance(http.scrape, Scrape):
        return False
    moved = max((at for at in (http.motion.gauges_at, http.motion.counters_at) if at is not None), default=None)
    long = moved is not None and http.scrape.at - moved >= IDLE_REFRESH_S
    return long or (read(http.scrape.sum("queued").reading) or 0.0) > 0


def _drained(http: HttpReading) -> bool:
    """True where the newer of page and ``/v1/loads`` says that nothing runs or waits."""
    if not isinstance(http.loads, Loads) or not http.loads.rows or http.motion.gauges_at is None or http.loads.at <= http.motion.gauges_at:
        return False
    left = [reading.value if isinstance(reading, Known) else 1.0 for row in http.loads.rows for reading in (row.running, row.waiting)]
    return sum(left) <= 0


def _was_running(context: Context) -> bool:
    return context.rank is not None and (read(context.rank.running) or 0.0) > 0


def _seen_alive(context: Context) -> bool:
    """True where pages show that it works or has nothing to do, so that a silent log proves nothing."""
    http = context.frame.http
    if http is None:
        return False
    if http.motion.state in {"idle", "gauges-frozen", "loads-frozen"} or _drained(http):
        return True
    moved = [at for at in (http.motion.gauges_at, http.motion.counters_at, http.motion.loads_at) if at is not None]
    return bool(moved) and http.now - max(moved) < FRESH_S


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
