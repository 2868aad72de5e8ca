"""Jumps of the wall clock: it was set, or the machine slept. Seen by a wait that took longer, or shorter, than asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kvtui.domain.notice import Notice, NoticeKind
from kvtui.ports import Clock

STEP_S: Final = 1.0
FORWARD_S: Final = 5.0
"""Seconds beyond the wait from which on it is a jump; a busy machine is late by less."""
BACK_S: Final = 1.5


class ClockWatch:
    """Waits a second again and again and compares; ``seen`` is called with each jump."""

    def __init__(self, clock: Clock, seen: Callable[[Notice, float], None], uptime: Callable[[], float] | None = None) -> None:
        """``uptime``: seconds since the machine started, its sleep included; tells a sleep from a clock that was set.

        ``seen`` gets the notice, its time on the wall clock, and the jump in seconds, negative for one back.
        """
        self._clock, self._seen, self._uptime = clock, seen, uptime

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            before, up = self._clock.now(), self._uptime() if self._uptime is not None else None
            await self._clock.sleep(STEP_S)
            now = self._clock.now()
            lived = self._uptime() - up if self._uptime is not None and up is not None else None
            found = jump(now - before, lived)
            if found is not None:
                kind, text, by = found
                self._seen(Notice(kind, now, text), by)


def jump(gone: float, lived: float | None) -> tuple[NoticeKind, str, float] | None:
    """What happened in a wait of ``STEP_S`` in which the wall clock moved by ``gone`` and the machine lived ``lived`` seconds.

    None where nothing did; else the kind, a sentence, and the seconds.
    """
    by = gone - STEP_S
    if -BACK_S < by < FORWARD_S:
        return None
    if by < 0:
        return "clock", f"This machine's clock was set back by {_span(-by)}: samples from before are left out of the charts.", by
    if lived is None:
        return "clock", f"This machine slept, or its clock was set forward by {_span(by)}: nothing was read in between.", by
    if lived - STEP_S >= FORWARD_S:
        return "suspended", f"This machine, or kvtui, stood still for {_span(lived)}: nothing was read in between.", by
    return "clock", f"This machine's clock was set forward by {_span(by)}: times before and after do not compare.", by


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
