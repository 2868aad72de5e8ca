"""From the twin's states to what a scheduler prints and publishes: one printer a data-parallel rank."""

from __future__ import annotations

from random import Random
from typing import Final

from kvtui.scenarios.box import Box
from kvtui.scenarios.gauges import Gauges, Totals
from kvtui.scenarios.situation import Decor
from kvtui.scenarios.start import Start
from kvtui.scenarios.wording import Wording
from kvtui.twin import StepState

IDLE_REFRESH_S: Final = 30.0
"""An idle scheduler publishes at most this often (facts/observability.md 1.3)."""

Stamped = tuple[float, str]
"""Seconds of the twin's own time, and a message."""


class Printer:
    """Prints a line each ``decode_log_interval`` decode steps and one a prefill pass, and keeps the gauges."""

    def __init__(self, box: Box, start: Start, decor: Decor, rng: Random, totals: Totals) -> None:
        self.gauges = Gauges()
        self._box, self._decor, self._rng, self._totals = box, decor, rng, totals
        self._wording = Wording(box.version)
        self._interval = max(1, int(box.number("decode_log_interval", 40)))
        self._graph_max = box.graph_max
        self._pool, self._swa = start.tokens, start.sizing.swa if start.sizing is not None else None
        self._steps = 0
        self._made = 0.0
        self._line_at = 0.0
        self._prefill_at = 0.0
        self._prefill_tokens = 0
        self._ratio = 0.7
        self._idle_at = 0.0
        self._waited = 0.0
        self._token_at = 0.0
        """When the last decode step ended."""
        self._firsts: list[tuple[float, int]] = []
        """Since then: when prefill passes ended, and how many requests got their first token from each."""

    def feed(self, state: StepState) -> list[Stamped]:
        """The lines of one state, in order of time."""
        for outcome in state.left:
            # The admission that is counted now is much like that of whoever ended last.
            self._waited = max(0.0, outcome.waiting_s)
            self._ended(outcome.prompt, outcome.output, outcome.cached, (outcome.arrival_s, outcome.first_s, outcome.end_s))
        if state.kind == "prefill":
            lines = self._prefill(state)
        elif state.kind == "decode":
            lines = self._decode(state)
        else:
            lines = []
            self._idle(state)
        self._ratio = state.ratio
        return lines

    def begin(self, at: float) -> None:
        """The scheduler is up at that second of the twin's time: the first line counts from here."""
        self._line_at = self._prefill_at = self._idle_at = self._token_at = at

    def stamp(self, at: float) -> None:
        """A snapshot for ``/v1/loads`` was written."""
        self.gauges.stamp = at

    def _ended(self, prompt: int, output: int, cached: int, times: tuple[float, float, float]) -> None:
        totals, (arrival, first, end) = self._totals, times
        totals.requests += 1
        totals.prompt_tokens += prompt
        totals.generation_tokens += output
        totals.cached_tokens += min(cached, prompt)
        if first >= arrival:
            totals.ttft.add(first - arrival)
            totals.e2e.add(end - arrival)

    def _prefill(self, state: StepState) -> list[Stamped]:
        gauges = self.gauges
        gauges.prefill_tokens += state.new_tokens
        gauges.cached_tokens += state.cached_tokens
        gauges.prefill_busy_s += state.seconds
        finished = sum(outcome.ending == "finished" for outcome in state.left)
        running = max(0, state.running - (state.generated - finished))
        if state.generated:
            self._firsts.append((state.at_s, state.generated))
        begun = state.at_s - state.seconds
        used = max(0, state.used - state.new_tokens)
        since = max(begun - self._prefill_at, 1e-3)
        speed, self._prefill_at, self._prefill_tokens = self._prefill_tokens / since, begun, state.new_tokens
        gauges.running, gauges.queued, gauges.ratio, gauges.decode_ticked = running, state.queued, state.ratio, False
        gauges.used, gauges.usage = used, used / self._pool
        for _ in range(state.admitted):
            gauges.queue_time.add(self._waited)
        values = {"#new-seq": str(state.sequences), "#new-token": str(state.new_tokens), "#cached-token": str(state.cached_tokens)}
        values.update(self._usage(used, tokens=False))
        values.update({"#running-req": str(running), "#queue-req": str(state.queued)})
        if self._decor.preallocated_usage is not None:
            values["#prealloc-req"] = str(self._around(self._decor.prealloc))
        return [(begun, self._wording.prefill(values, graph=False, input_tput=speed, pending=0))]

    def _decode(self, state: StepState) -> list[Stamped]:
        lines: list[Stamped] = []
        start = state.at_s - state.seconds
        if state.retracted:
            lines.append((start, self._wording.retract(state.retracted, state.retracted * 400, self._ratio, state.ratio)))
            self.gauges.retracted += state.retracted
            self.gauges.retracted_output += state.retracted * 200
        if not state.steps:
            return lines
        self._between_tokens(state, start)
        done, each = 0, state.generated / state.steps
        self.gauges.decode_tokens += state.generated
        graph = self._graphed(state.running)
        if graph:
            self.gauges.graph_passes += state.steps
        else:
            self.gauges.eager_passes += state.steps
        while state.steps - done >= self._interval - self._steps:
            run = self._interval - self._steps
            done += run
            self._made += run * each
            at = start + state.seconds * done / state.steps
            used = max(0, round(state.used - each * (state.steps - done)))
            lines.append((at, self._tick(state, at, used, graph=graph)))
            self._steps, self._made, self._line_at = 0, 0.0, at
        self._steps += state.steps - done
        self._made += (state.steps - done) * each
        return lines

    def _between_tokens(self, state: StepState, start: float) -> None:
        """Each token's distance from the one before, as the tokenizer sees it: what lies between two steps is in it."""
        step = state.seconds / state.steps
        gain = max(1.0, state.generated / (state.steps * state.running)) if state.running else 1.0
        fresh = sum(count for _, count in self._firsts)
        add = self._totals.itl.add
        for since, count in ((self._token_at, max(0, state.running - fresh)), *self._firsts):
            add((start + step - since) / gain, round(count * gain))
        add(step / gain, round((state.steps - 1) * state.running * gain))
        self._token_at, self._firsts = state.at_s, []

    def _tick(self, state: StepState, at: float, used: int, *, graph: bool) -> str:
        gauges, decor = self.gauges, self._decor
        seconds = max(at - self._line_at, 1e-6)
        tput = self._made / seconds * max(0.2, self._rng.gauss(1.0, decor.tput_noise))
        gauges.running, gauges.queued, gauges.used, gauges.usage = state.running, state.queued, used, used / self._pool
        gauges.tput, gauges.ratio, gauges.decode_ticked, gauges.graph = tput, state.ratio, True, graph
        draft = self._box.draft
        accept = None if draft is None else max(1.0, self._rng.gauss(draft.accept_len, 0.04 * draft.accept_len))
        gauges.accept_len = accept or 0.0
        values = {"#running-req": str(state.running), **self._usage(used, tokens=True)}
        more = []
        if decor.preallocated_usage is not None:
            values["pre-allocated usage"] = f"{decor.preallocated_usage:.2f}"
            more += [
                f"#prealloc-req: {self._around(decor.prealloc)}",
                f"#transfer-req: {self._around(decor.transfer)}",
                "#retracted-req: 0",
            ]
        if decor.occupancy_pct is not None:
            gauges.occupancy = min(100.0, max(1.0, self._rng.gauss(decor.occupancy_pct, 2.0)))
            more.append(f"fwd occupancy: {gauges.occupancy:.2f}%")
        return self._wording.decode(
            values, graph=graph, tput=tput, queued=state.queued, accept=accept, drafts=draft.tokens if draft is not None else 0,
            more=", ".join(more),
        )  # fmt: skip

    def _idle(self, state: StepState) -> None:
        """Throughput falls to 0 and the gauges say so, at most each 30 s."""
        self._line_at = max(self._line_at, state.at_s - state.seconds)
        if self.gauges.running == 0 and self.gauges.tput == 0.0:
            self._idle_at = state.at_s
        elif state.at_s - self._idle_at >= IDLE_REFRESH_S or not self.gauges.running:
            self.gauges.running, self.gauges.queued, self.gauges.used, self.gauges.usage = 0, state.queued, state.used, state.usage
            self.gauges.tput, self.gauges.decode_ticked, self._idle_at = 0.0, False, state.at_s
        self._steps, self._made = 0, 0.0

    def _usage(self, used: int, *, tokens: bool) -> dict[str, str]:
        """Keys of the pool's use; a sliding-window model names both pools."""
        share, full = used / self._pool, self._decor.full_share
        if full is None or self._swa is None:
            return {**({"#token": str(used)} if tokens else {}), "token usage": f"{share:.2f}"}
        shown = {"full token usage": f"{share * full:.2f}", "swa token usage": f"{min(1.0, share):.2f}"}
        if not tokens:
            return shown
        return {
            "#full token": str(int(used * full)), "full token usage": shown["full token usage"],
            "#swa token": str(min(self._swa, int(share * self._swa))), "swa token usage": shown["swa token usage"],
        }  # fmt: skip

    def _graphed(self, running: int) -> bool:
        return 0 < running <= self._graph_max

    def _around(self, mean: float) -> int:
        return max(0, round(self._rng.gauss(mean, 0.15 * mean))) if mean else 0
