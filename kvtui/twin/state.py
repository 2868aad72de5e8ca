"""What the twin tells: one state a step (or a run of equal steps), and what became of each request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ending = Literal["finished", "aborted", "refused"]
StepKind = Literal["prefill", "decode", "idle"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request that left. Seconds since the run began."""

    arrival_s: float
    admitted_s: float
    """When its first prefill pass began; the arrival where it never ran."""
    first_s: float
    """When its first token was there."""
    end_s: float
    prompt: int
    output: int
    cached: int
    """Prompt tokens found in the cache, over all its prefills."""
    retractions: int
    ending: Ending = "finished"

    @property
    def waiting_s(self) -> float:
        """Seconds from arrival to the first prefill pass."""
        return self.admitted_s - self.arrival_s

    @property
    def latency_s(self) -> float:
        """Seconds from arrival to the last token."""
        return self.end_s - self.arrival_s


@dataclass(frozen=True, slots=True)
class StepState:
    """The scheduler after a prefill pass, after one or more equal decode steps, or after idling.

    Counts of tokens, requests and steps; seconds since the run began. What changes inside a run of decode steps
    changes evenly, so that its means follow from this one state and the one before.
    """

    kind: StepKind
    at_s: float
    """When the last of its steps ended."""
    seconds: float
    steps: int
    """Decode steps, 1 for a prefill pass, 0 for idling."""
    running: int
    """Requests decoding: during the steps of a decode, after the pass of a prefill."""
    queued: int
    """Requests waiting at the end, one being prefilled in chunks left out."""
    used: int
    """Tokens held by running requests at the end, before the finished ones let go of theirs."""
    pool: int
    ratio: float
    """``new_token_ratio`` at the end."""
    token_seconds: float = 0.0
    """Tokens held times seconds."""
    admitted: int = 0
    """Requests whose prefill began, retracted ones that come back included."""
    sequences: int = 0
    """``#new-seq`` of a prefill pass: a prompt in chunks counts in each pass."""
    new_tokens: int = 0
    cached_tokens: int = 0
    generated: int = 0
    retracted: int = 0
    full: bool = False
    """The scheduler's ``batch_is_full``: no admission is tried until a request leaves."""
    left: tuple[Outcome, ...] = ()
    """Requests that ended with the last step."""

    @property
    def usage(self) -> float:
        """Share of the pool held by running requests, 0 to 1."""
        return self.used / self.pool
