"""One page of ``/metrics``, merged: what each rank says, what the server says as a whole.

Merge rules: facts/observability.md 1.2 and 6. A row is one scheduler that reports load: one for each
(engine type, data-parallel rank, pipeline stage); tensor-parallel ranks hold shares of the same requests, so
they never add up. Times are seconds since the epoch on the console's own clock: a page carries none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kvtui.domain.reading import Known, Missing, Reading, Where

UNTOLD: Final = Missing("this page does not tell it")


@dataclass(frozen=True, slots=True)
class RankRow:
    """Load of one scheduler. Requests, tokens and slots of that rank's own pool; shares are 0 to 1."""

    engine_type: str
    """``unified``, ``prefill``, ``decode`` or ``dynamic``; releases up to 0.5.6 always say unified."""
    dp: int
    pp: int
    tp: int
    """The tensor-parallel rank whose gauges these are."""
    running: Reading[float] = UNTOLD
    queued: Reading[float] = UNTOLD
    grammar_queued: Reading[float] = UNTOLD
    """Requests that wait for their grammar to compile."""
    usage: Reading[float] = UNTOLD
    """Share of the pool held by running requests; evictable tokens do not count. In new releases the largest of all pools'."""
    full_usage: Reading[float] = UNTOLD
    """The same of the full-attention pool alone (0.5.10 and later)."""
    swa_usage: Reading[float] = UNTOLD
    mamba_usage: Reading[float] = UNTOLD
    used_tokens: Reading[float] = UNTOLD
    """Tokens that running requests hold, without evictable ones."""
    kv_used_tokens: Reading[float] = UNTOLD
    kv_evictable_tokens: Reading[float] = UNTOLD
    """Cached prefixes that are thrown out as soon as the room is needed."""
    kv_available_tokens: Reading[float] = UNTOLD
    """Free slots; used + evictable + available is the pool (0.5.12 and later)."""
    swa_used_tokens: Reading[float] = UNTOLD
    swa_evictable_tokens: Reading[float] = UNTOLD
    swa_available_tokens: Reading[float] = UNTOLD
    mamba_used: Reading[float] = UNTOLD
    mamba_evictable: Reading[float] = UNTOLD
    mamba_available: Reading[float] = UNTOLD
    gen_tput: Reading[float] = UNTOLD
    """Tokens a second over the newest decode interval, which may be long ago."""
    cache_hit_gauge: Reading[float] = UNTOLD
    """Of the last prefill batch; reset to 0 by decode ticks up to 0.5.18, so counters are better."""
    new_token_ratio: Reading[float] = UNTOLD
    accept_len: Reading[float] = UNTOLD
    accept_rate: Reading[float] = UNTOLD
    graph: Reading[float] = UNTOLD
    """1 where the last batch ran as a CUDA graph, else 0."""
    seq_len_sum: Reading[float] = UNTOLD
    """Tokens of the running batch's sequences together."""
    bootstrap_queued: Reading[float] = UNTOLD
    """PD prefill: requests that wait to be paired with a decode server."""
    inflight_queued: Reading[float] = UNTOLD
    """PD prefill: requests whose KV is on its way; their KV is still held."""
    prealloc_queued: Reading[float] = UNTOLD
    """PD decode: requests that wait for room."""
    transfer_queued: Reading[float] = UNTOLD
    """PD decode: requests whose KV is arriving; their room is reserved."""
    occupancy: Reading[float] = UNTOLD
    """Per cent of the time in which the GPU computes; needs SGLANG_ENABLE_METRICS_DEVICE_TIMER."""
    pool_tokens: Reading[float] = UNTOLD
    pool_tokens_swa: Reading[float] = UNTOLD
    page_size: Reading[float] = UNTOLD
    context_len: Reading[float] = UNTOLD
    host_used_tokens: Reading[float] = UNTOLD
    """HiCache's host tier."""
    host_total_tokens: Reading[float] = UNTOLD
    retracted_total: Reading[float] = UNTOLD
    """Requests put back since the start."""
    retracted_input_total: Reading[float] = UNTOLD
    retracted_output_total: Reading[float] = UNTOLD
    prefill_compute_total: Reading[float] = UNTOLD
    """Prompt tokens computed since the start; moves during a request (0.5.9 and later)."""
    prefill_cache_total: Reading[float] = UNTOLD
    """Prompt tokens found in the cache since the start."""
    decode_total: Reading[float] = UNTOLD
    """Tokens generated since the start; moves during a request."""
    admitted_total: Reading[float] = UNTOLD
    """Requests that left the queue since the start."""
    graph_passes_total: Reading[float] = UNTOLD
    """Decode passes that ran as a CUDA graph."""
    eager_passes_total: Reading[float] = UNTOLD
    """Decode passes without one."""
    idle_s_total: Reading[float] = UNTOLD
    """Seconds in which the scheduler had nothing to do (0.5.21 and later)."""

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells one row from another."""
        return (self.engine_type, self.dp, self.pp)


@dataclass(frozen=True, slots=True)
class GpuRow:
    """Memory of one rank's GPU as it told after its start. GiB; target model only."""

    dp: int
    pp: int
    tp: int
    startup_free_gib: Reading[float] = UNTOLD
    """Free once the server was up, other processes' use taken off: the headroom (0.5.12 and later)."""
    weight_gib: Reading[float] = UNTOLD
    kv_gib: Reading[float] = UNTOLD
    graph_gib: Reading[float] = UNTOLD
    """All graphs, drafts included (0.5.18 and later)."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A Prometheus histogram summed over its label sets; upper limits ascending, the last infinite; counts cumulative."""

    limits: tuple[float, ...]
    counts: tuple[float, ...]
    total: float
    """Sum of all observed values."""

    @property
    def count(self) -> float:
        """Observations."""
        return self.counts[-1] if self.counts else 0.0


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the whole server, since its start. They move when a request ENDS unless said otherwise."""

    prompt_tokens: Reading[float] = UNTOLD
    generation_tokens: Reading[float] = UNTOLD
    cached_tokens: Reading[float] = UNTOLD
    """Prompt tokens found in any cache."""
    requests: Reading[float] = UNTOLD
    aborted: Reading[float] = UNTOLD
    http_active: Reading[float] = UNTOLD
    """Requests open right now at endpoints that generate (a gauge; 0.5.9 and later)."""


@dataclass(frozen=True, slots=True)
class Total:
    """One gauge over all data-parallel ranks of one role."""

    reading: Reading[float]
    low: float | None = None
    """The lowest rank's value, where there are several."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Scrape:
    """One page, merged."""

    at: float
    """When its answer was complete, on the console's clock."""
    model: str = ""
    ranks: tuple[RankRow, ...] = ()
    gpus: tuple[GpuRow, ...] = ()
    counters: Counters = Counters()
    ttft: Histogram | Missing = UNTOLD
    """Seconds to the first token."""
    itl: Histogram | Missing = UNTOLD
    """Seconds between two tokens of one request."""
    e2e: Histogram | Missing = UNTOLD
    """Seconds from arrival to the end."""
    queue_time: Histogram | Missing = UNTOLD
    """Seconds in the queue."""
    whole: bool = True
    """False: the page was cut or partly unreadable, so what it lacks proves nothing."""
    refused: int = 0
    """Values that were left out: no numbers (NaN, infinite), negative, or too large to be true."""
    extra: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Facts without a rank: ``num_pages``."""
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know; sentences."""

    @property
    def usable(self) -> bool:
        """False where values were left out and no rank's load is among those that stay."""
        loads = (reading for row in self.ranks for reading in (row.running, row.usage, row.queued))
        return not self.refused or any(isinstance(reading, Known) for reading in loads)

    @property
    def role(self) -> str:
        """The engine type that is shown; a page of one server holds one."""
        return self.ranks[0].engine_type if self.ranks else ""

    def row(self, key: tuple[str, int, int]) -> RankRow | None:
        """The row of that key, if the page has it."""
        engine, dp, pp = key
        for row in self.ranks:
            if row.dp == dp and row.pp == pp and row.engine_type == engine:
                return row
        return None

    def stage_rows(self) -> tuple[RankRow, ...]:
        """One row a data-parallel rank of the shown role: the first pipeline stage, which sees every batch."""
        rows = [row for row in self.ranks if row.engine_type == self.role]
        first = min((row.pp for row in rows), default=0)
        return tuple(row for row in rows if row.pp == first)

    def sum(self, name: str) -> Total:
        """A field of ``RankRow`` added over data-parallel ranks: running, queued, used tokens, throughput."""
        return _fold(self.stage_rows(), name, "sum")

    def highest(self, name: str) -> Total:
        """A share (``usage`` and its like): the fullest rank over ranks and stages, since a mean hides a full one."""
        return _fold(tuple(row for row in self.ranks if row.engine_type == self.role), name, "highest")

    def gen_tput(self) -> Total:
        """Throughput gauges added over data-parallel ranks; of the pipeline stages the largest counts."""
        best: dict[int, RankRow] = {}
        for row in self.ranks:
            if row.engine_type == self.role and (row.dp not in best or _number(row.gen_tput) > _number(best[row.dp].gen_tput)):
                best[row.dp] = row
        return _fold(tuple(best.values()), "gen_tput", "sum")

    def pool_tokens(self) -> Total:
        """Tokens of the whole server: the smallest stage of each data-parallel rank, added over ranks."""
        smallest: dict[int, RankRow] = {}
        for row in self.ranks:
            if row.engine_type != self.role or not isinstance(row.pool_tokens, Known):
                continue
            kept = smallest.get(row.dp)
            if kept is None or row.pool_tokens.value < _number(kept.pool_tokens):
                smallest[row.dp] = row
        return _fold(tuple(smallest.values()) or self.stage_rows(), "pool_tokens", "sum")


def _number(reading: Reading[float]) -> float:
    return reading.value if isinstance(reading, Known) else -math.inf


def _fold(rows: Sequence[RankRow], name: str, how: str) -> Total:
    readings: list[Reading[float]] = [getattr(row, name) for row in rows]
    known = [reading for reading in readings if isinstance(reading, Known)]
    if not known:
        return Total(next((r for r in readings if isinstance(r, Missing)), Missing("no rank reports its load yet")))
    if how == "sum" and len(known) < len(readings):
        return Total(Missing(f"{len(readings) - len(known)} of {len(readings)} data-parallel ranks do not tell it"))
    values = [reading.value for reading in known]
    first = known[0]
    if len(known) == 1:
        return Total(first)
    value = math.fsum(values) if how == "sum" else max(values)
    word = "sum" if how == "sum" else "highest"
    where = Where(first.where.kind, f"{first.where.detail}, {word} of {len(known)} ranks")
    return Total(Known(value, first.at, where), min(values), max(values))
