"""What a rule found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kvtui.domain.picture import Picture

Axis = Literal["concurrency", "step", "banner"]
Confidence = Literal["low", "medium", "high"]

VerdictId = Literal[
    "kv-capacity", "running-cap", "reservation", "prefill", "decode-bandwidth", "decode-compute", "client", "retraction",
    "prefix-miss", "hicache", "cuda-graph", "speculation", "allreduce", "dp-imbalance", "pd-queue", "clocks", "foreign-memory",
    "cpu", "grammar", "head-of-line", "sub-pool", "host-pressure", "hardware-fault", "headroom", "measurement", "leftover-flags",
    "server-stuck", "startup-failure", "healthy", "not-enough-data",
]  # fmt: skip
VERDICT_IDS: tuple[VerdictId, ...] = get_args(VerdictId)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One proof: a sentence with its number, when and where it was read."""

    text: str
    where: str = ""
    """Log line, metric, formula."""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Ruled:
    """A look-alike that lost, and why."""

    verdict: VerdictId
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its proof."""

    id: VerdictId
    title: str
    """A few words: "KV capacity limits concurrency"."""
    sentence: str
    """One sentence with the numbers that prove it."""
    axis: Axis
    confidence: Confidence
    since: float | None = None
    """Seconds on the source's clock from which it holds."""
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[Ruled, ...] = ()
    fixes: tuple[str, ...] = ()
    """Option ids, best first."""
    advice: tuple[str, ...] = ()
    """Sentences with exact commands where no option fits."""
    verify: tuple[str, ...] = ()
    """How to check afterwards that a fix worked."""
    needs: tuple[str, ...] = ()
    """Signals that are missing and would settle it, and how to get them."""
    anew: bool = False
    """True where it judges only what came since the situation changed at ``since``: it has lasted as long as that."""
    at_rest: bool = False
    """True where the server has nothing to do."""
    pictures: tuple[Picture, ...] = ()
    """The series that prove it, the one that says most first; empty where no series is kept that could."""
