"""What of the server pane changes only when a column of its chart is complete: sparklines and the chart's strokes.

Between two columns the newest samples move the numbers alone. Drawing the courses anew with each sample would cost
more than all else on the screen, and would show the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.buckets import Fold, Point, bucket, stacked
from kvtui.domain.events import Event
from kvtui.domain.frame import Analysis
from kvtui.present.history import BACK, History, retractions, retractions_of
from kvtui.present.plot import Mark, Series
from kvtui.present.state import ViewState

SIGNALS: Final[Mapping[str, Fold]] = {
    "running": "sum",
    "queued": "sum",
    "usage": "max",
    "gen_tput": "sum",
    "input_tput": "sum",
    "accept_len": "mean",
    "swa_usage": "max",
    "mamba_usage": "max",
}
"""Columns of the timeline that have a course, and how ranks are folded in each."""
Points = tuple[list[float], list[float]]

MARKS: Final = 200
"""Newest retractions that are marked on a chart."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The retractions from the begin of a stretch on, as ``history.retractions`` gives them."""

    events: tuple[Event, ...]
    """Of the frame that they were taken from."""
    xs: list[float]
    ys: list[float]


@dataclass(frozen=True, slots=True)
class Courses:
    """The courses of one stretch of time; numbers are read from ``told``, which grows until the next column."""

    told: History
    columns: int
    """Of a sparkline."""
    samples: int
    """How many of the stretch the courses are made of."""
    sparks: Mapping[str, tuple[float, ...]]
    """A value a column by signal, nan in a gap; without the signals that no sample has."""
    hits: tuple[float, ...]
    """Cached share of the prompt tokens a column; empty where nothing was prefilled."""
    load: tuple[Series, ...]
    """The chart's strokes."""
    retracted: tuple[float, ...]
    """Requests that were put back a column."""
    marks: tuple[Mark, ...]
    returned: Returned
    """Grows with what comes, as ``told`` does."""
    highs: tuple[float | None, ...]
    """The largest value of each of the strokes."""

    def spark(self, name: str) -> tuple[float, ...]:
        """A signal's course."""
        return self.sparks.get(name) or (math.nan,) * self.columns

    def value(self, name: str) -> Point | None:
        """A signal at the moment that is shown; None where no sample has it."""
        return self.told.value(name, SIGNALS[name], 0 if name in self.sparks else self.samples)

    def hit_share(self) -> Point | None:
        """See ``History.hit_share``."""
        return self.told.hit_share(0 if self.hits else self.samples)


def courses(state: ViewState, told: History, columns: int, before: Courses | None = None) -> Courses:
    """The courses of a stretch; those of ``before``, where it is the same stretch."""
    if before is not None and before.columns == columns and _same(before.told, told):
        return replace(before, told=told, returned=_returned(state.analysis, told, before.returned))
    points = {name: told.points(name, how) for name, how in SIGNALS.items()}
    hits = told.hit_columns(columns) if told.hit_share() is not None else ()
    returned = _returned(state.analysis, told)
    load = _strokes(told, points["running"], points["queued"])
    return Courses(
        told=told,
        columns=columns,
        samples=len(told.timeline),
        sparks={name: told.spark(found, columns) for name, found in points.items() if found[0]},
        hits=hits,
        load=load,
        retracted=bucket(returned.xs, returned.ys, told.start, told.stop, columns).total,
        marks=_marks(returned.xs, told),
        returned=returned,
        highs=tuple(series.high for series in load),
    )


def _returned(analysis: Analysis, told: History, before: Returned | None = None) -> Returned:
    """The retractions; where only further events came since ``before``, a log's or a page's, only those are looked at."""
    events = analysis.frame.events
    if before is not None and events[: len(before.events)] == before.events:
        fresh = [event for event in events[len(before.events) :] if event.kind == "retract"]
        # Whatever lies before an event that is old is not looked at: not even what was taken before.
        if all(_place(event, told) >= told.start - BACK for event in fresh):
            xs, ys = retractions_of(fresh, told.kind, told.start)
            return Returned(events, before.xs + xs, before.ys + ys)
    return Returned(events, *retractions(analysis, told.kind, told.start))


def _place(event: Event, told: History) -> float:
    at = event.at if told.kind == "time" else float(event.line)
    return math.inf if at is None or not math.isfinite(at) else at


def retraction_marks(analysis: Analysis, told: History) -> tuple[Mark, ...]:
    """The newest retractions of a stretch, for its chart."""
    return _marks(retractions(analysis, told.kind, told.start)[0], told)


def _marks(xs: list[float], told: History) -> tuple[Mark, ...]:
    seen = [x for x in xs if told.start <= x <= told.stop]
    return tuple(Mark(x, "▼", "warn") for x in seen[-MARKS:])


def load_series(told: History) -> tuple[Series, ...]:
    """Running and running + queued as strokes of a chart."""
    return _strokes(told, told.points("running"), told.points("queued"))


def _strokes(told: History, running: Points, queued: Points) -> tuple[Series, ...]:
    whole = Series("running + queued", "label", told.line(stacked(running, queued)))
    return (whole, Series("running", "kv-used", told.line(running), heavy=True))


def _same(old: History, new: History) -> bool:
    """True where the same samples lie in the same stretch: what came since is not in it yet."""
    return (
        (old.start, old.stop, old.columns, old.ranks) == (new.start, new.stop, new.columns, new.ranks)
        and old.timeline.columns is new.timeline.columns
        and old.timeline.start == new.timeline.start
    )
