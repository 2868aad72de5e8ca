"""What a server was doing: the load over the newest window of its samples, one data-parallel rank at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.domain.batches import RankLoad, covered, load_of_rank, throughput
from kvtui.domain.events import Event
from kvtui.domain.prompts import Prompts, prompts_of
from kvtui.domain.rank_rows import RankRows, Steps, split_ranks
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.samples import Timeline

WINDOW_S: Final = 600.0
"""Seconds of the newest samples that count unless asked otherwise."""

DECODE_INTERVAL: Final = 40
"""``decode_log_interval`` where nobody sets it, 0.4.6 to 0.5.23 (facts/diagnoses.md 0.3)."""

_NO_TIMES: Final = "the log carries no times"


@dataclass(frozen=True, slots=True)
class Workload:
    """Load of a server over one window. Tokens, requests, seconds; shares are 0 to 1.

    Figures "of the server" are sums over its data-parallel ranks; admission is decided in each rank alone, so
    sizing wants ``busiest`` or ``ranks``.
    """

    first_at: Reading[float]
    """Stamp of the window's first batch line, on the source's clock."""
    last_at: Reading[float]
    span_s: Reading[float]
    decode_lines: int
    prefill_lines: int
    running: Reading[float]
    """Mean running requests over decode lines, of the server."""
    running_peak: Reading[float]
    """Most that ran at once in one rank."""
    queued: Reading[float]
    """Mean queued requests over decode lines, of the server."""
    usage: Reading[float]
    """Mean share of the pool in use by running requests, over ranks."""
    resident: Reading[float]
    """``m``: tokens in the pool per running request."""
    prompt: Reading[float]
    """Uncached prompt tokens of one new request; a prompt that was prefilled in chunks counts once."""
    prompt_max: Reading[float]
    """Longest chain of chunks seen, in uncached tokens: a lower bound of the longest prompt where it was cached in part."""
    cached_share: Reading[float]
    """Cached prompt tokens over all prompt tokens (facts/diagnoses.md 0.3: the gauge lies, the sums do not)."""
    output: Reading[float]
    """Tokens one request generates: generated over started requests; only sound in a steady state."""
    gen_tput: Reading[float]
    """Generated tokens a second, of the server, stalls included."""
    input_tput: Reading[float]
    """Uncached prompt tokens computed a second of wall time, of the server."""
    step_s: Reading[float]
    """Wall seconds of one decode step, prefill stalls included."""
    pure_step_s: Reading[float]
    """Wall seconds of one decode step with no prefill in between."""
    prefill_share: Reading[float]
    """Share of busy wall time that prefill takes from decode."""
    retractions: int
    """Lines of the window that say requests were put back."""
    retracted: int
    """Requests put back in the window."""
    retractions_per_min: Reading[float]
    graph_share: Reading[float]
    """Share of decode lines that ran as a CUDA graph."""
    accept_len: Reading[float]
    """Tokens a request gains per step with speculation, the bonus token included."""
    ranks: tuple[RankLoad, ...] = ()

    @property
    def busiest(self) -> RankLoad | None:
        """The rank that generates most, or None where there are no samples."""
        return max(self.ranks, key=lambda rank: rank.generated_weight, default=None)

    @property
    def empty(self) -> bool:
        """True where no request was seen."""
        return not self.decode_lines and not self.prefill_lines


def observe(
    timeline: Timeline,
    events: Sequence[Event],
    *,
    pool_tokens: int | None,
    window_s: float | None = WINDOW_S,
    chunk: int | None = None,
    longest: int | None = None,
    decode_interval: int | None = None,
) -> Workload:
    """The load over the newest ``window_s`` seconds of samples (None: all of them).

    ``pool_tokens`` is one rank's pool; ``chunk`` the effective ``chunked_prefill_size``, where known; ``longest`` what no
    prompt exceeds (pool and context length), where known; ``decode_interval`` the steps between two decode lines
    (``decode_log_interval``), guessed where None. Samples without times are all taken.
    """
    window = _newest(timeline, window_s)
    ranks = split_ranks(window)
    first, last = _ends(window)
    span = last - first if first is not None and last is not None else None
    split = [RankRows(window, rows) for _, rows in ranks]
    steps = [of.steps() for of in split]
    interval = decode_interval if decode_interval is not None and decode_interval > 0 else _guess_interval(steps, span)
    loads = tuple(load_of_rank(dp, of, told, pool_tokens, interval) for (dp, _), of, told in zip(ranks, split, steps, strict=True))
    prompts = prompts_of(window, ranks, chunk, longest)
    retract = once_a_group([event for event in events if event.kind == "retract" and _within(event, window, first)])
    retractions = sum(event.count for event in retract)
    there = _presences([load.covered_weight for load in loads])
    return Workload(
        first_at=Missing(_NO_TIMES) if first is None else Known(first, first),
        last_at=Missing(_NO_TIMES) if last is None else Known(last, last),
        span_s=Missing(_NO_TIMES) if span is None else Known(span, last, Where("formula", "last minus first stamp of the window")),
        decode_lines=sum(load.decode_lines for load in loads),
        prefill_lines=sum(load.prefill_lines for load in loads),
        running=_total(tuple(load.running for load in loads), there),
        running_peak=_highest(tuple(load.running_peak for load in loads)),
        queued=_total(tuple(load.queued for load in loads), there),
        usage=_mean(tuple(load.usage for load in loads)),
        resident=_weighted(tuple(load.resident for load in loads), tuple(load.generated_weight for load in loads)),
        prompt=prompts.mean,
        prompt_max=prompts.longest,
        cached_share=prompts.cached_share,
        output=_output(span, prompts, loads, interval),
        gen_tput=_total(tuple(load.gen_tput for load in loads), there),
        input_tput=_per_second(prompts, span),
        step_s=_weighted(tuple(load.step_s for load in loads), tuple(load.generated_weight for load in loads)),
        pure_step_s=_weighted(tuple(load.pure_step_s for load in loads), tuple(load.generated_weight for load in loads)),
        prefill_share=_mean(tuple(load.prefill_share for load in loads)),
        retractions=retractions,
        retracted=sum(_retracted(event) for event in retract),
        retractions_per_min=_per_minute(retractions, span),
        graph_share=_mean(tuple(load.graph_share for load in loads)),
        accept_len=_weighted(tuple(load.accept_len for load in loads), tuple(load.generated_weight for load in loads)),
        ranks=loads,
    )


def generated(timeline: Timeline, window_s: float | None) -> Reading[float]:
    """``Workload.gen_tput`` of a window, without the rest of its load."""
    window = _newest(timeline, window_s)
    split = [RankRows(window, rows) for _, rows in split_ranks(window)]
    steps = [of.steps() for of in split]
    rates = tuple(throughput(of, told) for of, told in zip(split, steps, strict=True))
    return _total(rates, _presences([covered(told) for told in steps]))


def _newest(timeline: Timeline, window_s: float | None) -> Timeline:
    """The newest stretch; a window ends at the last sample, so an idle tail does not empty it."""
    if window_s is None or not len(timeline):
        return timeline
    last = timeline.last("at")
    return timeline if last is None else timeline.since(last[0] - window_s)


def _ends(window: Timeline) -> tuple[float | None, float | None]:
    """Earliest and latest stamp, or two None."""
    times = [t for t in window.column("at") if not math.isnan(t)]
    return (min(times), max(times)) if times else (None, None)


def _guess_interval(ranks: Sequence[Steps], span: float | None) -> float:
    """Steps a decode line stands for, where no setting tells: wall time over the steps seen, at most the default.

    A server that idles in between makes the quotient too large, hence the bound.
    """
    covered = max((sum(step for _, step, _ in steps) for steps in ranks), default=0.0)
    if span is None or span < 5 or covered <= 0:
        return float(DECODE_INTERVAL)
    return max(1.0, min(float(DECODE_INTERVAL), span / covered))


def _within(event: Event, window: Timeline, first: float | None) -> bool:
    """True where an event belongs to the window: by time, else by line; anything where there are no samples."""
    if not len(window):
        return True
    if event.at is not None and first is not None:
        return event.at >= first
    line = window.value("line", 0)
    return math.isnan(line) or event.line >= line


def once_a_group(events: Sequence[Event]) -> list[Event]:
    """Every tensor-parallel rank prints a retraction (facts/observability.md 3.2): those of the lowest one count."""
    lowest: dict[int | None, int] = {}
    for event in events:
        tp = event.rank.tp or 0
        lowest[event.rank.dp] = min(tp, lowest.get(event.rank.dp, tp))
    return [event for event in events if (event.rank.tp or 0) == lowest[event.rank.dp]]


def _retracted(event: Event) -> int:
    """Requests one retraction event put back; at least one a line."""
    told = event.fields.get("retracted")
    return max(event.count, int(told)) if isinstance(told, (int, float)) and math.isfinite(told) and told < 1e9 else event.count


def _presences(weights: Sequence[float]) -> tuple[float, ...]:
    """Share of the window in which each rank decoded, by the wall time its lines cover.

    A rank that has nothing to do prints no lines, so that the mean over its own lines says nothing of its idle time.
    """
    longest = max(weights, default=0.0)
    return tuple(min(1.0, weight / longest) if longest > 0 else 1.0 for weight in weights)


def _known(readings: Sequence[Reading[float]]) -> list[Known[float]]:
    return [reading for reading in readings if isinstance(reading, Known)]


def _first_missing(readings: Sequence[Reading[float]]) -> Missing:
    return next((r for r in readings if isinstance(r, Missing)), Missing("the log has no batch lines"))


def _total(readings: Sequence[Reading[float]], shares: Sequence[float]) -> Reading[float]:
    """Sum over ranks, each weighted with the share of the time it was there."""
    found = [(reading, share) for reading, share in zip(readings, shares, strict=True) if isinstance(reading, Known)]
    if not found:
        return _first_missing(readings)
    newest = found[-1][0]
    where = newest.where if len(found) == 1 else Where("formula", f"sum over {len(found)} ranks")
    return Known(sum(reading.value * share for reading, share in found), newest.at, where)


def _mean(readings: Sequence[Reading[float]]) -> Reading[float]:
    found = _known(readings)
    if not found:
        return _first_missing(readings)
    where = found[0].where if len(found) == 1 else Where("formula", f"mean over {len(found)} ranks")
    return Known(sum(reading.value for reading in found) / len(found), found[-1].at, where)


def _weighted(readings: Sequence[Reading[float]], weights: Sequence[float]) -> Reading[float]:
    found = [(reading, weight) for reading, weight in zip(readings, weights, strict=True) if isinstance(reading, Known) and weight > 0]
    if not found:
        return _mean(readings)
    where = found[0][0].where if len(found) == 1 else Where("formula", f"weighted mean over {len(found)} ranks")
    return Known(sum(r.value * w for r, w in found) / sum(w for _, w in found), found[-1][0].at, where)


def _highest(readings: Sequence[Reading[float]]) -> Reading[float]:
    return max(_known(readings), key=lambda reading: reading.value, default=_first_missing(readings))


def _per_minute(count: int, span: float | None) -> Reading[float]:
    if span is None:
        return Missing(_NO_TIMES)
    if span < 1:
        return Missing("the window is shorter than a second")
    return Known(count * 60 / span, None, Where("formula", "retraction lines over the window"))


def _per_second(prompts: Prompts, span: float | None) -> Reading[float]:
    if span is None:
        return Missing(_NO_TIMES)
    if span < 1:
        return Missing("the window is shorter than a second")
    return Known(prompts.tokens / span, None, Where("formula", "new prompt tokens over the window"))


def _output(span: float | None, prompts: Prompts, loads: Sequence[RankLoad], interval: float) -> Reading[float]:
    """Generated tokens per request started, over the window (conservation: steady state only)."""
    alive = sum(reading.value for load in loads if isinstance(reading := load.running, Known))
    generated = interval * sum(load.generated_weight for load in loads)
    if not generated:
        return Missing("no decode line tells running requests")
    if prompts.started < 2 * alive or prompts.started < 4 or (span is not None and span < 5):
        return Missing("too few requests started in the window to tell how long answers are")
    return Known(generated / prompts.started, None, Where("formula", f"tokens of {interval:.0f} steps a decode line over requests started"))
