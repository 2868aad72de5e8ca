"""A value that was read, or the reason why it is absent.

Views and rules never meet a bare ``None``: they match on ``Known`` or ``Missing``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, Union

T = TypeVar("T")

WhereKind = Literal["log", "metric", "http", "nvml", "host", "formula", "table", "file", "flag", "user"]


@dataclass(frozen=True, slots=True)
class Where:
    """The origin of a number: enough for a person to look it up."""

    kind: WhereKind
    """What was asked: a log line, a metric, an NVML call, a formula, the table of models, ..."""
    detail: str = ""
    """What exactly, in a few words: a metric's name, a formula, a file."""
    line: int | None = None
    """Line number in the log, from 1."""

    def __str__(self) -> str:
        if self.kind == "log" and self.line is not None:
            place = f"log line {self.line:,}"
            return f"{place}: {self.detail}" if self.detail else place
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A value, when it was true, and where it comes from."""

    value: T
    at: float | None = None
    """Seconds on the source's own clock (see ``domain.samples``), or None where it carries no time."""
    where: Where = Where("formula")


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: str
    """One clause, fit for the screen: "the log has no weight-end line"."""


Reading = Union[Known[T], Missing]


def value_or(reading: Known[T] | Missing, default: T) -> T:
    """The value, or ``default`` when it is missing; only for places where the default hides nothing."""
    return reading.value if isinstance(reading, Known) else default


def optional(reading: Known[T] | Missing) -> T | None:
    """The value or None: for JSON, where unknown values are null."""
    return reading.value if isinstance(reading, Known) else None
