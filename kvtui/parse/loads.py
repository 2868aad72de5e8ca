"""``/v1/loads`` (facts/observability.md 2.4): 0.5.9 to 0.5.12 with aggregates, from 0.5.15 on a stamp a rank."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kvtui.domain.answers import LoadRow, Loads
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.parse.json_body import listed, mapping, number, reading, text

_WHERE: Final = "/v1/loads"
_ROWS_LIMIT: Final = 512
_PD_QUEUES: Final = ("prefill_bootstrap", "prefill_prealloc", "prefill_inflight", "decode_prealloc", "decode_transfer", "decode_retracted")


def read_loads(document: Mapping[str, object], at: float) -> Loads | Missing:
    """An answer as ``Loads``; Missing where it is none. Never raises.

    A rank that has not written its first snapshot answers zeros with the stamp 0: its numbers are Missing.
    """
    if not isinstance(document.get("loads"), list):
        return Missing("the answer holds no list of loads: this is another program")
    found = listed(document["loads"])[:_ROWS_LIMIT]
    rows = [_row(index, row, at) for index, row in enumerate(found) if isinstance(row, dict)]
    notes = [f"{len(found) - len(rows)} rows of /v1/loads cannot be read."] if len(rows) < len(found) else []
    return Loads(
        at=at,
        version=text(document, "version", 60),
        accelerator=text(document, "accelerator", 100),
        rows=tuple(sorted(rows, key=lambda row: row.dp)),
        notes=tuple(notes),
    )


def _row(index: int, row: Mapping[str, object], at: float) -> LoadRow:
    rank = number(row.get("dp_rank"))
    dp = int(rank) if rank is not None and 0 <= rank < 4_096 else index
    stamp = number(row.get("timestamp"))
    if stamp is not None and stamp <= 0:
        return _unwritten(dp)
    memory, spec, pd = (mapping(row.get(key)) for key in ("memory", "speculative", "disaggregation"))

    def told(key: str) -> Reading[float]:
        return reading(row, key, at, _WHERE)

    mode = text(pd, "mode", 40)
    busy = told("total_prefill_busy_us")
    return LoadRow(
        dp=dp,
        stamp=stamp,
        running=told("num_running_reqs"),
        waiting=told("num_waiting_reqs"),
        used_tokens=told("num_used_tokens"),
        total_tokens=told("num_total_tokens"),
        waiting_uncached_tokens=told("num_waiting_uncached_tokens"),
        pool_tokens=told("max_total_num_tokens"),
        running_cap=told("max_running_requests"),
        usage=told("token_usage"),
        gen_tput=told("gen_throughput"),
        cache_hit_rate=told("cache_hit_rate"),
        accept_len=reading(spec, "accept_length", at, _WHERE),
        weight_gib=reading(memory, "weight_gb", at, _WHERE),
        kv_gib=reading(memory, "kv_cache_gb", at, _WHERE),
        graph_gib=reading(memory, "graph_gb", at, _WHERE),
        queues=MappingProxyType(_queues(mapping(row.get("queues")), pd)),
        mode="" if mode == "null" else mode,
        prefill_tokens_total=told("total_prefill_uncached_tokens"),
        prefill_busy_s_total=Known(busy.value / 1e6, at, busy.where) if isinstance(busy, Known) else busy,
    )


def _unwritten(dp: int) -> LoadRow:
    why = Missing("this rank has not written its first snapshot")
    return LoadRow(dp=dp, running=why, waiting=why, used_tokens=why, total_tokens=why, usage=why, gen_tput=why, pool_tokens=why)


def _queues(queues: Mapping[str, object], pd: Mapping[str, object]) -> dict[str, float]:
    found = {
        name: value
        for name in ("waiting", "grammar", "paused", "retracted", "prealloc_ready")
        if (value := number(queues.get(name))) is not None
    }
    found.update({name: value for name in _PD_QUEUES if (value := number(pd.get(f"{name}_queue_reqs"))) is not None and value > 0})
    return found
