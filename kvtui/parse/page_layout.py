"""A page like the one before, merged without sorting it again.

A server's series hardly change from page to page, only their values do. Where each value goes is worked out once, by
the rules of ``scrape_merge``, and used again for as long as the same series come back with values that can be true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Union

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.release import Release
from kvtui.domain.scrape import Counters, GpuRow, Histogram, RankRow, Scrape
from kvtui.parse import scrape_merge as rules
from kvtui.parse.metric_names import (
    COUNTER_NAMES,
    GPU_NAMES,
    HISTOGRAM_NAMES,
    HTTP_ACTIVE,
    MONITORING,
    NAMES,
    NUM_PAGES,
    PAGES_INFO,
    PREFIX,
    Name,
    absent,
)
from kvtui.parse.series import Place, Series

Sample = tuple[Series, float]
Told = Mapping[str, Union[Missing, "_Field"]]
"""A reading by its field: where its value stands, or why there is none."""


@dataclass(frozen=True, slots=True)
class _Field:
    """Where the values of one reading stand on the page."""

    picks: tuple[tuple[int, ...], ...]
    """One a tensor rank; of several the largest or the first counts."""
    how: Callable[[Sequence[float]], float]
    """What the values of one rank come to."""
    where: Where
    largest: bool = False
    zero: Missing | None = None
    """What a 0 means, where it is no value."""

    def read(self, values: Sequence[float], at: float) -> Reading[float]:
        """The reading on a page with these values."""
        first = self.picks[0]
        value = values[first[0]] if len(first) == 1 else self.how([values[i] for i in first])
        if self.largest and len(self.picks) > 1:
            value = max(value, *[values[pick[0]] if len(pick) == 1 else self.how([values[i] for i in pick]) for pick in self.picks[1:]])
        return self.zero if self.zero is not None and value == 0 else Known(value, at, self.where)


@dataclass(frozen=True, slots=True)
class _Buckets:
    """Where a histogram stands on the page: for each limit one bucket a label set."""

    limits: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    sums: tuple[int, ...]

    def read(self, values: Sequence[float]) -> Histogram:
        counts, highest = [], 0.0
        for places in self.counts:
            highest = max(highest, math.fsum([values[i] for i in places]))
            counts.append(highest)
        return Histogram(self.limits, tuple(counts), math.fsum([values[i] for i in self.sums]))


@dataclass(frozen=True, slots=True)
class _Row:
    """One scheduler that reports load."""

    places: tuple[Place, ...]
    told: Told
    page_size: float
    """As a label tells it, where the gauge does not; 0: neither does."""

    def read(self, values: Sequence[float], at: float) -> RankRow:
        lead = self.places[0]
        readings = _read(self.told, values, at)
        if self.page_size and isinstance(readings["page_size"], Missing):
            readings["page_size"] = Known(self.page_size, at, rules.where_of(PREFIX + PAGES_INFO))
        return RankRow(engine_type=lead.engine, dp=lead.dp, pp=lead.pp, tp=lead.tp, **readings)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where everything stands on a page."""

    model: str
    rows: tuple[_Row, ...]
    gpus: tuple[tuple[Place, Told], ...]
    counters: Told
    histograms: Mapping[str, Missing | _Buckets]
    num_pages: tuple[int, ...]
    extra: Mapping[str, float]
    """Facts of labels."""
    notes: tuple[str, ...]
    torn: tuple[str, ...]
    """The same of a page that is not whole."""

    def scrape(self, values: Sequence[float], at: float, *, whole: bool) -> Scrape:
        pages = {"num_pages": min(values[i] for i in self.num_pages)} if self.num_pages else self.extra
        return Scrape(
            at=at,
            model=self.model,
            ranks=tuple([row.read(values, at) for row in self.rows]),
            gpus=tuple([GpuRow(dp=p.dp, pp=p.pp, tp=p.tp, **_read(told, values, at)) for p, told in self.gpus]),
            counters=Counters(**_read(self.counters, values, at)),
            ttft=self._histogram("ttft", values),
            itl=self._histogram("itl", values),
            e2e=self._histogram("e2e", values),
            queue_time=self._histogram("queue_time", values),
            whole=whole,
            extra=MappingProxyType(dict(pages)),
            notes=self.notes if whole else self.torn,
        )

    def _histogram(self, name: str, values: Sequence[float]) -> Histogram | Missing:
        found = self.histograms[name]
        return found if isinstance(found, Missing) else found.read(values)


def _read(told: Told, values: Sequence[float], at: float) -> dict[str, Reading[float]]:
    return {name: found if isinstance(found, Missing) else found.read(values, at) for name, found in told.items()}


def _layout(series: Sequence[Series], page: Scrape, release: Release | None) -> _Layout | None:
    """The layout of a page of these series, all with values that can be true; None where what counts hangs on the values.

    ``page``: such a page, merged.
    """
    # The rules sort values; sorting the places of the values instead tells where each goes.
    heap = rules.sort_out((found, float(i)) for i, found in enumerate(series))
    found = rules.load_places(heap)
    engines = sorted({engine for engine, _, _ in found})
    role = engines[0] if engines else ""
    histograms = {entry.field: _histogram(heap, entry, role, getattr(page, entry.field)) for entry in HISTOGRAM_NAMES}
    if None in histograms.values():
        return None
    info = heap.plain.get(PREFIX + PAGES_INFO)
    size = rules.whole_number(info[0][0].watched.get("page_size", "")) if info else 0
    return _Layout(
        model=heap.model,
        rows=tuple(
            _Row(tuple(places), {entry.field: _gauge(heap, entry, places, release) for entry in NAMES}, float(size))
            for places in found.values()
        ),
        gpus=_gpus(heap, release),
        counters=_counters(heap, role, release),
        histograms={name: plan for name, plan in histograms.items() if plan is not None},
        num_pages=_places(heap.plain.get(PREFIX + NUM_PAGES, ())),
        extra=page.extra,
        notes=rules.notes_on(heap, engines, whole=True),
        torn=rules.notes_on(heap, engines, whole=False),
    )


def _places(found: Sequence[tuple[object, float]]) -> tuple[int, ...]:
    return tuple(int(i) for _, i in found)


def _gauge(heap: rules.Heap, entry: Name, places: Sequence[Place], release: Release | None) -> Missing | _Field:
    for short in entry.names:
        name = PREFIX + short
        ranked = heap.ranked.get(name, {})
        picks = [_of_mode(ranked[place], entry) for place in places if place in ranked]
        picks = [pick for pick in picks if pick]
        if picks:
            zero = Missing(f"{name} is 0: not set yet or not in use") if entry.zero_is_missing else None
            how: Callable[[Sequence[float]], float] = math.fsum if entry.mode else max
            return _Field(tuple(picks), how, rules.where_of(name, entry.mode), entry.largest, zero)
    return absent(entry, release)


def _of_mode(found: Sequence[tuple[str, float]], entry: Name) -> tuple[int, ...]:
    return tuple(int(i) for mode, i in found if not entry.mode or (mode.startswith(entry.mode) and mode != entry.but_not))


def _gpus(heap: rules.Heap, release: Release | None) -> tuple[tuple[Place, Told], ...]:
    named = {entry.field: heap.ranked.get(PREFIX + entry.names[0], {}) for entry in GPU_NAMES}
    rows: list[tuple[Place, Told]] = []
    for place in sorted({place for ranked in named.values() for place in ranked}):
        told: dict[str, Missing | _Field] = {}
        for entry in GPU_NAMES:
            found = named[entry.field].get(place)
            where = rules.where_of(PREFIX + entry.names[0])
            told[entry.field] = _Field((_places(found),), math.fsum, where) if found else absent(entry, release)
        rows.append((place, told))
    return tuple(rows)


def _counters(heap: rules.Heap, role: str, release: Release | None) -> Told:
    told: dict[str, Missing | _Field] = {}
    for entry in COUNTER_NAMES:
        name = PREFIX + entry.names[0]
        found = [sample for sample in heap.plain.get(name, ()) if rules.of_role(sample[0], role)]
        told[entry.field] = _Field((_places(found),), math.fsum, rules.where_of(name)) if found else absent(entry, release)
    active = heap.plain.get(PREFIX + HTTP_ACTIVE)
    clients = [sample for sample in active or () if not sample[0].watched.get("endpoint", "").startswith(MONITORING)]
    where = rules.where_of(PREFIX + HTTP_ACTIVE)
    told["http_active"] = _Field((_places(clients),), math.fsum, where) if active else absent(rules.ACTIVE_NAME, release)
    return told


def _histogram(heap: rules.Heap, entry: Name, role: str, made: Histogram | Missing) -> Missing | _Buckets | None:
    """Where the buckets of each limit stand; None where it hangs on the counts which of them count.

    ``made``: the histogram of such a page.
    """
    name = PREFIX + entry.names[0]
    labels: dict[tuple[tuple[str, str], ...], tuple[int, dict[float, int]]] = {}
    for series, i in heap.plain.get(name + "_bucket", ()):
        if math.isnan(series.limit) or series.place.pp > 0 or not rules.of_role(series, role):
            continue
        tp, buckets = labels.setdefault(series.group, (series.place.tp, {}))
        if tp != series.place.tp or series.limit in buckets or len(buckets) >= rules.BUCKET_LIMIT:
            return None
        buckets[series.limit] = int(i)
    if isinstance(made, Missing):
        return made
    groups = {(group, tp) for group, (tp, _) in labels.items()}
    counts = tuple(tuple(buckets[limit] for _, buckets in labels.values()) for limit in made.limits)
    sums = [sample for sample in heap.plain.get(name + "_sum", ()) if (sample[0].group, sample[0].place.tp) in groups]
    return _Buckets(made.limits, counts, _places(sums))


class Merger:
    """``scrape_merge.merge`` for page after page of one server."""

    def __init__(self) -> None:
        self._series: list[Series] = []
        self._release: Release | None = None
        self._layout: _Layout | None = None

    def merge(self, samples: Sequence[Sample], at: float, release: Release | None = None, *, whole: bool = True) -> Scrape:
        """As ``scrape_merge.merge`` gives it."""
        kept = [sample for sample in samples if rules.is_told(*sample)]
        values = [value for _, value in kept]
        if not all(0 <= value < rules.VALUE_LIMIT for value in values):
            return rules.merge(samples, at, release, whole=whole)
        series = [found for found, _ in kept]
        if series != self._series or release != self._release:
            self._series, self._release = series, release
            self._layout = _layout(series, rules.merge(kept, at, release), release)
        if self._layout is None:
            return rules.merge(samples, at, release, whole=whole)
        return self._layout.scrape(values, at, whole=whole)
