"""What a run comes to: means, counts and quantiles, and how far they spread over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from kvtui.twin.demand import Demand
from kvtui.twin.setup import Server, StepTimes
from kvtui.twin.simulate import simulate
from kvtui.twin.state import Outcome, StepState


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Seconds; all NaN where nothing was measured."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One run; NaN where there was nothing to measure.

    ``mean_running``, ``mean_queued`` and ``mean_usage`` weigh each decode step with the wall time since the step
    before it, prefill stalls included, as a server's own decode lines do.
    """

    seconds: float
    decode_steps: int
    mean_running: float
    peak_running: int
    mean_queued: float
    mean_usage: float
    peak_usage: float
    admissions: int
    admissions_per_min: float
    finished_per_min: float
    retractions: int
    generated: int
    tok_per_s: float
    prompt_tokens: int
    """Prompt tokens computed."""
    cached_tokens: int
    prefill_share: float
    """Share of the busy time that prefill passes take."""
    finished: int
    aborted: int
    refused: int
    waiting_s: Quantiles
    latency_s: Quantiles


def summarise(states: Iterable[StepState], *, from_s: float = 0.0) -> Summary:
    """The summary of the states that end after ``from_s`` seconds; requests count where they ended after it."""
    tally = _Tally()
    for state in states:
        if state.at_s > from_s or (from_s == 0 and state.at_s == 0):
            tally.add(state)
        else:
            tally.begin = state.at_s
    return tally.summary()


def spread(summaries: Sequence[Summary]) -> Mapping[str, tuple[float, float, float]]:
    """Least, mean and most of each single figure over runs, by field name. Raises ValueError without runs."""
    if not summaries:
        raise ValueError("a spread needs at least one run")
    out = {}
    for field in fields(Summary):
        values = [_figure(getattr(summary, field.name)) for summary in summaries]
        out[field.name] = (min(values), sum(values) / len(values), max(values))
    return out


def replay(
    server: Server, demand: Demand, times: StepTimes, *, seeds: Iterable[int], until: float | None = None, from_s: float = 0.0
) -> list[Summary]:
    """One summary a seed."""
    return [summarise(simulate(server, demand, times, seed=seed, until=until), from_s=from_s) for seed in seeds]


def _figure(value: float | Quantiles) -> float:
    return value.mean if isinstance(value, Quantiles) else float(value)


class _Tally:
    def __init__(self) -> None:
        self.begin = 0.0
        self.end = 0.0
        self.steps = self.peak_running = self.admissions = self.retractions = 0
        self.generated = self.prompt = self.cached = 0
        self.weight = self.running = self.queued = self.tokens = 0.0
        self.peak_usage = self.prefill_s = self.busy_s = 0.0
        self.stall = 0.0
        self.outcomes: list[Outcome] = []
        self.pool = 1

    def add(self, state: StepState) -> None:
        self.end, self.pool = state.at_s, state.pool
        self.peak_usage = max(self.peak_usage, state.usage)
        self.admissions += state.admitted
        self.retractions += state.retracted
        self.generated += state.generated
        self.prompt += state.new_tokens
        self.cached += state.cached_tokens
        self.outcomes += state.left
        if state.kind == "prefill":
            self.stall += state.seconds
            self.prefill_s += state.seconds
            self.busy_s += state.seconds
        elif state.kind == "decode" and state.steps:
            self._decode(state)
        elif state.kind == "idle":
            self.stall = 0.0

    def _decode(self, state: StepState) -> None:
        seconds = state.seconds + self.stall
        self.steps += state.steps
        self.peak_running = max(self.peak_running, state.running)
        self.busy_s += state.seconds
        self.weight += seconds
        self.running += state.running * seconds
        self.queued += state.queued * seconds
        self.tokens += state.token_seconds * (seconds / state.seconds if state.seconds > 0 else 0.0)
        self.stall = 0.0

    def summary(self) -> Summary:
        seconds = self.end - self.begin
        finished = [outcome for outcome in self.outcomes if outcome.ending == "finished"]
        return Summary(
            seconds=seconds,
            decode_steps=self.steps,
            mean_running=_over(self.running, self.weight),
            peak_running=self.peak_running,
            mean_queued=_over(self.queued, self.weight),
            mean_usage=_over(self.tokens, self.weight * self.pool),
            peak_usage=self.peak_usage,
            admissions=self.admissions,
            admissions_per_min=60 * _over(self.admissions, seconds),
            finished_per_min=60 * _over(len(finished), seconds),
            retractions=self.retractions,
            generated=self.generated,
            tok_per_s=_over(self.generated, seconds),
            prompt_tokens=self.prompt,
            cached_tokens=self.cached,
            prefill_share=_over(self.prefill_s, self.busy_s),
            finished=len(finished),
            aborted=sum(outcome.ending == "aborted" for outcome in self.outcomes),
            refused=sum(outcome.ending == "refused" for outcome in self.outcomes),
            waiting_s=quantiles([outcome.waiting_s for outcome in finished]),
            latency_s=quantiles([outcome.latency_s for outcome in finished]),
        )


def quantiles(values: Sequence[float]) -> Quantiles:
    """Mean and nearest-rank quantiles."""
    if not values:
        return Quantiles(math.nan, math.nan, math.nan, math.nan)
    ordered = sorted(values)
    p50, p90, p99 = (ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.9, 0.99))
    return Quantiles(sum(ordered) / len(ordered), p50, p90, p99)


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
