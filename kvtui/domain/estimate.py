"""What a lever would do here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kvtui.domain.plan import NO_CHANGE, Change

OptionId = Literal[
    "raise-fraction", "lower-fraction", "fp8-kv", "fp4-kv", "hicache", "cap-max-new-tokens", "conservativeness", "max-running-requests",
    "chunked-prefill", "cuda-graph-max-bs", "context-length", "drop-draft", "dp-attention", "dcp", "pp-for-tp", "page-size", "swa-ratio",
    "mamba-ratio", "free-other-processes", "tune-allreduce", "trim-speculation", "quantize-weights", "more-gpus", "cache-aware-routing",
    "remove-leftover-flags", "client-concurrency",
]  # fmt: skip
OPTION_IDS: tuple[OptionId, ...] = get_args(OptionId)

Risk = Literal["none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Range:
    """Tokens a second, with where the figures come from."""

    low: float
    mid: float
    high: float
    basis: str
    """"exact", "prior: ...", "fit of 38 samples, 18 to 56 running"."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A lever applied to this server."""

    id: OptionId
    title: str
    """As a person would say it: "raise fraction to 0.91"."""
    applies: bool
    why_not: str = ""
    """One clause, where it does not apply or does nothing here."""
    flags: tuple[str, ...] = ()
    """Exact flag text for this version."""
    tokens: int | None = None
    """Pool after the change; today's where the lever does not change it; None where unknown."""
    fits: float | None = None
    """Requests of the observed (else stated) mean size that the pool holds after the change."""
    fits_basis: str = ""
    tok_s: Range | None = None
    """Absolute tokens a second after the change; None where it cannot be estimated."""
    tok_s_why: str = ""
    """Why there is no throughput estimate; empty where there is one."""
    headroom_gib: float | None = None
    """Free GPU memory after the change, a GPU."""
    host_gb: float | None = None
    """Host memory needed in all, decimal GB."""
    risk: Risk = "none"
    risk_text: str = ""
    restart: bool = True
    verify: str = ""
    notes: tuple[str, ...] = ()
    rank: float = 0.0
    """Order in the pane: the higher the better; levers that do nothing are below 0."""
    change: Change = NO_CHANGE
    """The same as arithmetic, so that levers combine into plans."""

    @property
    def idle(self) -> bool:
        """True where it can be set and would change nothing here; ``why_not`` says why."""
        return self.applies and self.rank < 0 and bool(self.why_not)
