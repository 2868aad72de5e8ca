"""The twin itself: SGLang's scheduler loop, one prefill pass or one run of equal decode steps at a time."""

from __future__ import annotations

import math
from collections import deque
from random import Random

from kvtui.twin.admission import Pass, PrefillPass
from kvtui.twin.arrivals import Arrivals
from kvtui.twin.batch import Batch, Live
from kvtui.twin.demand import Demand, TwinRequest
from kvtui.twin.pool import Pool
from kvtui.twin.retraction import retract
from kvtui.twin.setup import Server, StepTimes
from kvtui.twin.state import Ending, Outcome, StepState
from kvtui.twin.stretch import Stretch, decode_stretch, gain_of, step_need

_MOST_STEPS_AT_ONCE = 1_000_000
"""Bound of one run of decode steps, so that a single call always comes back."""


class Twin:
    """A scheduler that can be stepped. Deterministic: one seed, one history.

    ``step`` plays one pass of the scheduler loop (``event_loop_normal`` of ``managers/scheduler.py``) or, where
    nothing can change in between, several decode steps in one go; the history is the same either way. The overlap
    of scheduling and computing, which lets a finished request run one more step, is not modelled.
    """

    def __init__(self, server: Server, demand: Demand, times: StepTimes, *, seed: int = 0, jump: bool = True) -> None:
        self.server = server
        self.times = times
        self.now = 0.0
        """Seconds since the run began."""
        self.ratio = server.first_ratio
        """``new_token_ratio``."""
        self.queue: deque[Live] = deque()
        self.batch = Batch(server.page)
        self.pool = Pool(server.usable_tokens, server.page, radix=server.radix)
        self._arrivals = Arrivals(demand, Random(seed))  # noqa: S311 - a simulation wants repeatable draws
        self._jump = jump
        self._chunked: Live | None = None
        self._fresh: list[Live] = []
        """Members of the last prefill pass, not yet in the batch."""
        self._last_was_prefill = False
        self._fresh_shrank = False
        self._orders = 0
        self._decodes = 0
        self._refused: list[Outcome] = []

    @property
    def in_flight(self) -> int:
        """Requests running, waiting or in prefill."""
        return len(self.batch.members) + len(self._fresh) + len(self.queue) + (self._chunked is not None)

    def step(self, until: float = math.inf) -> StepState | None:
        """The next state, or None where nothing is left to do.

        A run of decode steps stops at the first step that ends at ``until`` or later; idling stops at ``until``.
        """
        self._receive()
        self._merge()
        if self.server.rules.leave_before_admission and self.batch.drop_stale():
            self.batch.full = False
        admitted = self._admit()
        if admitted is not None:
            return self._prefill(admitted)
        self._last_was_prefill = False
        before = len(self.batch)
        self.batch.drop_stale()
        if self.batch.members:
            return self._decode(until, shrank=len(self.batch) < before)
        if before:
            self.batch.full = False
        return self._idle(until, emptied=before > 0)

    def restart(self, server: Server, times: StepTimes | None = None, *, down_s: float = 0.0) -> None:
        """The server starts again with other settings: what was in flight waits anew, with nothing produced.

        Clients keep waiting through ``down_s`` seconds, in which nothing runs.
        """
        flying = [*self.batch.members, *self._fresh, *([] if self._chunked is None else [self._chunked]), *self.queue]
        self.server = server
        self.times = times or self.times
        self.now += down_s
        self.ratio = server.first_ratio
        self.batch = Batch(server.page)
        self.pool = Pool(server.usable_tokens, server.page, radix=server.radix)
        self.queue = deque()
        self._chunked, self._fresh, self._last_was_prefill = None, [], False
        for live in sorted(flying, key=lambda live: live.order):
            self._accept(live.asked, live.arrival_s)

    def _receive(self) -> None:
        for at, request in self._arrivals.take(self.now):
            self._accept(request, at)

    def _accept(self, request: TwinRequest, at: float) -> None:
        """Into the queue, its length clamped as the server does; refused where its prompt can never fit."""
        room = self.server.longest - 1 - request.prompt
        if room < 1:
            self._refused.append(Outcome(at, at, at, self.now, request.prompt, 0, 0, 0, "refused"))
            self._arrivals.answered(self.now, refused=True)
            return
        self._orders += 1
        max_new = min(request.max_new, room)
        self.queue.append(Live(request, at, self._orders, max_new, min(request.output, max_new)))

    def _merge(self) -> None:
        """The last prefill pass joins the batch. Whoever of it ended at once, or is not complete, opens the batch."""
        if not self._last_was_prefill:
            return
        if self._fresh_shrank:
            self.batch.full = False
        # An empty batch is replaced by the new one, whose flag is not set: what the pass refused is tried again.
        if self._fresh and len(self.batch) == 0:
            self.batch.full = False
        for live in self._fresh:
            self.batch.join(live)
        self._fresh = []

    def _admit(self) -> Pass | None:
        if self.server.rules.empty_batch_opens and len(self.batch) == 0:
            self.batch.full = False
        if self._chunked is None and (self.batch.full or not self.queue):
            return None
        return PrefillPass(self.server, self.pool, self.batch, self.ratio).build(self.queue, self._chunked, self.now)

    def _prefill(self, admitted: Pass) -> StepState:
        seconds = self.times.prefill_s(admitted.tokens)
        start_used = self.pool.used
        for live, count in admitted.members:
            self.pool.used += self.pool.paged(live.filled + count) - self.pool.paged(live.filled)
            live.filled += count
        held = self.pool.used
        self.now += seconds
        self._chunked = admitted.unfinished
        left, generated = [], 0
        for live, _ in admitted.members:
            if live is self._chunked:
                continue
            generated += 1
            if live.first_s < 0:
                live.first_s = self.now
            self._publish(live)
            live.produced += 1
            if live.produced >= live.target:
                self._release(live, self.pool.paged(live.filled - live.shared))
                left.append(self._outcome(live, "finished"))
            else:
                self._fresh.append(live)
        self._last_was_prefill = True
        self._fresh_shrank = bool(left) or self._chunked is not None
        return StepState(
            "prefill",
            self.now,
            seconds,
            1,
            len(self.batch.members) + len(self._fresh),
            len(self.queue),
            held,
            self.server.pool_tokens,
            self.ratio,
            token_seconds=start_used * seconds,
            admitted=admitted.fresh,
            sequences=len(admitted.members),
            new_tokens=admitted.tokens,
            cached_tokens=admitted.cached,
            generated=generated,
            full=self.batch.full,
            left=self._with_refused(left),
        )

    def _decode(self, until: float, *, shrank: bool) -> StepState:
        gain = gain_of(self.server.accept_len, self._decodes)
        retracted: tuple[Live, ...] = ()
        lost: list[Outcome] = []
        if self.pool.free < step_need(self.batch, self.server, gain):
            result = retract(self.batch, self.pool, self.server, gain)
            retracted, self.ratio, shrank = result.back, result.ratio, True
            self.queue.extend(retracted)
            lost = [self._outcome(live, "aborted") for live in result.lost]
        if shrank:
            self.batch.full = False
        running = len(self.batch.members)
        start = self.now
        stretch = self._stretch(until, decays=not (retracted or lost))
        used = self.pool.used
        ended, over = [], 0
        for live in self.batch.ended():
            over += self.batch.produced(live) - live.target
            self._release(live, self.batch.held(live, self.pool))
            live.produced = live.target
            ended.append(self._outcome(live, "finished"))
        return StepState(
            "decode",
            self.now,
            self.now - start,
            stretch.steps,
            running,
            len(self.queue),
            used,
            self.server.pool_tokens,
            self.ratio,
            token_seconds=stretch.token_seconds,
            generated=stretch.gained * running - over,
            retracted=len(retracted),
            full=self.batch.full,
            left=self._with_refused(lost + ended),
        )

    def _stretch(self, until: float, *, decays: bool) -> Stretch:
        """Run decode steps until something can change."""
        if not self.batch.members:
            return Stretch(self.now, self.pool.used, self.ratio, 0, 0, 0.0)
        tries_again = self._chunked is not None or (bool(self.queue) and not self.batch.full)
        done = decode_stretch(
            self.batch,
            self.server,
            self.times,
            Stretch(self.now, self.pool.used, self.ratio, self._decodes, 0, 0.0),
            most=1 if tries_again or not self._jump else _MOST_STEPS_AT_ONCE,
            horizon=min(until, self._arrivals.next_at),
            decays=decays,
        )
        self.now, self.pool.used, self.ratio = done.now, done.used, done.ratio
        self._decodes += done.steps
        return done

    def _idle(self, until: float, *, emptied: bool) -> StepState | None:
        """Nothing runs. 0.4.6 to 0.5.10 start the reservation again even while requests wait."""
        rules = self.server.rules
        if rules.reset_while_waiting or not self.queue:
            self.ratio = self.server.first_ratio
        start = self.now
        tried = bool(self.queue) and emptied and not rules.leave_before_admission
        if not tried:
            wake = min(self._arrivals.next_at, until)
            if not math.isinf(wake):
                self.now = max(self.now, wake)
            elif not self._refused:
                return None
        return StepState(
            "idle",
            self.now,
            self.now - start,
            0,
            0,
            len(self.queue),
            self.pool.used,
            self.server.pool_tokens,
            self.ratio,
            token_seconds=self.pool.used * (self.now - start),
            full=self.batch.full,
            left=self._with_refused([]),
        )

    def _publish(self, live: Live) -> None:
        """A computed prompt goes into the radix cache: others may read its shared part from now on."""
        asked = live.asked
        key = (asked.group, self.pool.whole(min(asked.shared_prefix, asked.prompt - 1)))
        if key[1] and live.prefix is None and self.pool.publish(key):
            live.prefix = key

    def _release(self, live: Live, held: int) -> None:
        self.pool.used -= held
        if live.prefix is not None:
            self.pool.release(live.prefix)
        self.pool.leave(held)

    def _outcome(self, live: Live, ending: Ending) -> Outcome:
        self._arrivals.answered(self.now)
        return Outcome(
            live.arrival_s,
            live.admitted_s,
            live.first_s,
            self.now,
            live.asked.prompt,
            live.produced,
            live.cached,
            live.retractions,
            ending,
        )

    def _with_refused(self, left: list[Outcome]) -> tuple[Outcome, ...]:
        refused, self._refused = self._refused, []
        return (*refused, *left)
