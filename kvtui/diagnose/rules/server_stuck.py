"""The server stopped working: a watchdog, a kill, or silence while requests were running."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, read, witness
from kvtui.diagnose.failures import runtime_oom
from kvtui.diagnose.registry import rule
from kvtui.diagnose.stalls import silence_of, stall_of
from kvtui.domain.answers import Loads
from kvtui.domain.events import Event
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.motion import FRESH_S, IDLE_REFRESH_S
from kvtui.domain.picture import Picture
from kvtui.domain.reading import Known, Where
from kvtui.domain.scrape import Scrape
from kvtui.domain.units import duration

_SILENT_S: Final = 10.0
_GONE_S: Final = 3.0
"""Seconds after its last answer from which on a server at whose port nothing listens is gone: a restart takes longer."""
_TOLD: Final = 100
"""Characters of a log line that a sentence quotes; the evidence has it whole."""
_OUTLIVED_S: Final = 60.0
_SAME_S: Final = 2.0
"""Stamps of a log are whole seconds, and a page may show the last work before an end."""
_LONG_S: Final = 300.0
"""Seconds of silence from which on it is as likely that nobody asks any more: the log goes on, so something else lives."""
_NOTABLE: Final = 0.1
"""Share of the window from which on a stall that has ended is more than a hiccup."""
_GONE: Final = frozenset(("refused", "unreachable", "timeout", "broken", "server-error"))


@rule("server-stuck")
def server_stuck(context: Context) -> Finding | None:
    """An event that says so after the start, or no batch line for 10 s although a steady batch was running."""
    if not context.came_up or runtime_oom(context) is not None:
        return None
    event, told = _stop(context), _over_http(context)
    quiet = None if told is not None or _seen_alive(context) else silence_of(context)
    if event is None and quiet is None and told is None:
        return _recovered(context)
    proofs = [*((witness(event),) if event is not None else ()), *((told,) if told is not None else ())]
    if quiet is not None:
        proofs.append(_silence_proof(context, *quiet))
    sign = told or (proofs[-1] if quiet is not None else None)
    text = (sign.text if sign is not None else _told_by(event)).rstrip(".")
    if event is None and told is None:
        text = f"{text}; or its clients were cut off at full load and nothing has come since, which looks the same"
    gone = _gone(context)
    what = "The server is gone" if gone and event is None else "The scheduler does not move"
    return Finding(
        id="server-stuck",
        title="The server stopped working",
        sentence=f"{what}: {_after(text)}.",
        axis="concurrency",
        confidence="high" if event is not None or _proven(context) else "low" if quiet is not None and quiet[0] >= _LONG_S else "medium",
        since=event.at if event is not None else sign.at if sign is not None and sign.at is not None else read(context.workload.last_at),
        evidence=tuple(proofs),
        ruled_out=_ruled(context, quiet is not None),
        advice=(
            *(("Nothing listens on its port any more: look at the end of its log and at what starts it.",) if gone else ()),
            "See whether the scheduler processes are alive and what they wait for: ps -ef | grep sglang::scheduler; py-spy dump --pid PID.",
            "Look at dmesg for a kill by the kernel and for Xid errors of the GPU.",
        ),
        verify=("running, queued and throughput move again at the same demand",),
        needs=()
        if event is not None
        else (
            "the state of the scheduler process: stopped, dead or waiting; what is read cannot tell",
            *(("one small request by hand: an idle server answers it at once, a stuck one does not",) if told is None else ()),
        ),
        pictures=(Picture("load", "From some moment on nothing more is told, or not one request comes or goes, though there are some."),),
    )


def _after(text: str) -> str:
    """A proof behind a colon, after which the scheduler need not be named again."""
    told = text.removeprefix("The scheduler ")
    return f"it {told}" if told != text else f"{text[:1].lower()}{text[1:]}"


def _told_by(event: Event | None) -> str:
    """The beginning of the line that says so."""
    told = event.text.split("\n", 1)[0] if event is not None else ""
    return f"the log says: {told if len(told) <= _TOLD else told[:_TOLD].rstrip() + '…'}" if told else "the log says it stopped"


def _recovered(context: Context) -> Finding | None:
    """It stood still and went on: nothing that limits a server explains that. Where it runs, what limits it now comes first."""
    stall = stall_of(context)
    if stall is None:
        return None
    long = duration(stall.seconds)
    ended, last = stall.since + stall.seconds, read(context.workload.last_at)
    moves = f" It moves again since {duration(last - ended)}." if not context.frame.finished and last is not None else ""
    return Finding(
        id="server-stuck",
        title="The server stood still for a while",
        sentence=f"No batch ran for {long} although {stall.running:.0f} requests were running; then they went on.{moves}",
        axis="concurrency" if context.frame.finished else "banner",
        confidence="medium" if stall.share >= _NOTABLE else "low",
        since=stall.since,
        evidence=(
            Evidence(
                f"no batch line for {long} with {stall.running:.0f} running, and the next one shows requests still running",
                str(Where("log", "first batch line after it", stall.line)),
                stall.since,
            ),
        ),
        ruled_out=(Ruled("client", "requests were running all the time: it was not idle"),),
        advice=(
            "Look at what happened on the machine at that time: dmesg, a paused or throttled container, swap, a debugger, storage.",
            "A compilation or a garbage collection stops the scheduler too; if it comes back, py-spy dump --pid PID shows where it is.",
        ),
        verify=("batch lines come without such gaps at the same demand",),
        needs=("what the machine did then: the log does not say why it stood still",),
        pictures=(Picture("load", "The gap is where nothing moved; before and after it requests run."),),
    )


def _ruled(context: Context, quiet: bool) -> tuple[Ruled, ...]:
    found = [Ruled("client", "nothing is served now, however much is sent")]
    if quiet:
        found.append(Ruled("healthy", "the last batch was as large as those before it: it did not drain"))
    http = context.frame.http
    if http is not None and http.motion.state == "stuck":
        found.append(Ruled("measurement", "an idle server refreshes its gauges within 30 s; these claim requests and stand still"))
    return tuple(found)


def _silence_proof(context: Context, seconds: float, running: float) -> Evidence:
    if context.sampled:
        return Evidence(
            f"no gauge has moved for {duration(seconds)} although {running:.0f} requests were running", "metric: successive pages",
            read(context.workload.last_at),
        )  # fmt: skip
    return Evidence(
        f"no batch line for {duration(seconds)} although {running:.0f} requests were running", "log: last batch line against last line",
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
    if not isinstance(http.scrape, Scrape) or age is None or age < (_GONE_S if _gone(context) else _SILENT_S):
        return None
    failure = http.failures.get("metrics")
    if failure is not None and all(other.kind in _GONE for other in http.failures.values()):
        return Evidence(
            f"it answered until {duration(age)} ago and no longer does ({failure.reason.rstrip('.')})", place, context.stamp(http.scrape.at)
        )
    if http.scheduler_stuck and _was_running(context):
        return Evidence(
            "/server_info, which asks the scheduler, gets no answer while the HTTP side does", place, context.stamp(http.scrape.at)
        )
    return None


def _gone(context: Context) -> bool:
    """True where no process listens at its address any more: that is no scheduler that hangs."""
    http = context.frame.http
    failure = http.failures.get("metrics") if http is not None else None
    return failure is not None and failure.kind == "refused"


def _proven(context: Context) -> bool:
    """True where nothing moves and it cannot be an idle server.

    Those show their last batch for up to 30 s after it, and from 0.5.15 on write a stamped snapshot each second.
    """
    http = context.frame.http
    if http is None or http.motion.state != "stuck" or not isinstance(http.scrape, Scrape):
        return False
    moved = max((at for at in (http.motion.gauges_at, http.motion.counters_at) if at is not None), default=None)
    long = moved is not None and http.scrape.at - moved >= IDLE_REFRESH_S
    stamped = isinstance(http.loads, Loads) and http.loads.newest_stamp is not None
    return long or stamped or (read(http.scrape.sum("queued").reading) or 0.0) > 0


def _drained(http: HttpReading) -> bool:
    """True where the newer of page and ``/v1/loads`` says that nothing runs or waits."""
    if not isinstance(http.loads, Loads) or not http.loads.rows or http.motion.gauges_at is None or http.loads.at <= http.motion.gauges_at:
        return False
    left = [reading.value if isinstance(reading, Known) else 1.0 for row in http.loads.rows for reading in (row.running, row.waiting)]
    return sum(left) <= 0


def _was_running(context: Context) -> bool:
    return context.rank is not None and (read(context.rank.running) or 0.0) > 0


def _seen_alive(context: Context) -> bool:
    """True where pages show that it works or has nothing to do, so that a silent log proves nothing, or where no page can be read."""
    http = context.frame.http
    if http is None:
        return False
    if context.sampled and "metrics" in http.failures:
        # No page was read: that none shows a batch says nothing.
        return True
    rest = http.motion.rest
    if http.motion.state in {"idle", "gauges-frozen", "loads-frozen"} or rest.since is not None or _drained(http):
        return True
    if context.sampled and rest.doubtful and isinstance(http.loads, Loads) and "loads" not in http.failures:
        # Gauges keep their last batch for up to 30 s: /v1/loads is being asked.
        return True
    moved = [at for at in (http.motion.gauges_at, http.motion.counters_at, http.motion.loads_at) if at is not None]
    return bool(moved) and http.now - max(moved) < FRESH_S


def _stop(context: Context) -> Event | None:
    """The first sign of an end that is not a wished one: after it no batch line followed, and nothing moved."""
    newest = context.frame.timeline.last("line")
    last = newest[0] if newest is not None else None
    for event in context.events("watchdog", "killed", "exception", "nccl", "health-failed", "leak"):
        if _moved_after(context, event):
            continue
        if last is None or event.line > last or (event.kind == "watchdog" and _near_the_end(context, event)):
            return event
    return None


def _near_the_end(context: Context, event: Event) -> bool:
    """True for an end that other ranks outlived by some batches; a soft watchdog warns, and all goes on."""
    last = context.frame.timeline.last("at")
    return context.frame.finished and (event.at is None or last is None or last[0] - event.at < _OUTLIVED_S)


def _moved_after(context: Context, event: Event) -> bool:
    """True where pages or answers changed after the event: a request that failed is no scheduler that hangs."""
    http = context.frame.http
    changed = context.stamp(http.motion.changed_at) if http is not None else None
    return changed is not None and event.at is not None and changed > event.at + _SAME_S
