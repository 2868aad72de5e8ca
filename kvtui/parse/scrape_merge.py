"""Samples of one page, merged into a ``Scrape`` by the rules of facts/observability.md 1.2 and 6."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.release import Release
from kvtui.domain.scrape import Counters, GpuRow, Histogram, RankRow, Scrape
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

VALUE_LIMIT: Final = 1e18
BUCKET_LIMIT: Final = 1_000
_LOADS: Final = frozenset(
    PREFIX + name for name in ("num_running_reqs", "num_queue_reqs", "token_usage", "num_used_tokens", "gen_throughput")
)
"""What a server always has a number for; others (``fwd_occupancy``) are NaN until they mean something."""
ACTIVE_NAME: Final = Name("http_active", (HTTP_ACTIVE,), "0.5.9")


@dataclass(slots=True)
class Heap:
    """Samples in the order in which they are looked up."""

    ranked: dict[str, dict[Place, list[tuple[str, float]]]] = field(default_factory=dict)
    """By name, then by rank: mode label and value."""
    plain: dict[str, list[tuple[Series, float]]] = field(default_factory=dict)
    """By name: series and value, whatever the rank."""
    labelled: bool = False
    """True where any series names a rank."""
    model: str = ""
    impossible: int = 0


def merge(samples: Iterable[tuple[Series, float]], at: float, release: Release | None = None, *, whole: bool = True) -> Scrape:
    """One page as a ``Scrape``. ``at``: seconds since the epoch; ``release``, where known, words what is absent. Never raises."""
    heap = sort_out(samples)
    rows = load_places(heap)
    engines = sorted({engine for engine, _, _ in rows})
    role = engines[0] if engines else ""
    histograms = {entry.field: _histogram(heap, entry, role, release) for entry in HISTOGRAM_NAMES}
    return Scrape(
        at=at,
        model=heap.model,
        ranks=tuple(_row(heap, places, at, release) for places in rows.values()),
        gpus=_gpus(heap, at, release),
        counters=_counters(heap, role, at, release),
        **histograms,
        whole=whole,
        refused=heap.impossible,
        extra=MappingProxyType(pages_told(heap)),
        notes=notes_on(heap, engines, whole=whole),
    )


def notes_on(heap: Heap, engines: Sequence[str], *, whole: bool) -> tuple[str, ...]:
    """What a reader of the page's numbers must know."""
    notes = []
    if len(engines) > 1:
        notes.append(f"The page holds series of several roles ({', '.join(engines)}); sums are over {engines[0]} alone.")
    if engines and not heap.labelled:
        notes.append("This release labels no ranks: with data parallelism the ranks overwrite each other's values.")
    if heap.impossible:
        notes.append(f"Values of the page that are no numbers, or cannot be true, were left out: {heap.impossible}.")
    if not whole:
        notes.append("Only a part of the page could be read.")
    return tuple(notes)


def is_told(series: Series, value: float) -> bool:
    """False for a sample that says nothing: a breakdown beside its own total, or no number yet."""
    return series.usable and (value == value or series.name in _LOADS)  # noqa: PLR0124 (NaN alone differs from itself; this runs for each)


def sort_out(samples: Iterable[tuple[Series, float]]) -> Heap:
    """The samples that say something, where they are looked up; values that cannot be true are counted alone."""
    heap = Heap()
    for series, value in samples:
        if not is_told(series, value):
            continue
        if not 0 <= value < VALUE_LIMIT:
            heap.impossible += 1
            continue
        heap.model = heap.model or series.model
        heap.labelled = heap.labelled or series.labelled
        heap.plain.setdefault(series.name, []).append((series, value))
        if math.isnan(series.limit):
            heap.ranked.setdefault(series.name, {}).setdefault(series.place, []).append((series.mode, value))
    return heap


def load_places(heap: Heap) -> dict[tuple[str, int, int], list[Place]]:
    """The ranks that report load, by row; tensor ranks within a row ascending."""
    found: dict[tuple[str, int, int], list[Place]] = {}
    named = heap.ranked.get(PREFIX + "num_running_reqs") or heap.ranked.get(PREFIX + "token_usage") or {}
    for place in sorted(named):
        found.setdefault((place.engine, place.dp, place.pp), []).append(place)
    return found


def _row(heap: Heap, places: Sequence[Place], at: float, release: Release | None) -> RankRow:
    lead = places[0]
    values = {entry.field: _gauge(heap, entry, places, at, release) for entry in NAMES}
    page = heap.plain.get(PREFIX + PAGES_INFO)
    if page and isinstance(values["page_size"], Missing) and (size := whole_number(page[0][0].watched.get("page_size", ""))):
        values["page_size"] = Known(float(size), at, where_of(PREFIX + PAGES_INFO))
    return RankRow(engine_type=lead.engine, dp=lead.dp, pp=lead.pp, tp=lead.tp, **values)


@lru_cache(maxsize=512)
def where_of(name: str, mode: str = "") -> Where:
    """The origin of a reading."""
    return Where("metric", f"{name}{{mode={mode}}}" if mode else name)


def _gauge(heap: Heap, entry: Name, places: Sequence[Place], at: float, release: Release | None) -> Reading[float]:
    for short in entry.names:
        name = PREFIX + short
        series = heap.ranked.get(name)
        if series is None:
            continue
        values = [value for place in places if (value := _value(series.get(place, ()), entry)) is not None]
        if not values:
            continue
        value = max(values) if entry.largest else values[0]
        if value == 0 and entry.zero_is_missing:
            return Missing(f"{name} is 0: not set yet or not in use")
        return Known(value, at, where_of(name, entry.mode))
    return absent(entry, release)


def _value(found: Sequence[tuple[str, float]], entry: Name) -> float | None:
    """One rank's value: series of one mode added up; of several processes' series the newest cannot be told, so the largest."""
    if not entry.mode:
        return max((value for _, value in found), default=None)
    values = [value for mode, value in found if mode.startswith(entry.mode) and mode != entry.but_not]
    return math.fsum(values) if values else None


def _gpus(heap: Heap, at: float, release: Release | None) -> tuple[GpuRow, ...]:
    """One row a rank that exports its constants; all ranks do (0.5.12 and later)."""
    named = {entry.field: heap.ranked.get(PREFIX + entry.names[0], {}) for entry in GPU_NAMES}
    rows = []
    for place in sorted({place for series in named.values() for place in series}):
        readings: dict[str, Reading[float]] = {}
        for entry in GPU_NAMES:
            found = named[entry.field].get(place)
            # Graph memory has one series a phase.
            total = math.fsum(value for _, value in found) if found else 0.0
            readings[entry.field] = Known(total, at, where_of(PREFIX + entry.names[0])) if found else absent(entry, release)
        rows.append(GpuRow(dp=place.dp, pp=place.pp, tp=place.tp, **readings))
    return tuple(rows)


def of_role(series: Series, role: str) -> bool:
    """True for a series that counts on a page of this role."""
    return not role or series.engine is None or series.engine == role


def _counters(heap: Heap, role: str, at: float, release: Release | None) -> Counters:
    values: dict[str, Reading[float]] = {}
    for entry in COUNTER_NAMES:
        name = PREFIX + entry.names[0]
        found = [value for series, value in heap.plain.get(name, ()) if of_role(series, role)]
        values[entry.field] = Known(math.fsum(found), at, where_of(name)) if found else absent(entry, release)
    active = heap.plain.get(PREFIX + HTTP_ACTIVE)
    if active:
        clients = [value for series, value in active if not series.watched.get("endpoint", "").startswith(MONITORING)]
        values["http_active"] = Known(math.fsum(clients), at, where_of(PREFIX + HTTP_ACTIVE))
    else:
        values["http_active"] = absent(ACTIVE_NAME, release)
    return Counters(**values)


def _histogram(heap: Heap, entry: Name, role: str, release: Release | None) -> Histogram | Missing:
    """Buckets added over label sets; of pipeline stages only the first, of tensor ranks the one that counted most."""
    name = PREFIX + entry.names[0]
    by_rank: dict[tuple[tuple[tuple[str, str], ...], int], dict[float, float]] = {}
    for series, value in heap.plain.get(name + "_bucket", ()):
        if math.isnan(series.limit) or series.place.pp > 0 or not of_role(series, role):
            continue
        bucket = by_rank.setdefault((series.group, series.place.tp), {})
        if len(bucket) < BUCKET_LIMIT:
            bucket[series.limit] = max(value, bucket.get(series.limit, 0.0))
    best: dict[tuple[tuple[str, str], ...], tuple[float, int]] = {}
    for (group, tp), bucket in by_rank.items():
        best[group] = max(best.get(group, (-1.0, 0)), (max(bucket.values()), tp))
    chosen = {(group, tp) for group, (_, tp) in best.items()}
    buckets = [by_rank[key] for key in chosen]
    if not buckets:
        return absent(entry, release)
    limits = sorted({limit for bucket in buckets for limit in bucket})
    if any(len(bucket) != len(limits) for bucket in buckets):
        return Missing(f"the buckets of {name} differ between its series")
    if limits[-1] != math.inf:
        return Missing(f"{name} lacks its last bucket")
    counts, highest = [], 0.0
    for limit in limits:
        # A page is not taken at one instant: a later bucket may lag behind an earlier one.
        highest = max(highest, math.fsum(bucket[limit] for bucket in buckets))
        counts.append(highest)
    sums = [value for series, value in heap.plain.get(name + "_sum", ()) if (series.group, series.place.tp) in chosen]
    return Histogram(tuple(limits), tuple(counts), math.fsum(sums))


def whole_number(text: str) -> int:
    """A label as a whole number; 0 where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else 0


def pages_told(heap: Heap) -> dict[str, float]:
    """The pool's pages, by a gauge or by a label."""
    found = heap.plain.get(PREFIX + NUM_PAGES)
    if found:
        return {"num_pages": min(value for _, value in found)}
    info = heap.plain.get(PREFIX + PAGES_INFO)
    told = whole_number(info[0][0].watched.get("num_pages", "")) if info else 0
    return {"num_pages": float(told)} if told else {}
