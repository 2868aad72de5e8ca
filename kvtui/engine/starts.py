"""Starts of a server that ended while it was watched: what its endpoints told of them, where no log does."""

from __future__ import annotations

import bisect
from collections import deque
from dataclasses import replace
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.frame import Frame
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.live_boot import boot_of
from kvtui.domain.process import FoundServer
from kvtui.domain.samples import Timeline
from kvtui.domain.scrape import Scrape

KEPT: Final = 8
"""Starts that are kept; a server that restarts more often is in a loop, and the newest tell why."""


class Starts:
    """Fed with every reading of the server; times are on the frame's clock."""

    def __init__(self) -> None:
        self._ended: deque[Boot] = deque(maxlen=KEPT)
        self._answered: tuple[HttpReading, FoundServer | None, float] | None = None
        self._begun: float | None = None
        self._restarted: float | None = None

    def took(self, reading: HttpReading, found: FoundServer | None, shift: float) -> bool:
        """A reading on the wall clock, ``shift`` seconds behind the frame's; True where it is of another process than the one before."""
        anew = reading.restarted_at != self._restarted
        if anew and reading.restarted_at is not None:
            self._restarted = reading.restarted_at
            self._end()
            self._begun = reading.restarted_at + shift
        # What is read while nothing answers is the old process', and its command line may be the new one's already.
        if "metrics" not in reading.failures:
            self._answered = reading, found, shift
        return anew

    def _end(self) -> None:
        if self._answered is None:
            return
        reading, found, shift = self._answered
        boot = boot_of(reading, found)
        if boot is not None and isinstance(reading.scrape, Scrape):
            self._ended.append(replace(boot, begun_at=self._begun, ended_at=reading.scrape.at + shift, state="ended"))

    def with_boots(self, base: Frame, newest: Boot, wanted: int) -> Frame:
        """``base``, which has no boots, with those seen and the one that runs now; ``wanted``: index of the one to show, -1 the newest."""
        running = replace(newest, begun_at=self._begun)
        boots = tuple(replace(boot, index=index) for index, boot in enumerate((*self._ended, running)))
        return replace(base, boots=boots, chosen=wanted if 0 <= wanted < len(boots) else len(boots) - 1)


def stretch(boot: Boot, pages: Timeline) -> Timeline:
    """The samples of one start; ``pages`` are in order."""
    times = pages.column("at")
    first = 0 if boot.begun_at is None else bisect.bisect_left(times, boot.begun_at)
    return pages.slice(first, len(pages) if boot.ended_at is None else bisect.bisect_right(times, boot.ended_at))


def within(boot: Boot, events: deque[Event]) -> tuple[Event, ...]:
    """The events of one start."""
    begun, ended = boot.begun_at or float("-inf"), boot.ended_at or float("inf")
    return tuple(event for event in events if event.at is None or begun <= event.at <= ended)
