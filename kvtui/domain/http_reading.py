"""All that one server says over HTTP, as far as it is known now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, Union

from kvtui.domain.answers import Loads, ModelInfo, ServerInfo
from kvtui.domain.events import Event
from kvtui.domain.frame import SourceHealth
from kvtui.domain.latency import Latency
from kvtui.domain.motion import Motion
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Missing
from kvtui.domain.scrape import Scrape

FailureKind = Literal[
    "refused",  # nothing listens
    "unreachable",  # no such host, no route
    "timeout",  # no answer in time
    "tls",
    "unauthorized",  # 401
    "forbidden",  # 403
    "not-found",  # 404
    "redirect",
    "server-error",  # 5xx
    "status",  # any other status
    "broken",  # half an answer, a protocol error
    "too-big",
    "not-metrics",  # a web page, bytes, another program
    "not-json",
    "unsuitable",  # this release does not offer it
]
_P = TypeVar("_P", Scrape, Rates, Latency, ServerInfo, Loads, ModelInfo)
Part = Union[Scrape, Rates, Latency, ServerInfo, Loads, ModelInfo, Missing]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an endpoint gave nothing."""

    kind: FailureKind
    reason: str
    """A sentence that says what to do; secrets removed."""


@dataclass(frozen=True, slots=True)
class HttpReading:
    """What is known at ``now``. Each part is the newest that was read and carries its own time, so it may be old."""

    now: float
    target: str
    """The server's address, secrets removed."""
    scrape: Scrape | Missing
    rates: Rates | Missing
    latency: Latency | Missing
    server_info: ServerInfo | Missing
    loads: Loads | Missing
    model: ModelInfo | Missing
    motion: Motion
    health: tuple[SourceHealth, ...]
    """One an endpoint: ``metrics``, ``server_info``, ``loads``, ``model_info``."""
    failures: Mapping[str, Failure]
    """By the same names: those that fail now."""
    rows: tuple[Mapping[str, float], ...] = ()
    """Samples since the last read, oldest first: rows for a ``SampleStore``."""
    events: tuple[Event, ...] = ()
    """Events since the last read."""
    steps_per_row: float | None = None
    """Decode steps that one decode row stands for (``SampleFeed.steps_per_row``)."""
    restarted_at: float | None = None
    """When the server was last seen to be another process."""
    loads_before: Loads | None = None
    """An earlier answer of ``/v1/loads`` of the same process, up to a minute older: what is counted since the start tells little of now."""
    has_served: bool = True
    """False where no request ever came: some releases answer ``/server_info`` only after the first one."""
    notes: tuple[str, ...] = ()

    def age(self, part: Part) -> float | None:
        """Seconds since a part was read; None where it is missing."""
        return None if isinstance(part, Missing) else max(0.0, self.now - part.at)

    @property
    def answered(self) -> bool:
        """True where at least one endpoint gave something."""
        return not all(isinstance(part, Missing) for part in (self.scrape, self.server_info, self.loads, self.model))

    @property
    def settled(self) -> bool:
        """True once every endpoint was tried and counters could be compared, or cannot be."""
        waits = any(health.state == "waiting" and not health.reason.startswith("this release") for health in self.health)
        return not waits and (not isinstance(self.rates, Missing) or "metrics" in self.failures)

    @property
    def scheduler_stuck(self) -> bool:
        """True where the HTTP process answers and the scheduler does not, or nothing moves on a busy server."""
        info = self.failures.get("server_info")
        mute = info is not None and info.kind == "timeout" and "model_info" not in self.failures
        return self.motion.state == "stuck" or (mute and self.has_served)


def _later(part: _P | Missing, seconds: float) -> _P | Missing:
    return part if isinstance(part, Missing) else replace(part, at=part.at + seconds)


def shifted(http: HttpReading, seconds: float) -> HttpReading:
    """The reading on another clock: ``seconds`` added to every time that is compared or shown. Rows and events are left out."""
    if not seconds:
        return http

    def moved(at: float | None) -> float | None:
        return None if at is None else at + seconds

    motion = http.motion
    return replace(
        http,
        now=http.now + seconds,
        scrape=_later(http.scrape, seconds),
        rates=_later(http.rates, seconds),
        latency=_later(http.latency, seconds),
        server_info=_later(http.server_info, seconds),
        loads=_later(http.loads, seconds),
        model=_later(http.model, seconds),
        motion=replace(
            motion,
            gauges_at=moved(motion.gauges_at),
            counters_at=moved(motion.counters_at),
            loads_at=moved(motion.loads_at),
            changed_at=moved(motion.changed_at),
            rest=replace(motion.rest, since=moved(motion.rest.since)),
        ),
        health=tuple(health.shifted(seconds) for health in http.health),
        restarted_at=moved(http.restarted_at),
        rows=(),
        events=(),
    )
