"""Requests that the HTTP side has taken and the scheduler has not seen, and the processes that hold them.

The count of open requests alone proves nothing: 0.5.9 does not count streams, and 0.5.23 keeps counting some that have ended.
So it only counts beside a tokenizer or detokenizer that uses a whole core.
"""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, proof, read
from kvtui.domain.finding import Evidence
from kvtui.domain.reading import Known, Where
from kvtui.domain.scrape import Scrape

_BUSY_PCT: Final = 95.0
_HELPERS: Final = ("detokenizer", "tokenizer")
_TIMES: Final = 1.5
_MORE: Final = 8.0
"""Gauges lag behind the open requests by up to 40 steps, so a few more prove nothing."""


def held_before(context: Context) -> Evidence | None:
    """Far more requests are open at the HTTP side than run, queue or wait for a grammar (facts/diagnoses.md V7, V18)."""
    scrape = context.frame.http.scrape if context.frame.http is not None else None
    if busy_helper(context) is None or not isinstance(scrape, Scrape) or not isinstance(scrape.counters.http_active, Known):
        return None
    held = [read(scrape.sum(name).reading) or 0.0 for name in _PLACES]
    known = max(sum(held), (read(context.workload.running) or 0.0) + (read(context.workload.queued) or 0.0))
    active = scrape.counters.http_active
    if active.value <= _TIMES * known + _MORE:
        return None
    return Evidence(
        f"{active.value:.0f} requests are open at the HTTP side and only {known:.0f} run or wait in the scheduler",
        str(active.where),
        context.stamp(active.at),
    )


_PLACES: Final = (
    "running",
    "queued",
    "grammar_queued",
    "bootstrap_queued",
    "inflight_queued",
    "prealloc_queued",
    "transfer_queued",
)


def busy_helper(context: Context) -> Evidence | None:
    """A tokenizer or detokenizer whose first thread uses a whole core; a scheduler always does."""
    host = context.frame.host
    for process in host.processes if host is not None and not host.stale else ():
        load = read(process.main_thread_cpu)
        if load is not None and load >= _BUSY_PCT and any(name in process.title.lower() for name in _HELPERS):
            known = Known(load, context.stamp(host.at) if host is not None else None, Where("host", f"/proc/{process.pid}"))
            return proof(f"{process.title[:60]} (pid {process.pid}) uses {load:.0f}% of a core", known)
    return None
