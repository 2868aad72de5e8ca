"""What a rule sees, and the small questions that every rule asks of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kvtui.diagnose.live import completed, current, sampled, shift
from kvtui.diagnose.page_prefill import with_prefill_share
from kvtui.diagnose.pauses import newest_load
from kvtui.diagnose.regime import WHOLE, Regime, newest_regime
from kvtui.domain import live_boot
from kvtui.domain.account import Account
from kvtui.domain.admission import CONSERVATIVENESS, Band
from kvtui.domain.banding import band_of
from kvtui.domain.batches import RankLoad
from kvtui.domain.boot import Boot
from kvtui.domain.events import Event, EventKind
from kvtui.domain.finding import Confidence, Evidence
from kvtui.domain.frame import Frame
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.samples import Timeline
from kvtui.domain.scrape import Scrape
from kvtui.domain.settings import USUAL, Thresholds
from kvtui.domain.workload import DECODE_INTERVAL, WINDOW_S, Workload, observe

ENOUGH_S: Final = 15.0
"""Seconds that a finding has to hold on a server that runs (facts/diagnoses.md 0.5)."""
ENOUGH_TICKS: Final = 3
"""Decode lines that a finding has to hold for, on a server that runs."""
SOLID_S: Final = 60.0
SOLID_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Context:
    """A frame with its arithmetic and its load."""

    frame: Frame
    account: Account
    workload: Workload
    band: Band | None = None
    stand_in: Boot | None = None
    """The server's settings as HTTP tells them, where no log shows a start."""
    interval: float = DECODE_INTERVAL
    """Decode steps that one decode sample stands for."""
    changed_at: float | None = None
    """When the load changed and what is judged began; None where the whole window is of one kind."""
    thresholds: Thresholds = USUAL
    """From when on the rules speak."""

    @property
    def boot(self) -> Boot | None:
        """The boot that is judged."""
        return self.frame.boot or self.stand_in

    @property
    def sampled(self) -> bool:
        """True where the samples come from metrics pages, not from batch lines."""
        return sampled(self.frame)

    def stamp(self, wall: float | None) -> float | None:
        """A time of the wall clock, as answers and drivers carry it, on the clock of the samples."""
        return None if wall is None else wall + shift(self.frame)

    @property
    def told_by(self) -> str:
        """What the samples come from, as a sentence names it."""
        logged = self.boot is not None and self.boot.last_line > 0
        return "The metrics" if self.sampled or (self.frame.http is not None and not logged) else "The log"

    @property
    def rank(self) -> RankLoad | None:
        """The rank that admission is judged by: the busiest."""
        return self.workload.busiest

    def told(self, sentence: str) -> str:
        """A sentence on the busiest rank, with its name where there are several."""
        ranks = len(self.workload.ranks)
        if self.rank is None or ranks < 2:
            return sentence
        return f"On DP{self.rank.dp}, the busiest of {ranks} ranks: {sentence[0].lower()}{sentence[1:]}"

    @property
    def loaded(self) -> bool:
        """True where samples show requests for long enough to judge a load (a finished log: over its own span)."""
        if self.workload.empty:
            return False
        return self.frame.finished or (self.workload.decode_lines >= ENOUGH_TICKS and self.lasted)

    @property
    def lasted(self) -> bool:
        """True where the load was watched for long enough, however few lines it printed (a finished log: over its own span)."""
        span = read(self.workload.span_s)
        return self.frame.finished or span is None or span >= ENOUGH_S

    @property
    def confidence(self) -> Confidence:
        """How far a load can be trusted, by how long it was watched."""
        lines = self.workload.decode_lines + self.workload.prefill_lines
        span = read(self.workload.span_s)
        if lines < ENOUGH_TICKS or (span is not None and span < ENOUGH_S) or (span is None and lines < SOLID_LINES):
            return "low"
        return "high" if lines >= SOLID_LINES and span is not None and span >= SOLID_S else "medium"

    @property
    def queueing(self) -> bool:
        """True where the busiest rank has a queue most of the time."""
        return self.rank is not None and (read(self.rank.queue_share) or 0.0) >= self.thresholds.queue_share

    @property
    def conservativeness(self) -> float:
        """``schedule_conservativeness`` as set, 1 where unset."""
        told = self.boot.number("schedule_conservativeness") if self.boot is not None else None
        return told if told is not None and 0 < told < 100 else CONSERVATIVENESS

    @property
    def silent_s(self) -> float | None:
        """Seconds between the newest batch line and now, where both are known."""
        last = self.frame.timeline.last("at")
        return None if self.frame.now is None or last is None else max(0.0, self.frame.now - last[0])

    def events(self, *kinds: EventKind) -> Iterator[Event]:
        """Events of some kinds, in order."""
        return (event for event in self.frame.events if event.kind in kinds)

    @property
    def came_up(self) -> bool:
        """True where the boot is known to have become a server, or requests were seen."""
        if self.workload.decode_lines or self.workload.prefill_lines > 1 or any(self.events("ready")):
            return True
        answers = self.frame.http is not None and isinstance(self.frame.http.scrape, Scrape)
        if answers and (self.boot is None or self.boot.state == "up"):
            return True
        return self.boot is not None and self.boot.final is not None


def read(reading: Known[float] | Missing) -> float | None:
    """The value, or None: rules branch on it, views never see it."""
    return reading.value if isinstance(reading, Known) else None


def count(reading: Known[int] | Missing) -> int | None:
    """As ``read``, for whole numbers."""
    return reading.value if isinstance(reading, Known) else None


def proof(text: str, *readings: Known[float] | Known[int] | Missing) -> Evidence:
    """Evidence with the origin of the first known reading."""
    known = next((reading for reading in readings if isinstance(reading, Known)), None)
    if known is None:
        return Evidence(text)
    # Answers and drivers carry the wall clock, which need not be that of the samples.
    return Evidence(text, str(known.where), None if known.where.kind in {"http", "nvml", "host"} else known.at)


def witness(event: Event) -> Evidence:
    """Evidence that quotes a log line; an event that metrics showed has none."""
    where = Where("log", line=event.line) if event.line > 0 else Where("metric", "successive pages")
    return Evidence(event.text, str(where), event.at)


def first_at(context: Context) -> float | None:
    """From when on the window's findings hold."""
    return read(context.workload.first_at)


def context_of(frame: Frame, account: Account, *, window_s: float | None = WINDOW_S, thresholds: Thresholds = USUAL) -> Context:
    """The context of a frame: its newest load and the admission band, with the settings that its boot or its server shows."""
    frame = current(frame)
    account = completed(account, frame.http)
    stand_in = live_boot.boot_of(frame.http, frame.found) if frame.boot is None else None
    boot = frame.boot or stand_in
    final = boot.final if boot is not None else None
    interval = _interval(frame, boot)
    regime = _regime(frame, window_s)
    pool, context_len = count(account.tokens_reported), count(account.context_len)
    workload = observe(
        _stretch(frame.timeline, regime),
        frame.events,
        pool_tokens=pool,
        window_s=window_s,
        longest=min((limit for limit in (pool, context_len) if limit is not None and limit > 0), default=None),
        # A row out of metrics stands for many passes: its size says nothing of the chunk.
        chunk=final.chunked_prefill_size if final is not None and not sampled(frame) else None,
        decode_interval=interval,
    )
    workload = with_prefill_share(workload, frame.http) if sampled(frame) else workload
    band = band_of(workload, account, boot, frame.events)
    return Context(frame, account, workload, band, stand_in, interval or DECODE_INTERVAL, regime.since, thresholds)


def _stretch(timeline: Timeline, regime: Regime) -> Timeline:
    """The samples of a regime."""
    until = len(timeline) - len(timeline.since(math.nextafter(regime.until, math.inf))) if regime.until is not None else len(timeline)
    kept = timeline.slice(0, until)
    return kept if regime.since is None else kept.since(regime.since)


def _regime(frame: Frame, window_s: float | None) -> Regime:
    """The newest stretch of the window in which the load is of one kind."""
    if window_s is None:
        return WHOLE
    retractions = [event.at for event in frame.events if event.kind == "retract" and event.at is not None]
    last = frame.timeline.last("at")
    if last is not None:
        retractions = [at for at in retractions if at >= last[0] - window_s]
    begun = None if frame.finished else newest_load(frame.timeline, window_s)
    line = frame.timeline if begun is None else frame.timeline.since(begun)
    regime = newest_regime(line, window_s=window_s, finished=frame.finished, kept_from=min(retractions, default=None))
    return regime if regime.since is not None else replace(regime, since=begun)


def _interval(frame: Frame, boot: Boot | None) -> int | None:
    """Decode steps that one decode sample stands for, where anything tells."""
    if sampled(frame) and frame.http is not None and frame.http.steps_per_row is not None:
        return max(1, round(frame.http.steps_per_row))
    interval = boot.number("decode_log_interval") if boot is not None else None
    return int(interval) if interval is not None and 1 <= interval < 1e6 else None
