"""Several levers as one plan: what each changes, and what they come to together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Only for annotations: an estimate holds a Change.
    from kvtui.domain.estimate import OptionId, Range, Risk


@dataclass(frozen=True, slots=True)
class Speed:
    """Throughput at the same running requests, as a factor of today's; 1.0 is no change."""

    low: float
    mid: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a lever does to the arithmetic, so that levers combine without being added up.

    The pool becomes ``(today's bytes + pre x change of fraction + pool_gib) / (cell x cell_ratio) x copies`` tokens.
    """

    fraction: float | None = None
    """``mem_fraction_static`` afterwards; None: as today."""
    cell_ratio: float = 1.0
    """Bytes a token afterwards over today's, of what the formula divides by."""
    copies: float = 1.0
    """Pools of the server afterwards over today's, where one request may use any of them (DCP) or one each (DP attention)."""
    pool_gib: float = 0.0
    """GiB a GPU that go to or come from the budget of the pool."""
    uncapped: bool = False
    """True: ``max_total_tokens`` no longer holds."""
    headroom_gib: float = 0.0
    """GiB a GPU outside the pool that become free; negative: taken."""
    headroom_token_bytes: float = 0.0
    """Bytes a token that the formula does not price and that come out of the headroom."""
    running_cap: int | None = None
    """Running cap of a rank afterwards; None: as today."""
    max_new_tokens: int | None = None
    """What clients ask for at most afterwards."""
    conservativeness: float | None = None
    running_factor: float = 1.0
    """Requests in flight from the clients over today's."""
    weight_ratio: float = 1.0
    """Weight bytes a GPU reads in a step, afterwards over today's."""
    page: int | None = None
    """Tokens a page afterwards; None: as today."""
    running_ratio: float = 1.0
    """Requests admitted over today's where another pool than the KV pool holds them (sliding window, states)."""
    speed: Speed | None = None
    unknown: str = ""
    """Why the throughput afterwards cannot be estimated; empty where it can."""
    unknown_pool: str = ""
    """Why the pool afterwards cannot be computed; empty where it can."""


NO_CHANGE = Change()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two levers that cannot both be done."""

    left: OptionId
    right: OptionId
    why: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a launch command, quoted for a shell."""

    text: str
    changed: bool
    """True where the plan put it there or changed it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The combined effect of several levers; figures as in ``Estimate``."""

    options: tuple[OptionId, ...]
    flags: tuple[str, ...] = ()
    """Flags of all of them, each once; the fraction as combined."""
    fraction: float | None = None
    tokens: int | None = None
    tokens_why: str = ""
    fits: float | None = None
    fits_basis: str = ""
    running: tuple[float, float] | None = None
    """Running requests of the busiest rank, before and after."""
    stream_tok_s: tuple[float, float] | None = None
    """Tokens a second of one running request, before and after."""
    wait_s: tuple[float, float] | None = None
    """Seconds that a request queues, before and after, by Little's law; None where the length of answers is unknown."""
    tok_s: Range | None = None
    tok_s_why: str = ""
    headroom_gib: float | None = None
    host_gb: float | None = None
    risk: Risk = "none"
    risk_text: str = ""
    restart: bool = False
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    """How the levers work on each other; sentences."""
    command: tuple[Word, ...] = ()
    """The whole launch command; empty where the log shows neither a command nor settings."""
    command_basis: str = ""
    """Where the command comes from; one clause."""
    removed: tuple[str, ...] = ()
    """Words of today's command that are gone."""
    change: Change = NO_CHANGE
    """The same as arithmetic: what the parts come to together."""
    beside: tuple[str, ...] = ()
    """What is not a launch flag: what clients send, what is done on the machine."""
