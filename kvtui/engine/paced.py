"""Judging a running server at the pace at which verdicts can change, while its readings are shown each second.

A verdict stands on minutes of samples and must last 15 s before it is shown (DESIGN.md section 3); judging every second
would cost more than everything else together. What cannot wait is judged at once: another start, a new event, a source
that fails or comes back, a first minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kvtui.diagnose.steady import HOLD_S
from kvtui.domain.boot import Boot
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.ledger import GpuLedger
from kvtui.domain.ledgers import ledgers
from kvtui.domain.live_ledgers import live_ledgers
from kvtui.engine.turns import Turns

EVERY_S: Final = 20.0
"""Seconds between two judgements of a server at which nothing happens; after one that found something else, as long as it has to last."""
NEW_S: Final = 20.0
"""Seconds from the first frame on, and from a change of the load on, in which each frame is judged: a verdict comes from the first
samples that allow one."""
SILENT_S: Final = 15.0
"""Seconds after the last page for which a server that no longer answers is judged with each frame."""
STUCK_S: Final = 5.0
"""Seconds between two judgements of a server that has stopped working: the sentence says for how long."""

FREQUENT: Final = frozenset({"retract", "warning"})
"""Events that a busy server prints all the time; they count by the minute."""


class Paced:
    """``judge``, or the last judgement with the newest readings. Called from one thread at a time."""

    def __init__(self, judge: Callable[[Frame], Analysis], every: float = EVERY_S, new: float = NEW_S) -> None:
        self._judge = judge
        self._every, self._new = every, new
        self._last: Analysis | None = None
        self._wait = every
        """Seconds from the last judgement to the next."""
        self._begun: float | None = None
        self._turns = Turns()

    def __call__(self, frame: Frame) -> Analysis:
        """The analysis of a frame; raises what ``judge`` raises."""
        return self.waiting(frame) or self.judge(frame)

    def waiting(self, frame: Frame) -> Analysis | None:
        """The last judgement with the readings of a frame, which takes no time; None where it has to be judged, by ``judge``.

        Asked once for each frame.
        """
        last = self._last
        self._begun = frame.now if self._turns.turned(frame) else self._begun
        if last is not None and self._may_wait(last.frame, frame):
            return replace(last, frame=frame, ledgers=_parts(last, frame))
        return None

    def judge(self, frame: Frame) -> Analysis:
        """A new judgement of a frame that may not wait."""
        last = self._last
        if last is None or last.frame.start != frame.start or (_rests(last.frame) and not _rests(frame)):
            self._begun = frame.now
        self._last = found = self._judge(frame)
        anew = last is None or {one.id for one in last.findings} != {one.id for one in found.findings}
        stuck = any(one.id == "server-stuck" for one in found.findings)
        self._wait = min(self._every, STUCK_S if stuck else HOLD_S if anew else self._every)
        return found

    def _may_wait(self, judged: Frame, frame: Frame) -> bool:
        if frame.finished or frame.now is None or judged.now is None or self._begun is None:
            return False
        # A clock that went back makes every age meaningless.
        if not 0 <= frame.now - judged.now < self._wait or frame.now - self._begun < self._new or _falls_silent(frame):
            return False
        return _occurrence(judged) == _occurrence(frame)


def _rests(frame: Frame) -> bool:
    """True where the server has had nothing to do for as long as a verdict has to last."""
    since = frame.http.motion.rest.since if frame.http is not None else None
    return since is not None and frame.http is not None and frame.http.now - since >= HOLD_S


def _falls_silent(frame: Frame) -> bool:
    """True where the server has just stopped answering: whether it is gone is a matter of seconds."""
    http = frame.http
    age = http.age(http.scrape) if http is not None and "metrics" in http.failures else None
    return age is not None and age < SILENT_S


def _occurrence(frame: Frame) -> tuple[object, ...]:
    """What changes a verdict at once when it differs."""
    boot = frame.boot
    return (
        frame.start,
        boot is not None and (boot.state, len(boot.settings), boot.final is not None),
        next((event.line for event in reversed(frame.events) if event.kind not in FREQUENT), None),
        frame.sampled,
        _rests(frame),
        tuple((source.name, source.state) for source in frame.sources),
        tuple(notice.kind for notice in frame.notices),
        frozenset(frame.http.failures) if frame.http is not None else None,
    )


def _parts(judged: Analysis, frame: Frame) -> tuple[GpuLedger, ...]:
    """The GPUs' memory as it is now."""
    usage = frame.timeline.last("usage")
    share = usage[0] if usage is not None else None
    boot: Boot | None = frame.boot
    told = live_ledgers(frame.gpus, frame.found, judged.account, share)
    return told or (ledgers(boot, judged.account, frame.timeline) if boot is not None else judged.ledgers)
