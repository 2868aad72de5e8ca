"""All that a view, a rule or a lever ever gets: what was read, and what was made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvtui.domain.account import Account
from kvtui.domain.admission import Band
from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate
from kvtui.domain.events import Event
from kvtui.domain.finding import Finding
from kvtui.domain.ledger import GpuLedger
from kvtui.domain.samples import EMPTY_TIMELINE, Timeline
from kvtui.domain.workload import Workload

SourceState = Literal["live", "ended", "waiting", "failed"]


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """How one source is doing."""

    name: str
    """``log``, ``metrics``, ``nvml``."""
    target: str
    """What it reads, secrets removed."""
    state: SourceState
    reason: str = ""
    """Why it failed or waits; one sentence."""
    since: float | None = None
    """Since when it is in that state, on the wall clock."""
    last_at: float | None = None
    """Stamp of its newest value, on the source's clock."""


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """What reading a log met: the proof that nothing was passed over."""

    lines: int = 0
    memory_lines: int = 0
    prefill_lines: int = 0
    decode_lines: int = 0
    batch_lines_thinned: int = 0
    """Older batch lines of which only some are kept."""
    unreadable_lines: int = 0
    """Lines that looked like one of ours but could not be read."""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """What was read, up to ``now``."""

    now: float | None
    """The newest time on the source's clock; a finished log's last stamp."""
    finished: bool
    """True: a log that is judged over its own span; False: it grows."""
    boots: tuple[Boot, ...] = ()
    chosen: int = -1
    """Index of the boot that is shown, into ``boots``."""
    timeline: Timeline = EMPTY_TIMELINE
    """Samples of the chosen boot, whole."""
    events: tuple[Event, ...] = ()
    """Events of the chosen boot."""
    sources: tuple[SourceHealth, ...] = ()
    counts: ReadCounts = ReadCounts()
    notes: tuple[str, ...] = ()
    """What could not be read; sentences."""
    timelines: tuple[Timeline, ...] = ()
    """Samples of every boot, in the order of ``boots``; empty where the source keeps one only."""

    @property
    def boot(self) -> Boot | None:
        """The chosen boot, or None where the source shows none."""
        return self.boots[self.chosen] if self.boots else None


EMPTY_FRAME = Frame(now=None, finished=True)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A frame with what was made of it."""

    frame: Frame
    account: Account
    ledgers: tuple[GpuLedger, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The primary verdict first, then the other axis, then banners."""
    estimates: tuple[Estimate, ...] = ()
    """Best first."""
    workload: Workload | None = None
    """The load of the newest minutes; None where no batch line tells it."""
    band: Band | None = None
    """How many requests of that load one data-parallel rank admits; None where it cannot be computed."""
    notes: tuple[str, ...] = ()
