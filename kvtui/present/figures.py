"""Numbers as the product writes them: one place, so that panes, report and help agree.

GiB with two decimals, tokens with thousands separators, times as the source shows them, percent without a blank.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Final

from kvtui.domain.reading import Known, Missing, Where

NONE = "–"
"""Stands where a number would; never a zero."""
NEW_S: Final = 5
"""Seconds up to which a reading is new."""


def tokens(value: float) -> str:
    """``116,171``."""
    return f"{round(value):,}"


def gib(value: float) -> str:
    """``21.71``: two decimals, as SGLang logs them; ``0.0041`` for the pool of a tiny model, which two would call nothing."""
    if 1e-4 <= abs(value) < 0.00995:
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}"
    return f"{value:,.2f}"


def gib_text(reading: Known[float] | Missing) -> str:
    """``21.71 GiB``, or a dash where it is missing."""
    return f"{gib(reading.value)} GiB" if isinstance(reading, Known) else NONE


def tokens_text(reading: Known[int] | Missing) -> str:
    """``116,171``, or a dash where it is missing."""
    return tokens(reading.value) if isinstance(reading, Known) else NONE


def cell_text(value: float) -> str:
    """``70,272``; a fraction of a byte is kept where SGLang prints one."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}".removesuffix("0")


def fraction(value: float) -> str:
    """``0.85``; three decimals where they are needed."""
    text = f"{value:.3f}"
    return text.removesuffix("0")


def signed_pct(before: float, after: float) -> str:
    """``+74%``; ``±0%`` where nothing changes, a dash where ``before`` is 0."""
    if before == 0:
        return NONE
    change = (after - before) / before * 100
    if abs(change) < 0.5:
        return "±0%"
    return f"{'+' if change > 0 else '−'}{abs(change):.0f}%"


def _moment(at: float | None) -> datetime | None:
    """A stamp as a date; None for what is no time of this calendar."""
    if at is None or not abs(at) < 1e12:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=at)
    except OverflowError:
        return None
    return moment if moment.year >= 1900 else None


def clock(at: float | None, *, seconds: bool = True) -> str:
    """Time of day of a stamp; a dash where there is none."""
    moment = _moment(at)
    return NONE if moment is None else moment.strftime("%H:%M:%S" if seconds else "%H:%M")


def stamp(at: float | None) -> str:
    """Date and time of a stamp; only the time for logs that print no date."""
    moment = _moment(at)
    if at is None or moment is None:
        return NONE
    return clock(at) if abs(at) < 366 * 86400 else moment.strftime("%Y-%m-%d %H:%M:%S")


def figure(value: float) -> str:
    """A number as short as it can be read: ``1,532``, ``50``, ``4.2``, ``0.87``, ``2.1M``."""
    size = abs(value)
    if not math.isfinite(value):
        return "?"
    if size >= 1e15:
        return f"{value:.0e}"
    for floor, letter in ((1e12, "T"), (1e9, "G"), (1e7, "M")):
        if size >= floor:
            return f"{value / (1e6 if letter == 'M' else floor):.1f}{letter}"
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}".removesuffix("0")


def age(seconds: float) -> str:
    """An age in at most four characters: ``<5s``, ``12s``, ``3m``, ``5h``, ``9d``.

    What is new is not told to the second: a column of ages that change with each tick would be all that moves on a steady server.
    """
    if not math.isfinite(seconds):
        return "?"
    if seconds < NEW_S:
        return f"<{NEW_S}s"
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{min(999, int(seconds // size))}{letter}"
    return f"{int(seconds)}s"


def seconds(value: float) -> str:
    """``24 ms``, ``1.2 s``, ``85 s``, ``1,200 s``; a dash for what is no number."""
    if not math.isfinite(value):
        return NONE
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 9.95 else f"{value:,.0f} s"


def percent(share: float) -> str:
    """``87%`` of a share of 0.87; no blank before the sign, here and in every sentence."""
    return f"{share * 100:.0f}%"


def plural(count: int, noun: str) -> str:
    """``1 boot``, ``2 boots``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def version_text(version: Known[str] | Missing, span: tuple[str | None, str | None]) -> str:
    """``0.5.9``; ``0.5.7–0.5.9 by its wording`` where the log prints none; ``of unknown version``."""
    if isinstance(version, Known):
        return version.value
    low, high = span
    if low and high:
        return f"{low} by its wording" if low == high else f"{low}–{high} by its wording"
    if low or high:
        return f"{low} or later" if low else f"{high} or earlier"
    return "of unknown version"


def origin(where: Where, width: int = 52) -> str:
    """Where a number comes from, in at most ``width`` characters; a log line keeps its number."""
    text = str(where)
    return text if len(text) <= width else text[: width - 1] + "…"
