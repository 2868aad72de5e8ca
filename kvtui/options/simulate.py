"""The observed load before and after a change, played by the twin for some seeds (facts/diagnoses.md 7)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.reading import Missing
from kvtui.options.outcome import Outcome, Spread, spread_of, together
from kvtui.options.rank_groups import Group
from kvtui.options.trial import Case, Trial
from kvtui.twin import Lengths, StepTimes, Summary, simulate, summarise
from kvtui.twin.state import StepState

SEEDS: Final = (1, 2, 3)
_WARM: Final = 1.5
"""Times that a request takes from being sent to its end, before anything is counted: a cold start is not the steady state."""
_LAPS: Final = 3.0
"""The same, that are counted at least."""
_REQUESTS: Final = 150
"""Requests that are counted at least, so that a few do not make a mean."""
_MOST_STATES: Final = 20_000
"""States of one run."""
_MOST_STEPS: Final = 120_000
"""Decode steps of one run: the twin jumps over them, but not for nothing."""
FULL_SIZE: Final = 200
"""Requests in flight up to which the rank is played whole; more are played as a smaller rank of the same proportions."""
_CLOSE: Final = 0.15
"""Difference to what was measured up to which the simulation of today counts as alike."""
__all__ = ["FULL_SIZE", "Outcome", "Simulated", "Spread", "Stop", "play", "run"]
_ASKED: Final = (1.0, 2.0, 4.0)
"""``max_new_tokens`` over the answer, tried beside a client that sends none: no log tells it."""

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Simulated:
    """Both sides of a trial."""

    trial: Trial
    today: Outcome
    changed: Outcome | Missing | None
    max_new: int | None
    """``max_new_tokens`` that clients are taken to send; None: none."""
    max_new_why: str
    alike: bool | None
    """True where the simulation of today comes near what was measured; None where there is nothing to compare with."""
    same: bool = False
    """True where the change touches nothing that the twin knows."""


def run(trial: Trial, stop: Stop = lambda: False) -> Simulated | Missing:
    """Play the trial; about a second of computing, less where ``stop`` says so: then Missing."""
    chosen = _with_max_new(trial, stop)
    if isinstance(chosen, Missing):
        return chosen
    today, max_new, why = chosen
    before = play_server(trial, today, stop)
    if isinstance(before, Missing):
        return before
    changed = trial.changed
    after: Outcome | Missing | None = None
    same = False
    if isinstance(changed, Missing):
        after = changed
    elif changed is not None:
        case = _asked_alike(changed, today)
        same = case == today
        after = before if same else play_server(trial, case, stop)
    return Simulated(trial, before, after, max_new, why, _alike(trial, before), same)


def play_server(trial: Trial, case: Case, stop: Stop) -> Outcome | Missing:
    """All data-parallel ranks of a trial under a case of its busiest one, as one outcome."""
    share = case.clients / trial.today.clients
    parts: list[tuple[Outcome, float]] = []
    for group in trial.groups or (Group(trial.today.clients, 1.0),):
        clients = max(1, round(group.clients * share))
        alone = case if clients == case.clients else replace(case, clients=clients, times=_pace(trial, case))
        outcome = play(alone, stop)
        if isinstance(outcome, Missing):
            return outcome
        parts.append((outcome, group.ranks))
    return together(parts)


def _pace(trial: Trial, case: Case) -> StepTimes:
    """Step times of a rank beside the busiest one: its own, or those of the busiest where they step together."""
    if not trial.in_step:
        return case.times
    return replace(case.times, base_s=case.times.decode_s(round(_held(case))), per_running_s=0.0)


def play(case: Case, stop: Stop, seeds: Sequence[int] = SEEDS) -> Outcome | Missing:
    """One case over some seeds; Missing where it was stopped or no request ended."""
    case, parts = smaller(case)
    lap = _lap(case)
    runs = [_one(case, seed, lap, stop) for seed in seeds]
    done = [run for run in runs if run is not None]
    if len(done) < len(runs):
        return Missing("it was stopped")
    if not all(run.finished and run.seconds >= lap for run in done):
        return Missing("it takes too many steps until a request ends: not simulated in a second or two")
    return Outcome(
        running=spread_of(run.mean_running * parts for run in done),
        queued=spread_of(run.mean_queued * parts for run in done),
        wait_s=spread_of(run.waiting_s.mean for run in done),
        wait_p90_s=spread_of(run.waiting_s.p90 for run in done),
        latency_s=spread_of(run.latency_s.mean for run in done),
        tok_s=spread_of(run.tok_per_s * parts for run in done),
        stream_tok_s=spread_of(run.tok_per_s / run.mean_running if run.mean_running > 0 else math.nan for run in done),
        usage=spread_of(run.mean_usage for run in done),
        retractions_per_min=spread_of(60 * run.retractions * parts / run.seconds if run.seconds > 0 else math.nan for run in done),
        requests=sum(run.finished for run in done),
        seconds=min(run.seconds for run in done),
    )


def smaller(case: Case) -> tuple[Case, int]:
    """The case at one n-th of its size, and n: pool, cap, clients and passes shrink, each request costs n times as much of a step.

    So a step takes as long as at full size; only the grain is coarser, by one request in ``FULL_SIZE``.
    """
    parts = math.ceil(case.clients / FULL_SIZE)
    if parts == 1:
        return case, 1
    server, times = case.server, case.times
    least = max(512, server.page)
    server = replace(
        server,
        pool_tokens=max(8, server.pool_tokens // parts),
        running_cap=max(1, server.running_cap // parts),
        chunk=max(least, server.chunk // parts) if server.chunk is not None else None,
        max_prefill_tokens=max(least, server.max_prefill_tokens // parts),
    )
    times = replace(times, per_running_s=times.per_running_s * parts, prefill_token_s=times.prefill_token_s * parts)
    return replace(case, server=server, times=times, clients=round(case.clients / parts)), parts


def _lap(case: Case) -> float:
    """Seconds from sending to the end of a request, by Little's law at the batch that the pool holds."""
    held = _held(case)
    step = case.times.decode_s(round(held)) / case.server.accept_len
    fresh = case.shape.prompt.mean * (1 - case.shape.cached_share)
    service = case.shape.output.mean * step + held * case.times.prefill_s(round(fresh))
    return service * max(1.0, case.clients / held)


def _held(case: Case) -> float:
    """Requests that the pool holds, reservation left out."""
    size = case.shape.prompt.mean + case.shape.output.mean / 2
    return max(1.0, min(case.clients, case.server.running_cap, case.server.pool_tokens / size))


def _one(case: Case, seed: int, lap: float, stop: Stop) -> Summary | None:
    """One run; None where it was stopped. A run that is cut for its steps counts what it has."""
    end = (_WARM + max(_LAPS, _REQUESTS / case.clients)) * lap
    end = min(end, _MOST_STEPS * case.times.decode_s(round(_held(case))))
    stopped = False

    def watched() -> Iterable[StepState]:
        nonlocal stopped
        states = simulate(case.server, case.demand, case.times, seed=seed, until=end)
        for number, state in enumerate(itertools.islice(states, _MOST_STATES)):
            if number % 64 == 0 and stop():
                stopped = True
                return
            yield state

    states = list(watched())
    if stopped:
        return None
    reached = states[-1].at_s if states else 0.0
    return summarise(states, from_s=min(_WARM * lap, reached / 3))


def _with_max_new(trial: Trial, stop: Stop) -> tuple[Case, int | None, str] | Missing:
    """Today's case with the ``max_new_tokens`` under which it comes nearest to what was seen to run.

    Where the load was stated nothing tells it: clients are taken to send none, which charges 4,096.
    """
    case, seen = trial.today, trial.busiest
    if seen is None or not seen.running:
        return case, None, "no log tells it: taken as not sent, so 4,096 are charged"
    best, off, tokens = case, math.inf, 0
    for times in (0.0, *_ASKED):
        asked = round(case.shape.output.mean * (1 + times)) if times else 0
        tried = replace(case, shape=replace(case.shape, max_new=Lengths(float(asked)))) if asked else case
        played = play(tried, stop, SEEDS[:1])
        if isinstance(played, Missing):
            return played
        away = abs(math.log(max(played.running.mean, 1e-9) / seen.running))
        if away < off - 0.03:
            best, off, tokens = tried, away, asked
    if not tokens:
        return case, None, "none sent, so 4,096 are charged: nearest to what was seen to run"
    return best, tokens, "nearest to what was seen to run; no log tells it"


def _asked_alike(changed: Case, today: Case) -> Case:
    """The changed case under the ``max_new_tokens`` chosen for today, unless the change sets a lower one."""
    asked, own = today.shape.max_new, changed.shape.max_new
    if asked is None:
        return changed
    lower = own if own is not None and own.mean < asked.mean else asked
    return replace(changed, shape=replace(changed.shape, max_new=lower))


def _alike(trial: Trial, before: Outcome) -> bool | None:
    seen = trial.seen
    if seen is None:
        return None
    pairs = ((seen.running, before.running.mean), (seen.tok_s, before.tok_s.mean))
    known = [(told, made) for told, made in pairs if told is not None and told > 0 and made > 0]
    return all(abs(math.log(made / told)) <= math.log1p(_CLOSE) for told, made in known) if known else None
