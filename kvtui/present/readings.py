"""Readings as the panes write them: a number, or in words why there is none."""

from __future__ import annotations

import math
from typing import TypeVar

from kvtui.domain.reading import Known, Missing
from kvtui.present.line import clean

N = TypeVar("N", int, float)


def finite(reading: Known[N] | Missing) -> N | None:
    """The number, or None where it is missing or not a finite number."""
    if isinstance(reading, Known) and math.isfinite(reading.value):
        return reading.value
    return None


def text_or(reading: Known[str] | Missing, default: str) -> str:
    """Foreign text made safe, or ``default``."""
    return clean(reading.value, 200) if isinstance(reading, Known) else default


def reason(reading: Known[N] | Missing) -> str:
    """Why there is no number; one clause."""
    if isinstance(reading, Missing):
        return clean(reading.reason)
    return "" if math.isfinite(reading.value) else "what was read is not a number"


def origin(reading: Known[N] | Known[str] | Missing) -> str:
    """Where it comes from, or why it is missing; safe for the screen."""
    if isinstance(reading, Missing):
        return clean(reading.reason)
    return clean(str(reading.where))


def place(reading: Known[N] | Known[str] | Missing) -> str:
    """The origin in two words: ``log line 1,204``, ``formula``, ``table``."""
    if isinstance(reading, Missing):
        return "unknown"
    where = reading.where
    if where.kind == "log" and where.line is not None:
        return f"log line {where.line:,}"
    return "over HTTP" if where.kind == "http" else where.kind
