"""Verdicts that do not flap: what is shown follows the situation, not its noise.

Rules are pure functions of one frame. Here is the little memory that a console needs beside them: a finding is shown once it has
held for ``HOLD_S``, it stays for as long after it was last found, and one that comes and goes has to hold ever longer.
What cannot wait (a failed start, a stuck server, broken hardware, an out-of-memory) is shown at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kvtui.diagnose.registry import arranged
from kvtui.domain.finding import Finding, VerdictId

HOLD_S: Final = 15.0
"""Seconds that a change has to hold before it is shown (facts/diagnoses.md 0.5)."""
LONGEST_S: Final = 300.0
"""Seconds that a finding which came and went often has to hold at most."""
FORGET_S: Final = 900.0
"""Seconds after which a change is forgotten."""
_AT_ONCE: Final[frozenset[VerdictId]] = frozenset({"startup-failure", "server-stuck", "hardware-fault"})
_FALLBACK: Final[frozenset[VerdictId]] = frozenset({"healthy", "not-enough-data"})


@dataclass(frozen=True, slots=True)
class Steady:
    """What is shown, and what is about to change. Times are seconds on one clock that does not go back."""

    shown: tuple[Finding, ...] = ()
    at: float | None = None
    changing: Mapping[VerdictId, float] = field(default_factory=lambda: MappingProxyType({}))
    """Since when a finding is there without being shown, or shown without being there."""
    changed: tuple[tuple[float, VerdictId], ...] = ()
    """Newest changes of what is shown."""


def advance(state: Steady, found: Sequence[Finding], at: float) -> Steady:
    """The state after ``found`` at a time. The first findings are shown as they are, and so is a first verdict after ``not-enough-data``.

    A clock that goes back, or stands still for longer than changes are remembered, starts anew.
    """
    if state.at is None or not 0 <= at - state.at <= FORGET_S or not state.shown:
        return Steady(tuple(found), at)
    there, before = {f.id: f for f in found}, {f.id: f for f in state.shown}
    history = tuple(entry for entry in state.changed if at - entry[0] < FORGET_S)
    # Before anything is known no verdict has to wait; one that has come and gone has.
    at_once = set(there) - {verdict for _, verdict in history} if _knows_nothing(state.shown) else set()
    kept: list[Finding] = []
    changing: dict[VerdictId, float] = {}
    news: list[tuple[float, VerdictId]] = []
    for verdict in (*before, *(name for name in there if name not in before)):
        now, then = there.get(verdict), before.get(verdict)
        if now is not None and then is not None:
            kept.append(now)
            continue
        since = state.changing.get(verdict, at)
        if at - since >= _patience(verdict, history) or verdict in at_once or _cannot_wait(now, then):
            news.append((at, verdict))
            then = now
        else:
            changing[verdict] = since
        if then is not None:
            kept.append(then)
    if not any(finding.axis == "concurrency" for finding in kept):
        # Something has to be said of what limits it: where all that was shown is gone, what is found now.
        kept += [finding for finding in found if finding.axis == "concurrency"]
        changing = {verdict: since for verdict, since in changing.items() if all(verdict != finding.id for finding in kept)}
    shown = arranged(_without_contradiction(kept))
    return Steady(shown, at, MappingProxyType(changing), (*history, *news))


def _knows_nothing(shown: Iterable[Finding]) -> bool:
    """True where no verdict stands that a new one could contradict."""
    return not any(finding.axis != "banner" and finding.id != "not-enough-data" for finding in shown)


def _patience(verdict: VerdictId, history: Iterable[tuple[float, VerdictId]]) -> float:
    """Doubles with each recent change of the same verdict but the first."""
    again = max(0, sum(name == verdict for _, name in history) - 1)
    return min(LONGEST_S, HOLD_S * 2.0 ** min(again, 10))


def _cannot_wait(now: Finding | None, then: Finding | None) -> bool:
    """What is shown at once also goes at once: a server that answers again is not stuck."""
    finding = now or then
    if finding is None:
        return False
    crash = finding.id == "headroom" and finding.confidence == "high" and finding.since is not None
    return (crash and now is not None) or finding.id in _AT_ONCE


def _without_contradiction(findings: Sequence[Finding]) -> list[Finding]:
    """Of two fallbacks the newer; none beside a limit of concurrency."""
    fallback = [f for f in findings if f.id in _FALLBACK]
    limited = any(f.axis == "concurrency" and f.id not in _FALLBACK for f in findings)
    drop = fallback if limited else fallback[:-1]
    return [f for f in findings if f not in drop]
