"""The running batch: requests that decode in lockstep."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from kvtui.twin.demand import TwinRequest
from kvtui.twin.pool import Pool, PrefixKey


@dataclass(slots=True, eq=False)
class Live:
    """A request between its arrival and its end. Changes as it goes."""

    asked: TwinRequest
    arrival_s: float
    order: int
    max_new: int
    """``max_new_tokens`` as the server clamps it to its longest request."""
    target: int
    """Tokens produced at which it ends."""
    produced: int = 0
    """Tokens produced when it last joined the batch; while it runs ask ``Batch.produced``."""
    filled: int = 0
    """Tokens of its prompt, and of what it had produced, that are in the pool."""
    prefix: PrefixKey | None = None
    """The shared prefix it reads instead of holding a copy."""
    joined: int = 0
    cached: int = 0
    retractions: int = 0
    admitted_s: float = -1.0
    first_s: float = -1.0

    @property
    def to_fill(self) -> int:
        """Tokens to have in the pool before it decodes: a retracted request computes its output again too."""
        return self.asked.prompt + self.produced

    @property
    def shared(self) -> int:
        """Tokens it holds together with others."""
        return self.prefix[1] if self.prefix else 0


class Batch:
    """Running requests. Each decode step adds the same number of tokens to every one.

    So one counter, ``depth``, stands for all of them: what a request has produced follows from the depth at which
    it joined, the next to finish is the top of a heap, and with pages the requests that need a new one are those
    whose length has the right remainder.
    """

    def __init__(self, page: int) -> None:
        self.members: list[Live] = []
        self.stale: list[Live] = []
        """Finished requests that the scheduler has not taken out yet: they hold no tokens, but count."""
        self.full = False
        self.depth = 0
        self._page = page
        self._ends: list[tuple[int, int, Live]] = []
        self._remainders: dict[int, int] = {}
        # Depths at which members reach their max_new, summed, and the largest seen: where none is clipped, the sum
        # of what they may still generate needs no walk through them.
        self._limits = 0
        self._furthest = 0
        self._fixed = 0

    def __len__(self) -> int:
        """Requests as the scheduler counts them, finished ones included until it takes them out."""
        return len(self.members) + len(self.stale)

    def join(self, live: Live) -> None:
        """A request whose first token of this run is produced begins to decode."""
        live.joined = self.depth
        self.members.append(live)
        limit = live.max_new - live.produced + live.joined
        self._limits += limit
        self._furthest = max(self._furthest, limit)
        self._fixed += live.asked.ignore_eos
        heapq.heappush(self._ends, (self.depth + live.target - live.produced, live.order, live))
        if self._page > 1:
            remainder = (self.length(live) - self.depth) % self._page
            self._remainders[remainder] = self._remainders.get(remainder, 0) + 1

    def produced(self, live: Live) -> int:
        """Tokens a member has produced."""
        return live.produced + self.depth - live.joined

    def length(self, live: Live) -> int:
        """Tokens of a member in the pool: the newest token is not written yet."""
        return live.asked.prompt + self.produced(live) - 1

    def growth(self, gain: int) -> int:
        """Pool tokens that the next step needs when each member gains ``gain``."""
        if self._page == 1:
            return gain * len(self.members)
        if gain == 1:
            return self._remainders.get(-self.depth % self._page, 0) * self._page
        return sum(self._remainders.get(-(self.depth + token) % self._page, 0) for token in range(gain)) * self._page

    @property
    def to_next_end(self) -> int:
        """Tokens of depth until the next member ends."""
        return self._ends[0][0] - self.depth

    def ended(self) -> list[Live]:
        """Take the members that have reached their end; they stay as stale."""
        out = []
        while self._ends and self._ends[0][0] <= self.depth:
            out.append(heapq.heappop(self._ends)[2])
        if out:
            self._forget(out)
            self.stale += out
        return out

    def drop_stale(self) -> bool:
        """Take out finished requests; True where there were any."""
        had = bool(self.stale)
        self.stale.clear()
        return had

    def remove(self, gone: list[Live]) -> None:
        """Take out members before their end."""
        self._forget(gone)
        out = set(gone)
        self._ends = [entry for entry in self._ends if entry[2] not in out]
        heapq.heapify(self._ends)

    def reserved(self, ratio: float, clip: int, *, fixed_in_full: bool) -> float:
        """Not yet generated tokens that admission holds back for the batch (facts/diagnoses.md 0.1)."""
        part, whole, depth = 0, 0, self.depth
        if self._furthest - depth <= clip and not (fixed_in_full and self._fixed):
            part = self._limits - depth * len(self.members)
        else:
            for live in self.members:
                charged = min(live.max_new - live.produced - depth + live.joined, clip)
                if fixed_in_full and live.asked.ignore_eos:
                    whole += charged
                else:
                    part += charged
        for live in self.stale:
            part += min(live.max_new - live.produced, clip)
        return part * ratio + whole

    def _forget(self, gone: list[Live]) -> None:
        for live in gone:
            self._limits -= live.max_new - live.produced + live.joined
            self._fixed -= live.asked.ignore_eos
            if self._page > 1:
                self._remainders[(self.length(live) - self.depth) % self._page] -= 1
        out = set(gone)
        self.members = [live for live in self.members if live not in out]

    def held(self, live: Live, pool: Pool) -> int:
        """Pool tokens a member holds for itself, whole pages."""
        return pool.paged(self.length(live) - live.shared)
