"""The wall clock: the only place that asks the operating system for the time."""

from __future__ import annotations

import asyncio
import time
from typing import Final

TOGETHER_S: Final = 0.5
"""Waits of at least this long end at the same moments, so many seconds apart: a process that wakes for each of its sources alone
spends more on waking than on reading them."""


class WallClock:
    """``ports.Clock`` over the operating system."""

    def __init__(self, late: float = 0.0) -> None:
        """``late``: seconds after the others at which this clock's waits end, for who looks at what they have read."""
        self._late = late

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()  # noqa: TID251 (this is the place the ban points to)

    async def sleep(self, seconds: float) -> None:
        """Wait without holding the event loop; a wait of half a second or more is shorter or longer by up to a quarter."""
        await asyncio.sleep(together(asyncio.get_running_loop().time(), seconds, self._late))


def together(now: float, seconds: float, late: float = 0.0) -> float:
    """Seconds from ``now``, a monotonic time, to the common moment nearest to where a wait of ``seconds`` ends; short waits as they are."""
    if seconds < TOGETHER_S:
        return seconds
    return max(0.0, round((now + seconds - late) / TOGETHER_S) * TOGETHER_S + late - now)


def local_offset() -> float:
    """Seconds that this machine's clock face is ahead of UTC."""
    return float(time.localtime().tm_gmtoff)


def uptime() -> float:
    """Seconds since the machine started, its sleep included (Linux); elsewhere without it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
