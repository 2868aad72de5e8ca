"""Do the values still move? A gauge does not vanish when its scheduler hangs: it keeps its last value.

Gauges refresh on prefill batches, every ``decode_log_interval`` decode steps and each 30 s when idle; realtime counters
and the stamps of ``/v1/loads`` move on their own (facts/observability.md 0.9 and 1.3). So what stands still beside
something that moves is stale, and a busy server on which nothing moves is stuck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.answers import Loads
from kvtui.domain.reading import Known, Reading, value_or
from kvtui.domain.resting import NO_REST, Rest, RestWatch
from kvtui.domain.scrape import Scrape
from kvtui.domain.units import duration

FRESH_S: Final = 6.0
"""Moved within that many seconds: it moves."""
STALE_S: Final = 15.0
"""Stood still for longer while something else moved: stale. 40 decode steps of 200 ms take 8 s."""
IDLE_REFRESH_S: Final = 35.0
"""A server that became idle refreshes its gauges within 30 s: what still claims requests later is stuck."""

MotionState = Literal["unknown", "moving", "idle", "still", "gauges-frozen", "loads-frozen", "stuck"]

_GAUGES: Final = ("running", "queued", "used_tokens", "usage", "gen_tput", "kv_available_tokens", "new_token_ratio")
_COUNTERS: Final = ("decode_total", "prefill_compute_total", "admitted_total")


@dataclass(frozen=True, slots=True)
class Motion:
    """When each kind of value last changed, on the console's clock; None: never seen."""

    state: MotionState = "unknown"
    reason: str = ""
    """One sentence for what is not well; empty where all is."""
    gauges_at: float | None = None
    counters_at: float | None = None
    loads_at: float | None = None
    changed_at: float | None = None
    """When any of them was last seen to change, which a first page or answer does not show."""
    rest: Rest = NO_REST
    """Since when it has nothing to do."""


class MotionWatch:
    """Compares each page and each answer with the one before. Only the reader of a source feeds it."""

    def __init__(self) -> None:
        self._gauges: tuple[object, ...] = ()
        self._counters: tuple[object, ...] = ()
        self._loads: object = None
        self._gauges_at: float | None = None
        self._counters_at: float | None = None
        self._loads_at: float | None = None
        self._running, self._queued, self._loads_running = 0.0, 0.0, 0.0
        self._open, self._open_then = 0.0, 0.0
        """Requests open at the HTTP side now, and when a value last moved. Only growth tells: 0.5.9 does not count streams,
        0.5.23 goes on counting some that have ended."""
        self._stamped = False
        self._page_at: float | None = None
        self._loads_seen: list[float] = []
        self._changed_at: float | None = None
        self._works_from = -math.inf
        """When the counters began to move after they had stood: gauges that stood until then were those of an idle server."""
        self._rest = RestWatch()

    def page(self, scrape: Scrape) -> None:
        """A new page."""
        rows = scrape.stage_rows()
        gauges = tuple(_value(getattr(row, name)) for row in rows for name in _GAUGES)
        counters = tuple(_value(getattr(row, name)) for row in rows for name in _COUNTERS)
        counters += (_value(scrape.counters.generation_tokens), _value(scrape.counters.requests))
        if counters != self._counters and (self._counters_at is None or scrape.at - self._counters_at >= FRESH_S):
            self._works_from = scrape.at
        if self._gauges_at is not None and (gauges != self._gauges or counters != self._counters):
            self._changed_at = scrape.at
        active = value_or(scrape.counters.http_active, 0.0)
        if gauges != self._gauges or counters != self._counters:
            self._open_then = active
        if gauges != self._gauges or self._gauges_at is None:
            self._gauges, self._gauges_at = gauges, scrape.at
        if counters != self._counters or self._counters_at is None:
            self._counters, self._counters_at = counters, scrape.at
        self._running = value_or(scrape.sum("running").reading, 0.0)
        self._queued = value_or(scrape.sum("queued").reading, 0.0)
        self._open = active
        self._page_at = scrape.at
        self._rest.page(scrape)

    def loads(self, loads: Loads) -> None:
        """A new answer of ``/v1/loads``."""
        told: object = loads.newest_stamp
        self._stamped = told is not None
        if told is None:
            told = tuple((_value(row.running), _value(row.used_tokens), _value(row.gen_tput)) for row in loads.rows)
        if told != self._loads and self._loads_at is not None:
            self._changed_at = loads.at
        if told != self._loads or self._loads_at is None:
            self._loads, self._loads_at = told, loads.at
        self._loads_running = sum(value_or(row.running, 0.0) for row in loads.rows)
        self._loads_seen = [*self._loads_seen[-1:], loads.at]
        self._rest.loads(loads)

    def judge(self) -> Motion:
        """What the values seen so far say, as of the newest page or answer."""
        newest = max((at for at in (self._page_at, *self._loads_seen) if at is not None), default=None)
        state: MotionState = "unknown"
        reason = ""
        if newest is not None:
            state, reason = self._state(newest)
        return Motion(state, reason, self._gauges_at, self._counters_at, self._loads_at, self._changed_at, self._rest.judge())

    def _state(self, now: float) -> tuple[MotionState, str]:
        never = float("inf")
        # How long they stood still while pages came: pages that do not come show nothing.
        page = self._page_at if self._page_at is not None else now
        gauges, counters = (never if at is None else page - at for at in (self._gauges_at, self._counters_at))
        loads = never if self._loads_at is None else now - self._loads_at
        if self._gauges_at is None:
            return ("moving" if loads < FRESH_S else "unknown"), ""
        busy = self._running > 0 or self._queued > 0
        works = counters < FRESH_S or (self._often() and loads < FRESH_S and self._loads_running > 0)
        stale = min(gauges, now - self._works_from)
        if stale >= STALE_S and works:
            return "gauges-frozen", (
                f"The gauges of /metrics have not moved for {duration(stale)} while the server generates: "
                "their numbers are old (a large --decode-log-interval does that too)."
            )
        if self._often() and loads >= STALE_S and gauges < FRESH_S and busy:
            return "loads-frozen", f"/v1/loads has not moved for {duration(loads)} while /metrics does: its numbers are old."
        if self._often() and self._stamped and min(gauges, counters, loads) >= STALE_S:
            # From 0.5.15 on an idle scheduler still writes its snapshot each second.
            return (
                "stuck",
                f"The scheduler has written nothing for {min(gauges, counters, loads):.0f} s, not even to /v1/loads: it seems to hang.",
            )
        if not busy and self._loads_running <= 0:
            return "idle", ""
        still = min(gauges, counters, loads if self._often() else never)
        if still >= IDLE_REFRESH_S or (still >= STALE_S and (self._queued > 0 or self._open > self._open_then)):
            return "stuck", (
                f"Nothing has moved for {duration(still)} although {self._running:.0f} requests run and {self._queued:.0f} wait: "
                "the scheduler seems to hang."
            )
        if still >= STALE_S:
            return "still", f"Nothing has moved for {duration(still)}; an idle server refreshes its gauges within 30 s."
        return "moving", ""

    def _often(self) -> bool:
        """True where /v1/loads is asked often enough to say anything about motion."""
        return len(self._loads_seen) == 2 and self._loads_seen[1] - self._loads_seen[0] < FRESH_S


def _value(reading: Reading[float]) -> float | None:
    return reading.value if isinstance(reading, Known) else None
