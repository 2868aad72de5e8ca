"""The figures of the memory account as one boot's lines give them.

Which line is which quantity: facts/memory.md 1.1 (measurements), 6 (order of a start-up).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvtui.domain.boot import Boot, GraphCapture, PoolAllocation, RankMemory, WeightLoad
from kvtui.domain.reading import Known, Missing, Reading, Where


def measured(boot: Boot) -> tuple[RankMemory, ...]:
    """The ranks that printed memory lines, of all replicas."""
    return tuple(m for m in boot.ranks if m.loads or m.pools or m.pool_ends_gib or m.final or m.captures)


def world(boot: Boot) -> tuple[RankMemory, ...]:
    """The ranks that share one measurement.

    With DP attention all ranks are one world; with plain data parallelism each replica is its own
    (facts/memory.md 1.1), and the lowest replica that printed memory lines is taken.
    """
    told = measured(boot)
    if boot.switch("enable_dp_attention"):
        return told
    replicas = {m.rank.dp or 0 for m in told}
    return tuple(m for m in told if (m.rank.dp or 0) == min(replicas)) if len(replicas) > 1 else told


def lowest(readings: Iterable[Reading[float]], reason: str) -> Reading[float]:
    """The smallest known reading; ``Missing(reason)`` when none is known."""
    known = [r for r in readings if isinstance(r, Known)]
    return min(known, key=lambda r: r.value) if known else Missing(reason)


def _end(load: WeightLoad) -> Reading[float]:
    """Free memory after a load; begin minus usage where the line does not print it."""
    if isinstance(load.end_gib, Known):
        return load.end_gib
    if isinstance(load.begin_gib, Known) and isinstance(load.usage_gib, Known):
        value = round(load.begin_gib.value - load.usage_gib.value, 4)
        return Known(value, load.usage_gib.at, Where("log", "begin - usage of the weights lines", load.usage_gib.where.line))
    return Missing("the weights lines print no free memory")


def _begin(load: WeightLoad) -> Reading[float]:
    """Free memory before a load; avail plus usage of the end line where the begin line is missing."""
    if isinstance(load.begin_gib, Known):
        return load.begin_gib
    if isinstance(load.end_gib, Known) and isinstance(load.usage_gib, Known):
        value = round(load.end_gib.value + load.usage_gib.value, 4)
        return Known(value, load.end_gib.at, Where("log", "avail + usage of the weight-end line", load.end_gib.where.line))
    return Missing("no weight-begin line, and the weight-end line prints no usage")


def free_before_weights(boot: Boot) -> Reading[float]:
    """``pre``: lowest rank of the first begin line, else avail + usage, else a profiling line. GiB."""
    firsts = [m.loads[0] for m in world(boot) if m.loads and not m.loads[0].draft]
    begun = lowest((load.begin_gib for load in firsts), "")
    if isinstance(begun, Known) and begun.value <= 0:
        return Missing(f"the log says {begun.value:g} GiB were free before the weights, which cannot be")
    if isinstance(begun, Known):
        return begun
    worked_out = lowest((_begin(load) for load in firsts), "")
    if isinstance(worked_out, Known):
        return worked_out
    if isinstance(boot.sizing.pre_gib, Known):
        return boot.sizing.pre_gib
    return Missing("the log shows no weight-begin line" if not firsts else "the weights lines do not say what was free before")


def _line(reading: Reading[float]) -> int | None:
    return reading.where.line if isinstance(reading, Known) else None


def _draft_first(memory: RankMemory, draft: WeightLoad) -> bool:
    """True where the draft's weights were loaded before the target's pool was sized (0.5.15 and later)."""
    loaded = _line(_end(draft))
    sized = [p.where.line for p in memory.pools if p.where.line is not None]
    sized += [end.where.line for end in memory.pool_ends_gib if end.where.line is not None]
    if loaded is None:
        return False
    if sized:
        return loaded < min(sized)
    captured = [line for c in memory.captures for line in (_line(c.begin_gib), _line(c.end_gib)) if line is not None]
    return not captured or loaded < min(captured)


def free_after_weights(boot: Boot) -> Reading[float]:
    """``post``: lowest rank when the pool is sized, after a draft's weights where they load first. GiB."""
    if isinstance(boot.sizing.post_gib, Known):
        return boot.sizing.post_gib
    ends: list[Reading[float]] = []
    for memory in world(boot):
        targets = [load for load in memory.loads if not load.draft]
        drafts = [load for load in memory.loads if load.draft and _draft_first(memory, load)]
        last = (drafts or targets)[-1:]
        ends += [_end(load) for load in last]
    found = lowest(ends, "")
    if isinstance(found, Known):
        return found
    return Missing("the log shows no weight-end line" if not ends else "the weight-end lines print no free memory")


def draft_counts_before_sizing(boot: Boot) -> bool:
    """True where a draft's weights already lower ``post``."""
    return any(load.draft and _draft_first(m, load) for m in world(boot) for load in m.loads)


def has_draft(boot: Boot) -> bool:
    """True where the log shows a draft model, or flags that load one."""
    if any(load.draft for m in boot.ranks for load in m.loads) or any(p.draft for m in boot.ranks for p in m.pools):
        return True
    algorithm = boot.text("speculative_algorithm")
    return algorithm is not None and algorithm.upper() not in {"NGRAM", "NONE", ""}


def target_pools(boot: Boot, kind: str = "kv") -> tuple[PoolAllocation, ...]:
    """The target's allocation lines of one kind, one a rank at most."""
    return tuple(found for m in world(boot) if (found := next((p for p in m.pools if p.kind == kind and not p.draft), None)) is not None)


def pool_size(boot: Boot) -> Reading[float]:
    """GiB of the target's KV pool on one GPU as logged; full and sliding-window pools together."""
    plain = target_pools(boot)
    sized = [p for p in plain if p.size_gib is not None]
    if sized:
        return Known(sized[0].size_gib or 0.0, None, sized[0].where)
    parts = [p for kind in ("full", "swa") for p in target_pools(boot, kind)[:1] if p.size_gib is not None]
    if parts:
        return Known(sum(p.size_gib or 0.0 for p in parts), None, parts[0].where)
    return Missing("nothing read tells the pool's size")


def draft_pool_size(boot: Boot) -> Reading[float]:
    """GiB of the draft's KV pool on one GPU."""
    for memory in world(boot):
        drafts = [p for p in memory.pools if p.draft and p.size_gib is not None]
        if drafts:
            return Known(sum(p.size_gib or 0.0 for p in drafts), None, drafts[0].where)
    return Missing("no draft pool was read")


def weights(boot: Boot, *, draft: bool) -> Reading[float]:
    """GiB of weights on one GPU: the largest over ranks, target or draft."""
    used: list[Known[float]] = []
    for memory in world(boot):
        for load in memory.loads:
            if load.draft is not draft:
                continue
            if isinstance(load.usage_gib, Known):
                used.append(load.usage_gib)
            elif isinstance(load.begin_gib, Known) and isinstance(load.end_gib, Known):
                value = round(load.begin_gib.value - load.end_gib.value, 4)
                used.append(Known(value, load.end_gib.at, Where("log", "begin - end of the weights lines", load.end_gib.where.line)))
    return (
        max(used, key=lambda r: r.value)
        if used
        else Missing("no draft weights were read" if draft else "nothing read tells the size of the weights")
    )


def captured(memory: RankMemory, wanted: Callable[[GraphCapture], bool]) -> float | None:
    """GiB of CUDA graphs one rank captured; None where no capture line says."""
    used = [c.usage_gib.value for c in memory.captures if wanted(c) and isinstance(c.usage_gib, Known)]
    return sum(used) if used else None


def graphs(boot: Boot) -> Reading[float]:
    """GiB of CUDA graphs on one GPU, target and draft, the largest over ranks."""
    best: tuple[float, Where] | None = None
    for memory in world(boot):
        size = captured(memory, lambda _: True)
        if size is not None and (best is None or size > best[0]):
            last = memory.captures[-1]
            best = (size, last.usage_gib.where if isinstance(last.usage_gib, Known) else Where("log", "capture lines"))
    return Known(round(best[0], 4), None, best[1]) if best else Missing("nothing read tells the graphs' size")


def context(boot: Boot) -> Reading[float]:
    """GiB taken by the CUDA context and NCCL, before the weights."""
    return next((m.init_usage_gib for m in world(boot) if isinstance(m.init_usage_gib, Known)), Missing("nothing read tells it"))


def headroom(boot: Boot) -> Reading[float]:
    """Free GPU memory once the server is up; an earlier line of the start where the final one is missing. GiB."""
    ranks = world(boot)
    finals = [
        Known(m.final.available_gib, m.final.at, m.final.where) for m in ranks if m.final is not None and m.final.available_gib is not None
    ]
    if finals:
        return min(finals, key=lambda r: r.value)
    ends: list[Reading[float]] = []
    for memory in ranks:
        after = [c.end_gib for c in memory.captures if isinstance(c.end_gib, Known)]
        ends += after[-1:]
    found = lowest(ends, "")
    if isinstance(found, Known):
        return Known(found.value, found.at, Where("log", "free after the last graph capture", found.where.line))
    found = lowest((m.pool_ends_gib[-1] for m in ranks if m.pool_ends_gib), "")
    if isinstance(found, Known):
        return Known(found.value, found.at, Where("log", "free after the pools, before graphs", found.where.line))
    return Missing("nothing read says what was left free")
