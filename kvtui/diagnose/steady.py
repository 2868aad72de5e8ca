"""Verdicts that do not flap: what is shown follows the situation, not its noise.

Rules are pure functions of one frame. Here is the little memory that a console needs beside them: a finding is shown once it has
held for ``HOLD_S``, it stays for as long after it was last found, and one that comes and goes has to hold ever longer. The same
holds for what gives it its place among the others: its axis, and whether its confidence is low or that of a loud banner.
What cannot wait (a failed start, a stuck server, broken hardware, an out-of-memory) is shown at once, the first times. A
finding that stands on a situation of its own has held since that began: it waits no second time, and ends what was shown of
the one before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from kvtui.diagnose.registry import arranged
from kvtui.domain.finding import Finding, VerdictId
from kvtui.domain.settings import USUAL

HOLD_S: Final = USUAL.persistence_s
"""Seconds that a change has to hold before it is shown, unless a person asks for more (facts/diagnoses.md 0.5)."""
LONGEST_S: Final = 300.0
"""Seconds that a finding which came and went often has to hold at most."""
FORGET_S: Final = 900.0
"""Seconds after which a change is forgotten."""
_EPISODES: Final = 2
"""Times in ``FORGET_S`` that what cannot wait is shown at once."""
_AT_ONCE: Final[frozenset[VerdictId]] = frozenset({"startup-failure", "server-stuck", "hardware-fault"})
_FALLBACK: Final[frozenset[VerdictId]] = frozenset({"healthy", "not-enough-data"})


@dataclass(frozen=True, slots=True)
class Steady:
    """What is shown, and what is about to change. Times are seconds on one clock that does not go back."""

    shown: tuple[Finding, ...] = ()
    at: float | None = None
    changing: Mapping[VerdictId, float] = field(default_factory=lambda: MappingProxyType({}))
    """Since when a finding is there without being shown, shown without being there, or shown in another place than it is found in."""
    changed: tuple[tuple[float, VerdictId], ...] = ()
    """Newest changes of what is shown."""


def advance(state: Steady, found: Sequence[Finding], at: float, *, hold_s: float = HOLD_S) -> Steady:
    """The state after ``found`` at a time. The first findings are shown as they are, and so is a first verdict after ``not-enough-data``.

    A clock that goes back, or stands still for longer than changes are remembered, starts anew, and so does a server that
    comes to rest or to work.
    """
    if state.at is None or not 0 <= at - state.at <= FORGET_S or not state.shown or _rests(found) != _rests(state.shown):
        return Steady(tuple(found), at)
    there, before = {f.id: f for f in found}, {f.id: f for f in state.shown}
    history = tuple(entry for entry in state.changed if at - entry[0] < FORGET_S)
    # Before anything is known no verdict has to wait; one that has come and gone has.
    at_once = set(there) - {verdict for _, verdict in history} if _knows_nothing(state.shown) else set()
    begun = _begun(state.shown, found)
    kept: list[Finding] = []
    changing: dict[VerdictId, float] = {}
    news: list[tuple[float, VerdictId]] = []
    for verdict in (*before, *(name for name in there if name not in before)):
        now, then = there.get(verdict), before.get(verdict)
        if now is not None and then is not None and _place(now) == _place(then):
            kept.append(now)
            continue
        since = state.changing.get(verdict, at)
        if begun is not None and ((then is not None and then.axis == "concurrency") or (now is not None and now.anew)):
            since = min(since, begun)
        if at - since >= _patience(verdict, history, hold_s) or verdict in at_once or _cannot_wait(now, then, history):
            news.append((at, verdict))
            then = now
        else:
            changing[verdict] = since
            then = replace(now, axis=then.axis, confidence=then.confidence) if now is not None and then is not None else then
        if then is not None:
            kept.append(then)
    if not any(finding.axis == "concurrency" for finding in kept):
        # Something has to be said of what limits it: where all that was shown is gone, what is found now.
        kept += [finding for finding in found if finding.axis == "concurrency"]
        changing = {verdict: since for verdict, since in changing.items() if all(verdict != finding.id for finding in kept)}
    shown = arranged(_without_contradiction(kept))
    return Steady(shown, at, MappingProxyType(changing), (*history, *news))


def _rests(findings: Iterable[Finding]) -> bool:
    return any(finding.at_rest for finding in findings)


def _begun(shown: Iterable[Finding], found: Iterable[Finding]) -> float | None:
    """When the situation began that is found and of which nothing is shown yet; None where it is the one that is shown."""
    newest = max((f.since for f in found if f.anew and f.since is not None), default=None)
    known = max((f.since for f in shown if f.axis == "concurrency" and f.since is not None), default=-math.inf)
    return newest if newest is not None and newest > known else None


def _knows_nothing(shown: Iterable[Finding]) -> bool:
    """True where no verdict stands that a new one could contradict."""
    return not any(finding.axis != "banner" and finding.id != "not-enough-data" for finding in shown)


def _patience(verdict: VerdictId, history: Iterable[tuple[float, VerdictId]], hold_s: float) -> float:
    """Doubles with each recent change of the same verdict but the first."""
    again = max(0, sum(name == verdict for _, name in history) - 1)
    return min(max(LONGEST_S, hold_s), hold_s * 2.0 ** min(again, 10))


def _place(finding: Finding) -> tuple[str, bool, bool]:
    """What decides on a finding's place among the others (``registry.arranged``)."""
    return finding.axis, finding.confidence == "low", finding.axis == "banner" and finding.confidence == "high"


def _cannot_wait(now: Finding | None, then: Finding | None, history: Iterable[tuple[float, VerdictId]]) -> bool:
    """What is shown at once also goes at once: a server that answers again is not stuck."""
    if _is_urgent(then) and not _is_urgent(now):
        return then is not None and then.id in _AT_ONCE
    # Each episode is two changes: it came and it went.
    return now is not None and _is_urgent(now) and sum(name == now.id for _, name in history) < 2 * _EPISODES


def _is_urgent(finding: Finding | None) -> bool:
    """True for what people must know within a tick; a banner of the same name is a hint."""
    if finding is None:
        return False
    crash = finding.id == "headroom" and finding.confidence == "high" and finding.since is not None
    return crash or (finding.id in _AT_ONCE and finding.axis == "concurrency")


def _without_contradiction(findings: Sequence[Finding]) -> list[Finding]:
    """Of two fallbacks the newer; none beside a limit of concurrency."""
    fallback = [f for f in findings if f.id in _FALLBACK]
    limited = any(f.axis == "concurrency" and f.id not in _FALLBACK for f in findings)
    drop = fallback if limited else fallback[:-1]
    return [f for f in findings if f not in drop]
