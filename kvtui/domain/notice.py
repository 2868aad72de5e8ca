"""What a person must know of the readings themselves: a restart, values that no longer move, a clock that was set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoticeKind = Literal[
    "restart",  # the server is another process than before
    "frozen",  # values stand still while others move, or all of them do on a busy server
    "clock",  # the wall clock of this machine was set
    "suspended",  # this machine slept
]


@dataclass(frozen=True, slots=True)
class Notice:
    """One such thing, while it matters."""

    kind: NoticeKind
    at: float | None
    """When, on the frame's clock; None where it is now."""
    text: str
    """One sentence."""
