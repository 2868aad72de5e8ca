"""Folds the memory lines of one rank into what it says as a whole: pairs begin with end, tells drafts from targets."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final, Literal

from kvtui.domain.boot import FinalLine, GraphCapture, HostPool, PoolAllocation, RankMemory, StatePool, SwaSplit, WeightLoad
from kvtui.domain.rank import MAIN, Rank
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse import memory_facts as facts

PoolKind = Literal["kv", "full", "swa"]
_DRAFT_TYPE: Final = re.compile(r"(?i)eagle|nextn|mtp|draft")
_NOWHERE: Final = Where("log")
_ITEMS_LIMIT: Final = 256
_LOST_END_GIB: Final = 0.5
"""A begin line and a draft's end line that differ by more than this do not belong to one load."""


@dataclass(slots=True)
class _Load:
    begin: Reading[float]
    end: facts.WeightEnd | None = None
    at: float | None = None
    where: Where = _NOWHERE
    overlapped: bool = False
    """It began before the load before it had ended."""


@dataclass(slots=True)
class _Capture:
    label: str
    begin: Reading[float]
    end: Reading[float]
    usage: Reading[float]
    batch_sizes: tuple[int, ...]
    open: bool


def _reading(value: float | None, at: float | None, where: Where, reason: str) -> Reading[float]:
    return Missing(reason) if value is None else Known(value, at, where)


class RankBuilder:
    """Takes the facts of one rank in the order of the log."""

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.inits = 0
        self.final: FinalLine | None = None
        self.notes: list[str] = []
        self._init: Reading[float] = Missing("the log has no line about what CUDA and NCCL take")
        self._loads: list[_Load] = []
        self._pools: list[tuple[facts.Pool, Where]] = []
        self._pool_ends: list[Known[float]] = []
        self._state: StatePool | None = None
        self._swa: SwaSplit | None = None
        self._captures: list[_Capture] = []
        self._hosts: list[HostPool] = []
        self._told: RankMemory | None = None
        """What was said up to the newest line, once it was asked for: a log that grows is asked each second."""

    @property
    def loads_begun(self) -> int:
        """How many loads of weights are known."""
        return len(self._loads)

    @property
    def pools_made(self) -> int:
        """How many "KV Cache is allocated" and "Memory pool end" lines were seen."""
        return len(self._pools) + len(self._pool_ends)

    @property
    def only_final(self) -> bool:
        """True where the final line is all that was said: no weights, pools or graphs of its own."""
        said = self._loads or self._pools or self._pool_ends or self._captures or self._hosts or self._state or self._swa or self.inits
        return self.final is not None and not said and not isinstance(self._init, Known)

    @property
    def capturing(self) -> str | None:
        """Label of the capture that has begun and not ended."""
        return next((c.label for c in reversed(self._captures) if c.open), None)

    @property
    def loading(self) -> bool:
        """True while weights load."""
        return bool(self._loads) and self._loads[-1].end is None

    def frees(self, avail_gib: float | None) -> bool:
        """True where a load begins with as much memory as the first one: the process before is gone."""
        if avail_gib is None or not self._loads or self._loads[0].end is None or not self.pools_made:
            return False
        first, usage = self._loads[0].begin, self._loads[0].end.usage_gib
        return isinstance(first, Known) and usage is not None and usage > 1 and avail_gib > first.value - usage / 2

    def add(self, fact: facts.MemoryFact, at: float | None, where: Where) -> None:
        """One more line of this rank."""
        self._told = None
        if isinstance(fact, facts.InitBegin):
            self.inits += 1
        elif isinstance(fact, facts.InitEnd):
            if not isinstance(self._init, Known):
                self._init = _reading(fact.usage_gib, at, where, "the line prints no figure")
        elif isinstance(fact, facts.WeightBegin):
            self._begin(fact, at, where)
        elif isinstance(fact, facts.WeightEnd):
            self._end(fact, at, where)
        elif isinstance(fact, (facts.CaptureBegin, facts.CaptureEnd, facts.CaptureSizes)):
            self._capture(fact, at, where)
        else:
            self._made(fact, at, where)

    def _made(self, fact: facts.MemoryFact, at: float | None, where: Where) -> None:
        if isinstance(fact, facts.Pool):
            if len(self._pools) < _ITEMS_LIMIT:
                self._pools.append((fact, where))
        elif isinstance(fact, facts.PoolEnd):
            if fact.avail_gib is not None and len(self._pool_ends) < _ITEMS_LIMIT:
                self._pool_ends.append(Known(fact.avail_gib, at, where))
        else:
            self._whole(fact, at, where)

    def _whole(self, fact: facts.MemoryFact, at: float | None, where: Where) -> None:
        if isinstance(fact, facts.States):
            if self._state is None:
                self._state = StatePool(fact.slots, fact.conv_gib or 0.0, fact.ssm_gib or 0.0, fact.intermediate_gib, where)
        elif isinstance(fact, facts.Split):
            self._swa = self._swa or SwaSplit(fact.full_tokens, fact.swa_tokens, where)
        elif isinstance(fact, facts.HostAllocation):
            if len(self._hosts) < _ITEMS_LIMIT:
                self._hosts.append(HostPool(fact.size_gb, fact.tokens, where))
        elif isinstance(fact, facts.Sized) and self.final is None:
            self.final = FinalLine(
                max_total_num_tokens=fact.max_total_num_tokens,
                chunked_prefill_size=fact.chunked_prefill_size,
                max_prefill_tokens=fact.max_prefill_tokens,
                max_running_requests=fact.max_running_requests,
                context_len=fact.context_len,
                available_gib=fact.avail_gib,
                at=at,
                where=where,
            )

    def _begin(self, fact: facts.WeightBegin, at: float | None, where: Where) -> None:
        if len(self._loads) < _ITEMS_LIMIT:
            begin = _reading(fact.avail_gib, at, where, "the weight-begin line prints no figure")
            self._loads.append(_Load(begin, at=at, where=where, overlapped=self.loading))

    def _end(self, fact: facts.WeightEnd, at: float | None, where: Where) -> None:
        load = next((item for item in self._loads if item.end is None), None)
        if load is None or self._foreign(load, fact):
            if len(self._loads) >= _ITEMS_LIMIT:
                return
            load = _Load(Missing("the log has no weight-begin line"))
            self._loads.append(load)
        load.end, load.at, load.where = fact, at, where

    def _foreign(self, load: _Load, fact: facts.WeightEnd) -> bool:
        # an excerpt may show the target's begin line and only the draft's end line
        if not (fact.type and _DRAFT_TYPE.search(fact.type) and isinstance(load.begin, Known)):
            return False
        if fact.avail_gib is None or fact.usage_gib is None:
            return False
        return load is self._loads[0] and abs(load.begin.value - fact.usage_gib - fact.avail_gib) > _LOST_END_GIB

    def _capture(self, fact: facts.CaptureBegin | facts.CaptureEnd | facts.CaptureSizes, at: float | None, where: Where) -> None:
        if isinstance(fact, facts.CaptureSizes):
            last = self._captures[-1] if self._captures else None
            if last is not None and last.open:
                last.batch_sizes = fact.batch_sizes
        elif len(self._captures) >= _ITEMS_LIMIT:
            return
        elif isinstance(fact, facts.CaptureBegin):
            begin = _reading(fact.avail_gib, at, where, "the capture-begin line prints no figure")
            missing = Missing("the log has no line that ends this capture")
            self._captures.append(_Capture(fact.label, begin, missing, missing, fact.batch_sizes, open=True))
        else:
            capture = next((item for item in reversed(self._captures) if item.open and item.label == fact.label), None)
            if capture is None:
                missing = Missing("the log has no line that begins this capture")
                capture = _Capture(fact.label, missing, missing, missing, (), open=True)
                self._captures.append(capture)
            capture.end = _reading(fact.avail_gib, at, where, "the capture-end line prints no free memory")
            capture.usage = _reading(fact.usage_gib, at, where, "the capture-end line prints no usage")
            capture.batch_sizes = fact.batch_sizes or capture.batch_sizes
            capture.open = False

    def memory(self) -> RankMemory:
        """What the rank has said so far."""
        if self._told is None:
            self._told = self._all_told()
        return self._told

    def _all_told(self) -> RankMemory:
        return RankMemory(
            rank=self.rank,
            init_usage_gib=self._init,
            loads=self._finished_loads(),
            pools=self._finished_pools(),
            pool_ends_gib=tuple(self._pool_ends),
            state=self._state,
            swa=self._swa,
            captures=tuple(
                GraphCapture(c.label, c.begin, c.end, c.usage, c.batch_sizes, c.label.startswith("draft")) for c in self._captures
            ),
            host_pools=tuple(self._hosts),
            final=self.final,
        )

    def _finished_loads(self) -> tuple[WeightLoad, ...]:
        found: list[WeightLoad] = []
        for number, load in enumerate(self._loads):
            end = load.end
            missing = "the log has no weight-end line"
            found.append(
                WeightLoad(
                    begin_gib=load.begin,
                    end_gib=_reading(
                        end.avail_gib if end else None, load.at, load.where, "the weight-end line prints no free memory" if end else missing
                    ),
                    usage_gib=_reading(
                        end.usage_gib if end else None, load.at, load.where, "the weight-end line prints no usage" if end else missing
                    ),
                    type=end.type if end else None,
                    dtype=end.dtype if end else None,
                    quant=end.quant if end else None,
                    draft=self._is_draft(number),
                )
            )
        return tuple(found)

    def _is_draft(self, number: int) -> bool:
        load, first = self._loads[number], self._loads[0]
        kind = load.end.type if load.end is not None else None
        if kind is not None and _DRAFT_TYPE.search(kind):
            return True
        if number == 0 or load.overlapped:
            # begun before the first had ended: another rank whose prefix was lost
            return False
        if isinstance(first.begin, Known) and isinstance(load.begin, Known) and first.end is not None and first.end.usage_gib is not None:
            return load.begin.value < first.begin.value - first.end.usage_gib / 2
        return kind != (first.end.type if first.end is not None else None) or self.rank != MAIN

    def _finished_pools(self) -> tuple[PoolAllocation, ...]:
        found: list[PoolAllocation] = []
        seen: Counter[str] = Counter()
        real = {pool.kind for pool, _ in self._pools if not pool.bound}
        for pool, where in self._pools:
            if pool.bound and pool.kind in real:
                continue
            whole = not pool.bound and len(pool.sizes) == (1 if pool.latent else 2)
            allocation = PoolAllocation(
                kind=self._kind(pool),
                tokens=pool.tokens,
                size_gib=sum(pool.sizes) if whole else None,
                decimals_gib=pool.decimals_gib,
                latent=pool.latent,
                dtype=pool.dtype,
                draft=False,
                where=where,
            )
            if self.rank == MAIN and any(replace(allocation, where=old.where) == old for old in found):
                # the same line of another rank whose prefix was lost
                continue
            found.append(replace(allocation, draft=seen[allocation.kind] > 0))
            seen[allocation.kind] += 1
        return tuple(found)

    def _kind(self, pool: facts.Pool) -> PoolKind:
        if pool.kind != "kv" or self._swa is None or pool.tokens is None or self._swa.full_tokens == self._swa.swa_tokens:
            return pool.kind
        # the sliding-window pool prints two unlabelled lines: their tokens tell which is which
        if pool.tokens == self._swa.full_tokens:
            return "full"
        return "swa" if pool.tokens == self._swa.swa_tokens else "kv"
