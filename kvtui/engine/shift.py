"""From the wall clock to a log's clock.

A log prints local time without a zone, and a container's zone may differ from the machine's. When lines come in, their
stamp and the wall clock differ by whole quarters of an hour, as time zones do, and by the seconds they took to arrive.
"""

from __future__ import annotations

from typing import Final

QUARTER: Final = 900.0
LATE: Final = 120.0
"""Seconds a line may be old when it arrives; more, and it says nothing of the zone."""


class Shift:
    """Seconds to add to the wall clock to get a source's own clock."""

    def __init__(self, local: float) -> None:
        """``local``: this machine's offset from UTC, the guess until a line tells better."""
        self.seconds = local
        self._stamp: float | None = None

    def seen(self, stamp: float | None, wall: float, *, fresh: bool = False) -> None:
        """The newest stamp, at a wall-clock time; counts when it has moved since the last call, or is known to be ``fresh``."""
        moved = stamp is not None and (fresh if self._stamp is None else stamp > self._stamp)
        self._stamp = stamp
        if not moved or stamp is None:
            return
        difference = stamp - wall
        zone = round(difference / QUARTER) * QUARTER
        # Lines arrive after they were written, so the difference lies a little below the zone.
        if zone - LATE <= difference <= zone + 2 and abs(zone) <= 15 * 3600:
            self.seconds = zone
