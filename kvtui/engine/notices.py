"""What must be said of the readings themselves, from what the sources tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtui.domain.http_reading import HttpReading
from kvtui.domain.notice import Notice

LASTS_S: Final = 600.0
"""How long a restart or a jump of the clock is worth a word in the header."""
_OLD: Final = frozenset(("gauges-frozen", "loads-frozen", "still", "stuck"))


def notices(http: HttpReading | None, jumps: Iterable[Notice], now: float) -> tuple[Notice, ...]:
    """All that holds at ``now``, the most urgent first; times of ``http`` and ``jumps`` are on the clock of ``now``."""
    found: list[Notice] = []
    if http is not None and http.motion.state in _OLD and http.motion.reason:
        found.append(Notice("frozen", http.motion.gauges_at, http.motion.reason))
    if http is not None and http.restarted_at is not None and now - http.restarted_at <= LASTS_S:
        text = "The server was restarted: its counters began anew, and samples from before are of the process before."
        found.append(Notice("restart", http.restarted_at, text))
    found += (jump for jump in jumps if jump.at is not None and 0 <= now - jump.at <= LASTS_S)
    return tuple(found)
