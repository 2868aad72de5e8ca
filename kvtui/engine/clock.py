"""The wall clock: the only place that asks the operating system for the time."""

from __future__ import annotations

import asyncio
import time


class WallClock:
    """``ports.Clock`` over the operating system."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()  # noqa: TID251 (this is the place the ban points to)

    async def sleep(self, seconds: float) -> None:
        """Wait without holding the event loop."""
        await asyncio.sleep(seconds)


def local_offset() -> float:
    """Seconds that this machine's clock face is ahead of UTC."""
    return float(time.localtime().tm_gmtoff)


def uptime() -> float:
    """Seconds since the machine started, its sleep included (Linux); elsewhere without it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
