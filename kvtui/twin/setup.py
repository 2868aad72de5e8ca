"""What the twin is told about a server: its pool and limits, and how long its steps take."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from kvtui.domain.release import Release
from kvtui.twin.rules import CLIP_TOKENS, FLOOR_SHARE, INITIAL_RATIO, Rules, rules_of

_MOST = 1 << 40
"""Bound of every token count, so that arithmetic on hostile input stays small."""


@dataclass(frozen=True, slots=True)
class Server:
    """One scheduler: one data-parallel rank of a server. Tokens unless a name says otherwise.

    Raises ValueError where a number is out of range, so that a run can neither divide by zero nor stand still.
    """

    pool_tokens: int
    """``max_total_num_tokens`` of the rank."""
    running_cap: int
    """Effective ``max_running_requests`` of the rank."""
    release: Release | None = None
    """None: the newest rules."""
    page: int = 1
    chunk: int | None = 8192
    """``chunked_prefill_size``; None where it is off."""
    max_prefill_tokens: int = 16384
    conservativeness: float = 1.0
    """``schedule_conservativeness``, times 0.3 with DP attention (facts/diagnoses.md 0.1)."""
    radix: bool = True
    context_len: int | None = None
    accept_len: float = 1.0
    """Tokens a request gains per decode step, the bonus token included; 1 without speculation."""
    draft_tokens: int = 0
    """Tokens each request must find free before a speculative step; 0 without speculation."""
    clip_tokens: int = CLIP_TOKENS

    def __post_init__(self) -> None:
        counts = (
            self.pool_tokens,
            self.running_cap,
            self.page,
            self.max_prefill_tokens,
            self.clip_tokens,
            self.chunk or 1,
            self.context_len or 8,
        )
        if not all(1 <= count <= _MOST for count in counts) or not 0 <= self.draft_tokens <= _MOST:
            raise ValueError("a server's token counts are between 1 and 2^40")
        if self.chunk is not None and self.chunk < self.page:
            raise ValueError("chunked_prefill_size is at least one page")
        if self.longest < 4:
            raise ValueError("a pool or a context this small holds no request")
        if not (math.isfinite(self.conservativeness) and 0 <= self.conservativeness <= 1e6):
            raise ValueError("schedule_conservativeness is a number from 0 up")
        if not (math.isfinite(self.accept_len) and 1 <= self.accept_len <= 1024):
            raise ValueError("accept length is between 1 and 1024")

    @property
    def rules(self) -> Rules:
        """What this release does."""
        return rules_of(self.release)

    @property
    def usable_tokens(self) -> int:
        """The pool in whole pages."""
        return self.pool_tokens // self.page * self.page

    @property
    def longest(self) -> int:
        """``max_req_len``: most tokens of one request, prompt and output (0.5.9 ``managers/tp_worker.py``)."""
        return min(self.usable_tokens, self.context_len or _MOST) - 1

    @property
    def speculates(self) -> bool:
        """True where decode steps verify a draft."""
        return self.accept_len > 1 or self.draft_tokens > 0

    @property
    def first_ratio(self) -> float:
        """``new_token_ratio`` after start-up and after idle."""
        return min(INITIAL_RATIO * self.conservativeness, 1.0)

    @property
    def floor_ratio(self) -> float:
        """What ``new_token_ratio`` decays to."""
        return min(self.first_ratio * FLOOR_SHARE, 1.0)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """How long steps take, in seconds.

    A decode step of R running requests with T resident tokens takes ``base + per_running·R + per_token·T``
    (facts/diagnoses.md 3), or what ``measured`` says for R plus ``per_token·T``.
    Raises ValueError for times that are negative, not finite, or all zero: a clock that stands still never ends.
    """

    base_s: float = 0.0
    per_running_s: float = 0.0
    per_token_s: float = 0.0
    prefill_pass_s: float = 0.0
    """Fixed part of one prefill pass."""
    prefill_token_s: float = 0.0
    """Seconds per prompt token computed."""
    measured: tuple[tuple[int, float], ...] = ()
    """(running, seconds) in rising order of running; between two it is interpolated, beyond the ends continued."""

    def __post_init__(self) -> None:
        times = [self.base_s, self.per_running_s, self.per_token_s, self.prefill_pass_s, self.prefill_token_s]
        times += [seconds for _, seconds in self.measured]
        if not all(math.isfinite(value) and 0 <= value <= 1e6 for value in times):
            raise ValueError("step times are seconds from 0 up")
        running = [count for count, _ in self.measured]
        if any(later <= sooner for sooner, later in pairwise(running)) or (running and running[0] < 1):
            raise ValueError("measured step times are in rising order of running requests")
        if self.decode_s(1) <= 0:
            raise ValueError("a decode step takes some time")

    def decode_s(self, running: int) -> float:
        """Seconds of one decode step without its part per resident token."""
        if not self.measured:
            return self.base_s + self.per_running_s * running
        at = bisect_left(self.measured, (running, -1.0))
        if at < len(self.measured) and self.measured[at][0] == running:
            return self.measured[at][1]
        if len(self.measured) == 1:
            return self.measured[0][1]
        if at == 0:
            return self.measured[0][1]
        # Beyond the last row the table's overall slope is steadier than that of its last, least sampled pair.
        low, high = (self.measured[at - 1], self.measured[at]) if at < len(self.measured) else (self.measured[0], self.measured[-1])
        slope = (high[1] - low[1]) / (high[0] - low[0])
        start = low if at < len(self.measured) else high
        return max(start[1] + slope * (running - start[0]), 1e-9)

    def prefill_s(self, tokens: int) -> float:
        """Seconds of one prefill pass over this many tokens."""
        return self.prefill_pass_s + self.prefill_token_s * tokens
