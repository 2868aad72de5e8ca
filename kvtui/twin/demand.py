"""What the twin is asked to serve: a list of requests, or shapes to draw them from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

UNSET: Final = 1 << 30
"""``max_new_tokens`` of a client that sends none (facts/memory.md 8)."""

_LONGEST: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class TwinRequest:
    """One request. Tokens; ``arrival_s`` is seconds since the run began (closed loop: the earliest time)."""

    arrival_s: float
    prompt: int
    output: int
    """Tokens it generates unless ``max_new`` ends it first."""
    max_new: int = UNSET
    shared_prefix: int = 0
    """Leading tokens that all requests of ``group`` share."""
    group: str = ""
    cached: int = 0
    """Leading tokens taken as found in the radix cache, for workloads whose hits are known only as a rate."""
    ignore_eos: bool = False
    forced_length: bool = False
    """True where ``min_new_tokens`` forces the length: SGLang counts it again from zero after a retraction."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.arrival_s) and self.arrival_s >= 0):
            raise ValueError("a request arrives at a time from 0 up")
        if not (1 <= self.prompt <= _LONGEST and 1 <= self.output <= _LONGEST and 1 <= self.max_new <= _LONGEST):
            raise ValueError("a request has at least one prompt token and one output token")
        if not (0 <= self.shared_prefix <= self.prompt and 0 <= self.cached <= self.prompt):
            raise ValueError("no more of a prompt can be shared or cached than it has")


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of token counts. ``mean`` alone: all the same."""

    mean: float
    kind: Literal["fixed", "uniform", "lognormal", "sample"] = "fixed"
    spread: float = 0.0
    """uniform: half the width, in tokens; lognormal: standard deviation over mean."""
    sample: tuple[int, ...] = ()
    """kind sample: lengths to draw from, as measured."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0 < self.mean <= _LONGEST and math.isfinite(self.spread) and self.spread >= 0):
            raise ValueError("a mean length is more than 0 tokens")
        if self.kind == "sample" and not self.sample:
            raise ValueError("a sample holds at least one length")

    def draw(self, rng: Random) -> int:
        """One length, at least one token."""
        if self.kind == "sample":
            value: float = rng.choice(self.sample)
        elif self.kind == "uniform":
            value = rng.uniform(self.mean - self.spread, self.mean + self.spread)
        elif self.kind == "lognormal" and self.spread > 0:
            variance = math.log1p(self.spread * self.spread)
            value = rng.lognormvariate(math.log(self.mean) - variance / 2, math.sqrt(variance))
        else:
            value = self.mean
        return max(1, min(_LONGEST, round(value)))


@dataclass(frozen=True, slots=True)
class Shape:
    """Requests as distributions."""

    prompt: Lengths
    output: Lengths
    max_new: Lengths | None = None
    """None: clients send no ``max_new_tokens``. Never less than the output drawn, unless ``max_new_cuts``."""
    max_new_cuts: bool = False
    """True where ``max_new`` may end a request before its output is complete."""
    cached_share: float = 0.0
    """Share of each prompt taken as found in the cache, 0 to 1."""
    shared_prefix: int = 0
    groups: int = 1
    """How many different shared prefixes there are."""
    ignore_eos: bool = False

    def draw(self, rng: Random, arrival_s: float) -> TwinRequest:
        """One request of this shape."""
        output = self.output.draw(rng)
        max_new = UNSET if self.max_new is None else self.max_new.draw(rng)
        prompt = self.shared_prefix + self.prompt.draw(rng)
        return TwinRequest(
            arrival_s,
            prompt,
            output,
            max_new if self.max_new_cuts else max(max_new, output),
            shared_prefix=self.shared_prefix,
            group=str(rng.randrange(max(1, self.groups))) if self.shared_prefix else "",
            cached=int(prompt * min(max(self.cached_share, 0.0), 1.0)) if self.cached_share > 0 else 0,
            ignore_eos=self.ignore_eos,
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """Requests and how they arrive.

    Closed loop (``clients`` > 0): each client sends its next request ``think_s`` after the last answer ended.
    Open loop: a list arrives at its own times, a shape as a Poisson process of ``rate_per_s``.
    Raises ValueError where neither a list nor a shape is given, or nothing says when a shape's requests come.
    """

    requests: tuple[TwinRequest, ...] = ()
    shape: Shape | None = None
    clients: int = 0
    rate_per_s: float = 0.0
    think_s: float = 0.0
    ramp_s: float = 0.0
    """Closed loop: seconds between the first requests of two clients."""
    count: int | None = None
    """How many requests a shape makes; None: no end."""

    def __post_init__(self) -> None:
        if bool(self.requests) == (self.shape is not None):
            raise ValueError("a demand is either a list of requests or a shape")
        if not all(math.isfinite(value) and value >= 0 for value in (self.rate_per_s, self.think_s, self.ramp_s)):
            raise ValueError("rates and times are from 0 up")
        if not 0 <= self.clients <= 1_000_000:
            raise ValueError("clients are from 0 to 1,000,000")
        if self.shape is not None and not self.clients and self.rate_per_s <= 0:
            raise ValueError("a shape needs clients or a rate")

    def stream(self, rng: Random) -> Iterator[TwinRequest]:
        """The requests in order of sending. Open loop: in order of arrival."""
        if self.shape is None:
            yield from self.requests if self.clients else sorted(self.requests, key=lambda request: request.arrival_s)
            return
        arrival, made = 0.0, 0
        while self.count is None or made < self.count:
            if not self.clients:
                arrival += rng.expovariate(self.rate_per_s)
            yield self.shape.draw(rng, arrival)
            made += 1
