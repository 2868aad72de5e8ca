"""All that a view, a rule or a lever ever gets: what was read, and what was made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtui.domain.account import Account
from kvtui.domain.admission import Band
from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate
from kvtui.domain.events import Event
from kvtui.domain.finding import Finding
from kvtui.domain.health import SourceHealth, SourceState
from kvtui.domain.ledger import GpuLedger
from kvtui.domain.notice import Notice
from kvtui.domain.periods import Periods
from kvtui.domain.samples import EMPTY_TIMELINE, Timeline
from kvtui.domain.settings import USUAL, Thresholds
from kvtui.domain.workload import Workload

if TYPE_CHECKING:
    from kvtui.domain.gpu import GpuReading
    from kvtui.domain.host import HostReading
    from kvtui.domain.http_reading import HttpReading
    from kvtui.domain.process import FoundServer

__all__ = ["EMPTY_FRAME", "Analysis", "Frame", "ReadCounts", "SourceHealth", "SourceState"]


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
    sampled: bool = False
    """True: the samples are pages of metrics, which show some decode ticks; False: batch lines, which show each."""
    http: HttpReading | None = None
    """What the server answers; None where it is not asked."""
    gpus: GpuReading | None = None
    """What the driver tells; None where there is none to ask."""
    host: HostReading | None = None
    """The machine around the GPUs; None where it is not this one."""
    found: FoundServer | None = None
    """The server's processes on this machine; None where it was not found here."""
    notices: tuple[Notice, ...] = ()
    """What must be known of the readings themselves, the most urgent first."""

    @property
    def boot(self) -> Boot | None:
        """The chosen boot, or None where the source shows none."""
        return self.boots[self.chosen] if self.boots else None

    @property
    def start(self) -> tuple[int, int, float | None]:
        """Which process the frame is of: two frames that differ in it say nothing of one another."""
        return len(self.boots), self.chosen, self.http.restarted_at if self.http is not None else None


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
    periods: Periods = ()
    """What the verdicts were over time, as far as it was watched or worked out."""
    thresholds: Thresholds = USUAL
    """From when on the rules spoke."""
    last_load: tuple[Finding, ...] = ()
    """What limited the last load of a server at rest: what options are worth under it; empty where it works."""
