"""One prefill pass: who is let in, and how much of each prompt is computed.

Follows ``PrefillAdder`` of ``managers/schedule_policy.py``, read in the releases that ``rules`` names: each newcomer
is charged in full, what runs is charged its share of what it may still generate, and the first that does not fit
closes the batch until a request leaves (facts/diagnoses.md 0.1 and 7).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from kvtui.twin.batch import Batch, Live
from kvtui.twin.fixed_length import fits_to_the_end
from kvtui.twin.pool import Pool
from kvtui.twin.rules import Rules
from kvtui.twin.setup import Server


class _Answer(Enum):
    GO_ON = 0
    NO_TOKEN = 1
    OTHER = 2


@dataclass(slots=True)
class Pass:
    """What one prefill pass computes."""

    members: list[tuple[Live, int]] = field(default_factory=list)
    """Requests and the tokens computed for each."""
    unfinished: Live | None = None
    """The one whose prompt needs another pass."""
    fresh: int = 0
    """Requests that left the queue."""
    cached: int = 0

    @property
    def tokens(self) -> int:
        """Prompt tokens computed."""
        return sum(count for _, count in self.members)


class PrefillPass:
    """Builds one ``Pass``. Takes the admitted from the queue, and locks what they read in the pool."""

    def __init__(self, server: Server, pool: Pool, batch: Batch, ratio: float) -> None:
        self._server = server
        self._rules: Rules = server.rules
        self._pool = pool
        self._batch = batch
        self._ratio = ratio
        self._reserved = batch.reserved(ratio, server.clip_tokens, fixed_in_full=self._rules.fixed_length_in_full)
        self._charged = 0
        """Tokens charged to newcomers of this pass, with what they may generate."""
        self._computed = 0
        """Of these, what the pass writes."""
        self._input_left = server.max_prefill_tokens
        self._chunk_left = server.chunk
        self._pass = Pass()

    def build(self, queue: deque[Live], chunked: Live | None, now: float) -> Pass | None:
        """The pass, or None where nobody is admitted. Sets ``batch.full`` as the scheduler does."""
        if chunked is not None and not self._go_on(chunked):
            return None
        while queue:
            if self._rules.spent_pass_closes and self._budget() is _Answer.OTHER:
                break
            if len(self._pass.members) >= self._server.running_cap - len(self._batch):
                self._batch.full = True
            if self._batch.full:
                break
            before = len(self._pass.members)
            answer = self._add(queue[0], now)
            if len(self._pass.members) > before:
                queue.popleft()
            if answer is not _Answer.GO_ON:
                if answer is _Answer.NO_TOKEN:
                    self._batch.full = not self._rules.empty_batch_opens or bool(self._pass.members) or len(self._batch) > 0
                break
        return self._pass if self._pass.members else None

    @property
    def _left(self) -> float:
        return self._pool.free - self._reserved - self._charged

    def _budget(self) -> _Answer:
        if self._left <= 0 or self._pool.free - self._computed <= 0:
            return _Answer.NO_TOKEN
        if self._input_left <= 0 or (self._chunk_left is not None and self._chunk_left <= 0):
            return _Answer.OTHER
        return _Answer.GO_ON

    def _charge(self, computed: int, to_come: int) -> None:
        computed = self._pool.paged(computed)
        overhead = self._pool.page if self._rules.page_charged else 0
        self._charged += computed + to_come + overhead
        self._computed += computed + overhead
        self._input_left -= computed
        if self._chunk_left is not None:
            self._chunk_left -= computed

    def _go_on(self, live: Live) -> bool:
        """The next chunk of a prompt begun in an earlier pass: it goes on whatever the reservation says."""
        missing = live.to_fill - live.filled
        room = min(self._chunk_left or missing, int(self._left))
        if room <= 0:
            room = self._chunk_left or missing
        # A chunk that the pool cannot hold would end the real server; here it waits for a request to leave.
        room = min(room, self._pool.free + self._pool.paged(live.filled) - live.filled)
        count = min(missing, room)
        if count < missing:
            count = self._pool.whole(live.filled + count) - live.filled
        if count <= 0:
            return False
        self._pass.members.append((live, count))
        self._pass.unfinished = live if count < missing else None
        self._charge(count, 0 if count < missing else min(live.max_new, self._server.clip_tokens))
        return True

    def _add(self, live: Live, now: float) -> _Answer:
        if live.asked.ignore_eos and not self._server.radix:
            return self._add_fixed(live, now)
        hit, shares = self._hit(live)
        extend = live.to_fill - hit
        left = max(live.max_new - live.produced, 0) if self._rules.produced_counts else live.max_new
        wanted = extend + min(left, self._server.clip_tokens) + (self._pool.page if self._rules.page_tested else 0)
        paged = self._pool.paged(extend)
        # What it reads from the cache is locked before the test that counts, and is then no longer free.
        locked = self._lock(live, hit, shares=shares)
        if wanted >= self._left:
            self._unlock(live, locked)
            return _Answer.NO_TOKEN
        limited = self._rules.input_limit_in_chunks or self._chunk_left is None
        if limited and self._pass.members and paged >= self._input_left:
            self._unlock(live, locked)
            return _Answer.OTHER
        count = extend
        if self._chunk_left is not None and paged > self._chunk_left:
            count = self._pool.whole(hit + self._pool.whole(self._chunk_left)) - hit
            if count <= 0:
                self._unlock(live, locked)
                return _Answer.OTHER
        return self._admit(live, hit, count, now)

    def _add_fixed(self, live: Live, now: float) -> _Answer:
        """A request of fixed length without a radix cache: SGLang looks ahead to the end of every request."""
        extend = live.to_fill
        paged = self._pool.paged(extend) + (self._pool.page if self._rules.page_tested else 0)
        if paged > min(self._pool.free - self._computed, self._left):
            return _Answer.NO_TOKEN
        others = [(running, self._batch.produced(running)) for running in self._batch.members]
        others += [(fresh, fresh.produced) for fresh, _ in self._pass.members]
        if not fits_to_the_end(live, others, self._ratio, self._pool.free - self._computed - paged):
            return _Answer.NO_TOKEN
        count = extend
        if self._chunk_left is not None and extend > self._chunk_left:
            count = self._pool.whole(self._chunk_left)
            if count <= 0:
                return _Answer.OTHER
        return self._admit(live, 0, count, now)

    def _admit(self, live: Live, hit: int, count: int, now: float) -> _Answer:
        live.filled = hit
        live.cached += hit
        if live.admitted_s < 0:
            live.admitted_s = now
        self._pass.members.append((live, count))
        self._pass.fresh += 1
        self._pass.cached += hit
        whole = hit + count >= live.to_fill
        if not whole:
            self._pass.unfinished = live
        self._charge(count, min(live.max_new, self._server.clip_tokens) if whole else 0)
        return self._budget()

    def _hit(self, live: Live) -> tuple[int, bool]:
        """Tokens found in the cache, and whether they are a shared prefix. At least one token is computed."""
        if not self._server.radix:
            return 0, False
        asked = live.asked
        key = (asked.group, self._pool.whole(min(asked.shared_prefix, asked.prompt - 1)))
        if key[1] and self._pool.holds(key):
            return key[1], True
        # A retracted request finds nothing: the pool was full, so what it left was evicted at once.
        return (self._pool.whole(min(asked.cached, asked.prompt - 1)) if not live.retractions else 0), False

    def _lock(self, live: Live, hit: int, *, shares: bool) -> int:
        if shares:
            live.prefix = (live.asked.group, hit)
            self._pool.read(live.prefix)
            return 0
        self._pool.used += hit
        return hit

    def _unlock(self, live: Live, locked: int) -> None:
        if live.prefix is not None:
            self._pool.release(live.prefix)
            live.prefix = None
        self._pool.used -= locked
