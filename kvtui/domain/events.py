"""Rare lines of a log that mean something: what happened, when, on which rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from kvtui.domain.rank import MAIN, Rank

EventKind = Literal[
    "boot",  # a start begins
    "ready",  # the server is up
    "retract",  # requests were put back for want of KV
    "out-of-memory",  # GPU out of memory, at run time or at start
    "not-enough-memory",  # sizing refused: weights leave too little
    "capture-failed",
    "unbalanced",  # ranks see very different free memory
    "host-memory",  # not enough host memory for HiCache
    "state-too-small",  # mamba state or SWA pool too small
    "nccl",
    "exception",  # a scheduler or worker died of an exception
    "killed",  # by the operating system
    "exit",  # a process ended, SIGQUIT, SIGTERM
    "watchdog",
    "health-failed",
    "leak",  # "memory leak detected"
    "forced-setting",  # a setting was changed by the server itself
    "warning",  # another warning that matters for memory or scheduling
    "program",  # a line that a loader, kernel or launcher printed and that explains a failure
]


@dataclass(frozen=True, slots=True)
class Event:
    """One such line."""

    kind: EventKind
    at: float | None
    """Seconds on the log's clock."""
    line: int
    text: str
    """The line's message, secrets removed, control characters shown, at most 300 characters."""
    rank: Rank = MAIN
    fields: Mapping[str, float | str] = field(default_factory=lambda: MappingProxyType({}))
    """Numbers of the line by name: ``retracted``, ``ratio_before``, ``ratio_after``, ``minimum_fraction`` ..."""
    count: int = 1
    """How many lines this one stands for, where equal ones were folded together."""
