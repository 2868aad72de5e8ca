"""What one server has told so far: the newest answer of each kind, and what follows from several."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from kvtui.domain.answers import Loads, ModelInfo, ServerInfo
from kvtui.domain.events import Event
from kvtui.domain.latency import Latency, LatencyMeter
from kvtui.domain.load_samples import load_rows_between
from kvtui.domain.motion import Motion, MotionWatch
from kvtui.domain.rates import RateMeter, Rates
from kvtui.domain.reading import Known, Missing
from kvtui.domain.release import Release, parse_release
from kvtui.domain.scrape import Scrape
from kvtui.domain.scrape_samples import SampleFeed, events_between

LOADS_SINCE: Final = (0, 5, 9)
LOADS_FREE_SINCE: Final = (0, 5, 15)
"""From here on ``/v1/loads`` reads shared memory and does not disturb the scheduler."""
_BACKLOG: Final = 20_000
"""Rows and events kept for the next read."""
_LOADS_S: Final = 60.0
_LOADS_KEPT: Final = 64
"""Answers of ``/v1/loads`` that later ones are set against: how old, how many."""
_NOT_YET: Final = Missing("not read yet")
_RESTARTED: Final = Missing("the server was restarted: asked again within a minute")


class ServerMemory:
    """Fed by one source; everything it gives is immutable."""

    def __init__(self) -> None:
        self.scrape: Scrape | Missing = _NOT_YET
        self.rates: Rates | Missing = _NOT_YET
        self.latency: Latency | Missing = _NOT_YET
        self.info: ServerInfo | Missing = _NOT_YET
        self.load_state: Loads | Missing = _NOT_YET
        self.model: ModelInfo | Missing = _NOT_YET
        self.restarted_at: float | None = None
        self.pages = 0
        self._rate_meter, self._latency_meter = RateMeter(), LatencyMeter()
        self._watch, self._feed = MotionWatch(), SampleFeed()
        self._rows: list[dict[str, float]] = []
        self._past_loads: deque[Loads] = deque(maxlen=_LOADS_KEPT)
        self._events: list[Event] = []
        self._away = False

    @property
    def release(self) -> Release | None:
        """As the server names it, or None."""
        if isinstance(self.info, ServerInfo) and self.info.release is not None:
            return self.info.release
        return parse_release(self.load_state.version) if isinstance(self.load_state, Loads) else None

    @property
    def loads_before(self) -> Loads | None:
        """The oldest answer of ``/v1/loads`` of the last minute; None where there is but one."""
        return self._past_loads[0] if len(self._past_loads) > 1 else None

    @property
    def loads_exist(self) -> bool:
        """False where this release has no ``/v1/loads``."""
        return self.release is None or self.release.base >= LOADS_SINCE

    @property
    def loads_are_free(self) -> bool:
        """True where ``/v1/loads`` may be asked each second."""
        return self.release is not None and self.release.base >= LOADS_FREE_SINCE

    @property
    def has_served(self) -> bool:
        """False where the page shows that no request ever came; True also where no page tells."""
        if not isinstance(self.scrape, Scrape):
            return True
        counters = self.scrape.counters
        told = [counters.requests, counters.generation_tokens, counters.prompt_tokens, counters.http_active]
        told += [reading for row in self.scrape.ranks for reading in (row.running, row.decode_total, row.admitted_total)]
        return any(isinstance(reading, Known) and reading.value > 0 for reading in told)

    @property
    def motion(self) -> Motion:
        """Whether the values move."""
        return self._watch.judge()

    @property
    def steps_per_row(self) -> float | None:
        """See ``SampleFeed.steps_per_row``."""
        return self._feed.steps_per_row

    def page(self, scrape: Scrape) -> bool:
        """A new page; True where it shows that the server is another process than before."""
        before, reset = self.scrape, self._rate_meter.reset_at
        self.rates = self._rate_meter.push(scrape)
        anew = self._away or self._rate_meter.reset_at != reset
        if anew:
            self._away, self.restarted_at = False, scrape.at
            self._watch = MotionWatch()
            self.info, self.load_state, before = _RESTARTED, _RESTARTED, _RESTARTED
            self._past_loads.clear()
        self.latency, self.scrape = self._latency_meter.push(scrape), scrape
        self._watch.page(scrape)
        self._rows += self._feed.push(scrape)
        self._events += events_between(before if isinstance(before, Scrape) else None, scrape)
        del self._rows[:-_BACKLOG], self._events[:-_BACKLOG]
        self.pages += 1
        return anew

    def loads(self, loads: Loads, *, alone: bool) -> None:
        """A new answer of ``/v1/loads``; ``alone``: there is no metrics page, so it has to make the rows."""
        before, self.load_state = self.load_state, loads
        self._past_loads.append(loads)
        while loads.at - self._past_loads[0].at > _LOADS_S:
            self._past_loads.popleft()
        self._watch.loads(loads)
        if alone:
            self._rows += load_rows_between(before if isinstance(before, Loads) else None, loads)
            del self._rows[:-_BACKLOG]

    def went_away(self, at: float) -> None:
        """Nothing listens any more: what comes back is another process, whatever its counters say."""
        if not self._away and isinstance(self.scrape, Scrape):
            self._away = True
            self._rate_meter.forget(at)
            self._latency_meter.forget()
            self._feed = SampleFeed()

    def told(self) -> dict[str, Any]:
        """The fields of an ``HttpReading`` that follow from the answers; rows and events are those since the call before."""
        rows, events = self.drain()
        return {
            "scrape": self.scrape,
            "rates": self.rates,
            "latency": self.latency,
            "server_info": self.info,
            "loads": self.load_state,
            "loads_before": self.loads_before,
            "motion": self.motion,
            "rows": rows,
            "events": events,
            "steps_per_row": self.steps_per_row,
            "restarted_at": self.restarted_at,
            "has_served": self.has_served,
        }

    def drain(self) -> tuple[tuple[dict[str, float], ...], tuple[Event, ...]]:
        """Rows and events since the last call."""
        rows, events = tuple(self._rows), tuple(self._events)
        self._rows, self._events = [], []
        return rows, events
