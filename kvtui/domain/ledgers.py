"""GPU bars from a log's own lines: one ledger a rank, parts that sum to the whole.

A log does not know the card's size. The bar then covers what the rank saw free before the weights,
and says so; what was spent between two logged measurements without a line of its own is "other".
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.boot import Boot, RankMemory
from kvtui.domain.ledger import GpuLedger, Part, PartKind
from kvtui.domain.memory_facts import measured
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.domain.samples import Timeline

MOST_GIB = float(1 << 20)
"""No GPU holds a PiB; larger figures are not memory."""
_MOST_GPUS: Final = 256
"""GPUs that one reply is drawn for at most."""
_NEWEST: Final = 4_096
"""Samples that are looked at for the newest of each rank."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What one rank's lines say, GiB; None where they do not."""

    pre: float | None
    weights: float | None
    draft: float | None
    kv: float | None
    state: float | None
    draft_kv: float | None
    graphs: float | None
    free: float | None


def _first(readings: list[Reading[float]]) -> float | None:
    return next((r.value for r in readings if isinstance(r, Known)), None)


def _load_size(memory: RankMemory, *, draft: bool) -> float | None:
    sizes = []
    for load in memory.loads:
        if load.draft is not draft:
            continue
        if isinstance(load.usage_gib, Known):
            sizes.append(load.usage_gib.value)
        elif isinstance(load.begin_gib, Known) and isinstance(load.end_gib, Known):
            sizes.append(load.begin_gib.value - load.end_gib.value)
    return sum(sizes) if sizes else None


def _before(memory: RankMemory) -> float | None:
    if not memory.loads or memory.loads[0].draft:
        return None
    load = memory.loads[0]
    if isinstance(load.begin_gib, Known):
        return load.begin_gib.value
    if isinstance(load.end_gib, Known) and isinstance(load.usage_gib, Known):
        return load.end_gib.value + load.usage_gib.value
    return None


def _free(memory: RankMemory) -> float | None:
    if memory.final is not None and memory.final.available_gib is not None:
        return memory.final.available_gib
    captured = _first([c.end_gib for c in reversed(memory.captures)])
    if captured is not None:
        return captured
    return memory.pool_ends_gib[-1].value if memory.pool_ends_gib else None


def _told(memory: RankMemory, account: Account) -> _Told:
    def pools(*, draft: bool) -> float | None:
        sizes = [p.size_gib for p in memory.pools if p.draft is draft and p.size_gib is not None]
        return sum(sizes) if sizes else None

    kv = pools(draft=False)
    if kv is None and isinstance(account.kv_gib, Known):
        kv = account.kv_gib.value
    graphs = [c.usage_gib.value for c in memory.captures if isinstance(c.usage_gib, Known)]
    return _Told(
        pre=_before(memory),
        weights=_load_size(memory, draft=False),
        draft=_load_size(memory, draft=True),
        kv=kv,
        state=memory.state.size_gib if memory.state is not None else None,
        draft_kv=pools(draft=True),
        graphs=sum(graphs) if graphs else None,
        free=_free(memory),
    )


def _parts(told: _Told, total: float) -> tuple[Part, ...]:
    parts: list[Part] = []

    def put(kind: PartKind, size: float | None, detail: str) -> None:
        if size is not None and size > 0:
            parts.append(Part(kind, size, detail))

    put("weights", told.weights, "of the target model")
    put("state", told.state, "of linear-attention layers")
    put("kv", told.kv, "of the target model")
    draft = (told.draft or 0.0) + (told.draft_kv or 0.0)
    put("draft", draft, "its weights and its KV")
    put("graphs", told.graphs, "captured batches")
    known = sum(part.gib for part in parts)
    free = told.free
    rest = total - known
    if free is None:
        put("unknown", rest, "nothing says what is free")
    else:
        free = max(0.0, min(free, rest))
        kind: PartKind = "other" if None not in (told.weights, told.kv) else "unknown"
        text = "workspaces, activations" if kind == "other" else "not told by what was read"
        put(kind, rest - free, text)
        put("free", free, "free when the start ended")
    if rest < 0:
        # Logged differences can exceed what was free: memory was given back, or another process let go.
        return (Part("unknown", total, "the parts that are told add up to more than was free before the weights"),)
    drift = total - sum(part.gib for part in parts)
    if parts and drift:
        last = parts[-1]
        parts[-1] = Part(last.kind, last.gib + drift, last.detail)
    return tuple(parts) or (Part("unknown", total, "no memory line says what is in it"),)


def used_share(frame_usage: float | None, account: Account) -> Reading[float]:
    """Share of the KV pool in use, 0 to 1, from the newest sample."""
    if frame_usage is None:
        return Missing("no batch line yet")
    if not isinstance(account.tokens_reported, Known):
        return Known(frame_usage)
    return Known(min(1.0, max(0.0, frame_usage)))


def ledgers(boot: Boot, account: Account, timeline: Timeline) -> tuple[GpuLedger, ...]:
    """One ledger for each GPU that was told of, in rank order; each with the newest use of its own replica's pool."""
    bars = []
    usage = _usage(timeline)
    for memory in sorted(measured(boot), key=lambda m: m.rank.sort_key):
        told = _told(memory, account)
        total = told.pre
        if total is None:
            sized = sum(x for x in (told.weights, told.kv, told.state, told.draft, told.draft_kv, told.graphs, told.free) if x)
            total = sized or None
        if total is None or not 0 < total < MOST_GIB:
            continue
        parts, share = _parts(told, total), used_share(usage.get(memory.rank.dp or 0), account)
        bars += [
            GpuLedger(label, total, total_is_device=False, total_is_pre=told.pre is not None, parts=parts, kv_used_share=share)
            for label in _labels(boot, memory)
        ]
    return tuple(bars)


def _labels(boot: Boot, memory: RankMemory) -> tuple[str, ...]:
    """What the GPUs are called that a rank's figures hold for.

    A log has lines of each rank; a server's reply speaks of the first GPU of a replica, which the others hardly differ from.
    """
    rank = memory.rank
    if memory.final is None or memory.final.where.kind != "http" or rank.tp is not None or rank.pp is not None:
        return (rank.label or "GPU",)
    tensor, stages, replicas = (_size(boot, name) for name in ("tp_size", "pp_size", "dp_size"))
    if boot.switch("enable_dp_attention"):
        tensor = max(1, tensor // replicas)
    if tensor * stages == 1:
        return (rank.label or "GPU",)
    ranks = (replace(rank, pp=pp if stages > 1 else None, tp=tp if tensor > 1 else None) for pp in range(stages) for tp in range(tensor))
    return tuple(each.label for each in itertools.islice(ranks, _MOST_GPUS))


def _size(boot: Boot, name: str) -> int:
    size = boot.number(name)
    return int(size) if size is not None and 1 <= size < 1 << 20 else 1


def _usage(timeline: Timeline) -> dict[int, float]:
    """Newest share of the pool in use, 0 to 1, by data-parallel rank."""
    found: dict[int, float] = {}
    for dp, usage in zip(*(timeline.column(name)[-_NEWEST:] for name in ("dp", "usage")), strict=True):
        if not math.isnan(usage):
            found[0 if math.isnan(dp) else int(dp)] = usage
    return found
