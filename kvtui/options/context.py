"""What a lever may look at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.admission import Interval, need_interval, remaining_interval
from kvtui.domain.banding import ratio_of
from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.finding import Finding, VerdictId
from kvtui.domain.identity import effective_release
from kvtui.domain.reading import Known, Missing, Reading, optional
from kvtui.domain.release import Release, parse_release
from kvtui.domain.throughput import Curve, Interconnect, prior
from kvtui.domain.workload import Workload

POOL_LIMITS: Final = frozenset({"kv-capacity", "reservation", "retraction", "sub-pool"})
"""Verdicts under which a larger pool lets more requests run."""


def finite(reading: Known[float] | Missing) -> float | None:
    """The number, or None where it is missing or not finite."""
    value = optional(reading)
    return value if value is not None and math.isfinite(value) else None


_NOT_FITTED: Final = Missing("no decode samples were looked at")
_NO_DRIVER: Final = Missing("the driver was not asked")


@dataclass(frozen=True, slots=True)
class OptionContext:
    """One server as the levers see it."""

    account: Account
    workload: Workload
    findings: tuple[Finding, ...] = ()
    fraction: float | None = None
    """The ``mem_fraction_static`` under the cursor; None where nobody moved it."""
    boot: Boot | None = None
    host_available_gb: float | None = None
    """Free host memory, decimal GB."""
    fit: Curve | Missing = _NOT_FITTED
    """R0 from this server's own samples (``throughput.fit``)."""
    interconnect: Interconnect | None = None
    """How the GPUs of one rank group are joined, where known."""
    events: tuple[Event, ...] = ()
    bandwidth: Reading[float] = _NO_DRIVER
    """Peak memory bandwidth of a GPU, bytes a second, from its clock and bus width; the slowest GPU of the server."""
    foreign_gib: Reading[float] = _NO_DRIVER
    """GiB that other processes hold on the GPU where they hold most."""

    @property
    def limit(self) -> VerdictId | None:
        """What limits how many requests run at once; None where no rule could tell."""
        known = (f.id for f in self.findings if f.axis == "concurrency" and f.id != "not-enough-data")
        return next(known, None)

    @property
    def waits_for_pool(self) -> bool:
        """True where requests stand in the queue before a decode server because its pool is full (facts/diagnoses.md V15)."""
        queue = self.found("pd-queue") if self.limit == "pd-queue" else None
        return queue is not None and not {"raise-fraction", "fp8-kv"}.isdisjoint(queue.fixes)

    def found(self, verdict: VerdictId) -> Finding | None:
        """The finding of that id, wherever it stands."""
        return next((f for f in self.findings if f.id == verdict), None)

    @property
    def pool(self) -> int | None:
        """Tokens of one rank's pool: reported, else by the formula."""
        told = optional(self.account.tokens_reported)
        return told if told is not None else optional(self.account.tokens_predicted)

    @property
    def release(self) -> Release | None:
        """The server's release; else the newest that the log's wording allows; None: unknown."""
        told = optional(self.account.identity.version)
        release = parse_release(told) if told is not None else None
        if release is None and self.boot is not None:
            return effective_release(self.boot)[0]
        return release

    @property
    def before_0_5_15(self) -> bool:
        """True where the release is known to size the pool before the draft loads (0.5.12 and earlier)."""
        return self.release is not None and self.release.base < (0, 5, 15)

    @property
    def replicas(self) -> int:
        """Data-parallel ranks, each with a pool of its own."""
        return max(1, optional(self.account.identity.dp) or 1)

    @property
    def processes(self) -> int:
        """GPU processes of the whole server."""
        identity = self.account.identity
        world = (optional(identity.tp) or 1) * (optional(identity.pp) or 1)
        return world if identity.dp_attention else world * self.replicas

    @property
    def speculation(self) -> bool:
        """True where a draft is set."""
        return self.boot is not None and self.boot.text("speculative_algorithm") is not None

    @property
    def conservativeness(self) -> float:
        """``schedule_conservativeness`` as set, 1.0 where unset."""
        told = self.boot.number("schedule_conservativeness") if self.boot is not None else None
        return told if told is not None and 0 < told < 100 else 1.0

    @property
    def link(self) -> Interconnect | None:
        """The interconnect as given, else as the log's own all-reduce line tells it."""
        if self.interconnect is not None:
            return self.interconnect
        return "pcie" if any(event.kind != "retract" and "PCIe-only" in event.text for event in self.events) else None

    @property
    def curve(self) -> Curve:
        """R0 of this server's own samples, else of similar servers."""
        if isinstance(self.fit, Curve):
            return self.fit
        return prior(resident=finite(self.workload.resident), speculation=self.speculation, interconnect=self.link)

    @property
    def cap(self) -> int | None:
        """Effective running cap of one rank."""
        return optional(self.account.running_cap)

    def graphs_cover(self, running: float) -> bool:
        """True where decode graphs are known to be captured up to ``running`` requests."""
        if self.boot is None or self.boot.switch("disable_cuda_graph"):
            return False
        captured = [float(max(c.batch_sizes)) for m in self.boot.ranks for c in m.captures if c.batch_sizes and not c.draft]
        told = (self.boot.number(name) for name in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"))
        return max([*captured, *(batch for batch in told if batch is not None)], default=0.0) >= running

    def need(self) -> Interval | None:
        """Tokens that admission charges for one more request."""
        prompt = finite(self.workload.prompt)
        if prompt is None:
            return None
        return need_interval(prompt=prompt, output=finite(self.workload.output), context_len=optional(self.account.context_len))

    def ratio(self) -> Interval:
        """What ``new_token_ratio`` may be."""
        return ratio_of(self.boot, self.events)

    def remaining(self) -> Interval:
        """Clipped tokens a running request may still generate."""
        return remaining_interval(output=finite(self.workload.output), context_len=optional(self.account.context_len))

    def rank_load(self) -> tuple[Reading[float], Reading[float]]:
        """Running and queued requests of the busiest rank."""
        busiest = self.workload.busiest
        if busiest is None:
            return self.workload.running, self.workload.queued
        return busiest.running, busiest.queued
