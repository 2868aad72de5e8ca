"""Time stamps of log lines, as seconds on the log's own clock (local time read as UTC)."""

from __future__ import annotations

import bisect
import datetime as dt
import re
from typing import Final

_DAY: Final = 86_400
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_HALF_DAY: Final = 43_200
_CACHE_LIMIT: Final = 4_096
YEARLESS: Final = 2000
"""Year given to syslog stamps, which print none; a leap year, so that 29 February can be read."""
_MONTHS: Final = {
    name: number for number, name in enumerate(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1)
}
_ZONE: Final = re.compile(r"([+-])(\d\d):?(\d\d)$")


def day_start(year: int, month: int, day: int) -> float | None:
    """Seconds from 1970 to the start of a day; None for a date that does not exist."""
    try:
        return float((dt.date(year, month, day).toordinal() - _EPOCH) * _DAY)
    except ValueError:
        return None


def month_day(month: str, day: str, year: int = YEARLESS) -> float | None:
    """Start of a day written as ``Dec`` and ``22``."""
    number = _MONTHS.get(month[:3].title())
    return None if number is None else day_start(year, number, int(day))


def zone_seconds(zone: str | None) -> float:
    """How far a written zone (``Z``, ``+08:00``) is ahead of UTC, in seconds."""
    match = _ZONE.match(zone) if zone else None
    if match is None:
        return 0.0
    ahead = int(match[2]) * 3600 + int(match[3]) * 60
    return float(ahead if match[1] == "+" else -ahead)


def clock_seconds(hours: str, minutes: str, seconds: str, part: str | None = None) -> float | None:
    """Seconds since midnight; ``part`` holds the digits behind the decimal point. None for an impossible time."""
    h, m, s = int(hours), int(minutes), int(seconds)
    if h > 23 or m > 59 or s > 60:
        return None
    return h * 3600 + m * 60 + s + (float("0." + part) if part else 0.0)


class Dates:
    """Starts of days by their text, remembered: neighbouring lines share theirs."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, float | None] = {}

    def start(self, text: str) -> float | None:
        """Start of the day ``2026-11-29``; None for a date that does not exist."""
        found = self._known.get(text, -1.0)
        if found != -1.0:
            return found
        if len(self._known) >= _CACHE_LIMIT:
            self._known.clear()
        value = day_start(int(text[0:4]), int(text[5:7]), int(text[8:10]))
        self._known[text] = value
        return value


class Midnights:
    """Days of a log that prints times without dates: each step back by half a day or more is a midnight."""

    __slots__ = ("_last", "_lines")

    def __init__(self) -> None:
        self._last: float | None = None
        self._lines: list[int] = []

    def note(self, line: int, seconds: float) -> None:
        """Tell the time of day of a line; lines must come in order."""
        if self._last is not None and seconds < self._last - _HALF_DAY:
            self._lines.append(line)
        self._last = seconds

    def at(self, line: int, seconds: float) -> float:
        """Seconds since the log's first midnight of a line whose time of day is ``seconds``."""
        return bisect.bisect_right(self._lines, line) * _DAY + seconds
