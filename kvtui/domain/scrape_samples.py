"""Pages of ``/metrics`` as rows of a ``SampleStore``, so that rules made for batch lines work without a log.

A page shows the newest decode tick, not every tick, so these rows sample the ticks that a log would print. A row of kind
``PREFILL`` stands for all prefill passes between two pages: callers of ``workload.observe`` pass ``chunk=None`` for them.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kvtui.domain.events import Event
from kvtui.domain.rank import Rank
from kvtui.domain.reading import Known, Reading
from kvtui.domain.samples import DECODE, PREFILL
from kvtui.domain.scrape import RankRow, Scrape

_GAUGES: Final = (
    ("running", "running"),
    ("queued", "queued"),
    ("tokens", "used_tokens"),
    ("swa_tokens", "swa_used_tokens"),
    ("swa_usage", "swa_usage"),
    ("mamba_slots", "mamba_used"),
    ("mamba_usage", "mamba_usage"),
    ("graph", "graph"),
    ("accept_len", "accept_len"),
    ("accept_rate", "accept_rate"),
    ("prealloc", "prealloc_queued"),
    ("transfer", "transfer_queued"),
    ("inflight", "inflight_queued"),
    ("bootstrap", "bootstrap_queued"),
    ("occupancy", "occupancy"),
)
"""Column of a sample, and field of a ``RankRow``."""
_MOVES: Final = ("running", "queued", "used_tokens", "usage", "gen_tput")
_PASSES: Final = ("graph_passes_total", "eager_passes_total")
_PAGES: Final = 600
_REMEMBERED: Final = 30
_TELLING: Final = 0.2
_KEYS_LIMIT: Final = 8_192
_ROUNDING: Final = 0.006
"""``token_usage`` is rounded to 2 decimals in new releases."""


class SampleFeed:
    """Turns page after page into rows. Only the reader of a source feeds it.

    A prefill pass refreshes the gauges too, and its ``num_running_reqs`` leaves out the requests of that pass. Right after a
    decode tick ``decode_sum_seq_lens`` (0.5.9 and later) equals the used tokens, as long as requests share no prefix: where
    that is seen at all, only such pages count as decode rows. Elsewhere the mean of ``running`` reads a little low.
    """

    def __init__(self) -> None:
        self._before: Scrape | None = None
        self._ticked: dict[tuple[str, int, int], deque[bool]] = {}
        self._passes: deque[tuple[float, int]] = deque(maxlen=_PAGES)

    @property
    def steps_per_row(self) -> float | None:
        """Decode steps that one decode row stands for, over the newest pages; None before 0.5.9, where nothing counts them.

        What ``workload.observe`` takes as ``decode_interval`` for these rows.
        """
        steps, rows = sum(steps for steps, _ in self._passes), sum(rows for _, rows in self._passes)
        return steps / rows if steps > 0 and rows else None

    def push(self, scrape: Scrape) -> tuple[dict[str, float], ...]:
        """Rows for what changed since the page before; empty where nothing did."""
        before, self._before = self._before, scrape
        for row in scrape.stage_rows():
            if _is_busy(row):
                self._ticked.setdefault(row.key, deque(maxlen=_REMEMBERED)).append(is_decode_tick(row))
        if len(self._ticked) > _KEYS_LIMIT:
            self._ticked.clear()
        telling = frozenset(key for key, seen in self._ticked.items() if sum(seen) >= _TELLING * len(seen))
        rows = rows_between(before, scrape, telling)
        pairs = [(before.row(row.key), row) for row in scrape.stage_rows()] if before is not None else []
        grown = [_growth(old, row, name) for old, row in pairs for name in _PASSES]
        self._passes.append((sum(steps for steps in grown if steps), sum(row["kind"] == DECODE for row in rows)))
        return rows


def is_decode_tick(row: RankRow) -> bool:
    """True where the gauges of a row are surely those of a decode tick; pages of KV are rounded up for each request."""
    used, lengths, running = (_value(reading) for reading in (row.used_tokens, row.seq_len_sum, row.running))
    if used is None or lengths is None or running is None:
        return False
    page = _value(row.page_size) or 1.0
    return -1 < used - lengths <= running * (page - 1) + 0.5


def _is_busy(row: RankRow) -> bool:
    return (_value(row.running) or 0.0) > 0


def rows_between(
    before: Scrape | None, after: Scrape, telling: frozenset[tuple[str, int, int]] = frozenset()
) -> tuple[dict[str, float], ...]:
    """Rows for what changed from one page to the next; empty where nothing did. ``before`` None: the first page.

    ``telling``: rows in which decode ticks can be told from prefill passes (``SampleFeed``).
    """
    rows: list[dict[str, float]] = []
    for row in after.stage_rows():
        old = None if before is None else before.row(row.key)
        if before is not None and before.whole and after.whole:
            prefill = _prefill(old, row, after.at, after.at - before.at)
            if prefill is not None:
                rows.append(prefill)
        if row.key in telling and _is_busy(row) and not is_decode_tick(row):
            continue
        decode = _decode(old, row, after.at)
        if decode is not None:
            rows.append(decode)
    return tuple(rows)


def events_between(before: Scrape | None, after: Scrape) -> tuple[Event, ...]:
    """Retractions that happened between two pages, from the counter (0.5.9 and later)."""
    if before is None or not (before.whole and after.whole):
        return ()
    found = []
    for row in after.stage_rows():
        grown = _growth(before.row(row.key), row, "retracted_total")
        if grown:
            text = f"{grown:.0f} request{'' if round(grown) == 1 else 's'} retracted (sglang:num_retracted_requests_total)"
            found.append(Event("retract", after.at, 0, text, Rank(dp=row.dp, pp=row.pp), {"retracted": grown}))
    return tuple(found)


def sample_of(row: RankRow, at: float) -> dict[str, float]:
    """One rank's gauges as a row of kind ``DECODE``; columns that the page does not tell are left out."""
    values = {"at": at, "kind": DECODE, "dp": float(row.dp), "pp": float(row.pp)}
    for column, name in (*_GAUGES, ("gen_tput", "gen_tput")):
        value = _value(getattr(row, name))
        if value is not None:
            values[column] = value
    usage = _usage(row)
    if usage is not None:
        values["usage"] = usage
    return values


def _decode(old: RankRow | None, row: RankRow, at: float) -> dict[str, float] | None:
    if old is not None and all(_value(getattr(old, name)) == _value(getattr(row, name)) for name in _MOVES):
        return None
    values = sample_of(row, at)
    if old is not None and _value(old.gen_tput) == _value(row.gen_tput):
        # A prefill tick refreshed the other gauges: the throughput belongs to an earlier batch.
        values.pop("gen_tput", None)
    return values


def _prefill(old: RankRow | None, row: RankRow, at: float, seconds: float) -> dict[str, float] | None:
    computed, cached = _growth(old, row, "prefill_compute_total"), _growth(old, row, "prefill_cache_total")
    if seconds <= 0 or not (computed or cached):
        return None
    values = sample_of(row, at)
    values.update(kind=PREFILL, new_token=computed or 0.0, cached_token=cached or 0.0, input_tput=(computed or 0.0) / seconds)
    for name in ("gen_tput", "accept_len", "accept_rate"):
        values.pop(name, None)
    admitted = _growth(old, row, "admitted_total")
    if admitted is not None:
        values["new_seq"] = admitted
    return values


def _growth(old: RankRow | None, row: RankRow, name: str) -> float | None:
    """Growth of a counter; None where the row does not tell it or a restart lies between. A series appears with its first event."""
    value = _value(getattr(row, name))
    if value is None:
        return None
    before = 0.0 if old is None else _value(getattr(old, name)) or 0.0
    return value - before if value >= before else None


def _usage(row: RankRow) -> float | None:
    """The full-attention pool's share in use, as exact as the page allows."""
    told = _value(row.full_usage)
    told = _value(row.usage) if told is None else told
    used, pool = _value(row.kv_used_tokens), _value(row.pool_tokens)
    if used is None or not pool:
        return told
    exact = used / pool
    return exact if told is None or abs(exact - told) <= _ROUNDING else told


def _value(reading: Reading[float]) -> float | None:
    return reading.value if isinstance(reading, Known) else None
