"""A running server that has nothing to do: what limited its last load is told as that, not as what limits it now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kvtui.diagnose.context import ENOUGH_S, Context
from kvtui.diagnose.registry import arranged
from kvtui.domain.answers import Loads
from kvtui.domain.finding import Evidence, Finding, VerdictId
from kvtui.domain.picture import Picture
from kvtui.domain.scrape import Scrape

_FRESH_S: Final = 10.0
_WITHOUT_LOAD: Final[frozenset[VerdictId]] = frozenset({"startup-failure", "server-stuck", "hardware-fault", "host-pressure"})
"""Verdicts that hold whether requests come or not."""


def rests_since(context: Context) -> float | None:
    """Since when it has had nothing to do, on the clock of the samples; None where it works, or rests too shortly, or nothing tells."""
    frame, http = context.frame, context.frame.http
    if frame.finished or frame.now is None or http is None:
        return None
    ages = [age for told in (http.scrape, http.loads) if isinstance(told, (Scrape, Loads)) and (age := http.age(told)) is not None]
    since = context.stamp(http.motion.rest.since)
    if since is None or min(ages, default=_FRESH_S) >= _FRESH_S:
        return None
    newest = frame.timeline.last("at")
    if newest is not None and not context.sampled and not http.motion.rest.worked:
        # It was at rest when it was first looked at: its log knows since when.
        since = min(since, newest[0])
    return since if frame.now - since >= ENOUGH_S else None


def at_rest(context: Context, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The verdicts of a server at rest, from those of its last load; ``found`` itself where it works."""
    since = rests_since(context)
    if since is None:
        return tuple(found)
    kept = [f for f in found if f.axis == "banner" or f.id in _WITHOUT_LOAD]
    return arranged((*kept, _idle(context, since, found)))


def _idle(context: Context, since: float, found: Iterable[Finding]) -> Finding:
    judged = (f for f in found if f.axis == "concurrency" and f.id not in _WITHOUT_LOAD and f.id != "not-enough-data")
    before = next(judged, None)
    newest = context.frame.timeline.last("at")
    proofs = [Evidence("no request runs or waits, and no token is computed", "metric: successive pages", since)]
    if before is not None:
        proofs.append(Evidence(f"the last load: {before.title}. {before.sentence}", "", newest[0] if newest is not None else None))
    told = f" The verdict on its last load: {before.title}." if before is not None else ""
    return Finding(
        id="healthy",
        title="Idle: nothing runs and nothing waits",
        sentence=f"No request runs or waits, so nothing limits it now.{told}",
        axis="concurrency",
        confidence="high",
        since=since,
        evidence=tuple(proofs),
        at_rest=True,
        pictures=(Picture("load", "The last load, and nothing since."),) if before is not None else (),
    )
