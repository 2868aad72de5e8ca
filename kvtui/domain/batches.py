"""Figures of one data-parallel rank out of its batch lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kvtui.domain.fitting import fit_share
from kvtui.domain.rank_rows import RankRows, Steps, mean, quantile
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.domain.samples import DECODE, PREFILL

_ALIKE: Final = 0.7
"""A batch of at least this share of the usual one is like it."""
_IMPOSSIBLE: Final = 1e9
"""Tokens of a prefill pass, or seconds of a step, that no line can mean."""
_FEWEST: Final = 4
"""Batch lines below which no share is told."""
_NO_LINES: Final = "the log has no batch lines"


@dataclass(frozen=True, slots=True)
class RankLoad:
    """One data-parallel rank over one window; units as in ``Workload``."""

    dp: int
    decode_lines: int
    prefill_lines: int
    running: Reading[float]
    running_peak: Reading[float]
    queued: Reading[float]
    queue_share: Reading[float]
    """Share of lines with a queue."""
    usage: Reading[float]
    usage_peak: Reading[float]
    """95th percentile."""
    swa_usage: Reading[float]
    """95th percentile of the sliding-window pool's share in use."""
    mamba_usage: Reading[float]
    """95th percentile of the state pool's share in use."""
    resident: Reading[float]
    drained_share: Reading[float]
    """Share of the queueing lines in which no more than half of the peak ran."""
    pinned_share: Reading[float]
    """Share of the queueing lines in which the peak ran."""
    gen_tput: Reading[float]
    step_s: Reading[float]
    pure_step_s: Reading[float]
    prefill_share: Reading[float]
    full_pass: Reading[float]
    """Median uncached tokens of a prefill pass."""
    graph_share: Reading[float]
    accept_len: Reading[float]
    first_at: float | None
    last_at: float | None
    last_line: int | None
    covered_weight: float
    """Proportional to the wall time that its decode lines cover."""
    generated_weight: float
    """Proportional to the tokens that the rank generated (running times accept length, over its decode lines)."""


def load_of_rank(dp: int, of: RankRows, steps: Steps, pool_tokens: int | None, interval: float) -> RankLoad:
    """One rank's figures; ``steps``: those of its rows, ``interval``: steps a decode line stands for."""
    times, sizes = of.any_kind("at"), of.of_kind("new_token", PREFILL)
    queueing, pure = _while_queueing(of), _pure_step(of, steps)
    return RankLoad(
        dp=dp,
        decode_lines=of.count(DECODE),
        prefill_lines=of.count(PREFILL),
        running=_running(of),
        running_peak=_peak(of),
        queued=of.reading_or_prefill("queued", mean, "mean queued"),
        queue_share=of.reading_or_prefill("queued", lambda values: sum(v > 0 for v in values) / len(values), "share with a queue"),
        usage=of.reading_or_prefill("usage", mean, "mean usage"),
        usage_peak=of.reading_or_prefill("usage", lambda values: quantile(values, 0.95), "95th percentile of usage"),
        swa_usage=of.reading("swa_usage", lambda values: quantile(values, 0.95), "95th percentile of SWA usage"),
        mamba_usage=of.reading("mamba_usage", lambda values: quantile(values, 0.95), "95th percentile of state usage"),
        resident=_resident(of, pool_tokens),
        drained_share=_share_of(of, queueing, lambda running, peak: running <= peak / 2, "share with half of the peak or less"),
        pinned_share=_share_of(of, queueing, lambda running, peak: running >= 0.98 * peak, "share at the peak"),
        gen_tput=throughput(of, steps),
        step_s=of.made(mean([s for _, s, _ in steps]), "mean step") if steps else Missing("no decode line tells a throughput"),
        pure_step_s=pure,
        prefill_share=_prefill_share(of, steps, pure, interval),
        full_pass=of.made(quantile(sizes, 0.5), "median prefill pass") if sizes else Missing("the log has no prefill lines"),
        graph_share=of.reading("graph", mean, "share with a CUDA graph"),
        accept_len=of.reading("accept_len", mean, "mean accept length"),
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        last_line=next((int(line) for line in reversed(of.any_kind("line"))), None),
        generated_weight=_generated(of),
        covered_weight=covered(steps),
    )


def covered(steps: Steps) -> float:
    """Proportional to the wall time that the decode lines of a rank cover."""
    return sum(seconds for _, seconds, _ in steps)


def throughput(of: RankRows, steps: Steps) -> Reading[float]:
    """Tokens a second of one rank: tokens over the time they took, so that slow lines weigh by their length."""
    if not steps:
        return of.reading("gen_tput", mean, "mean generation throughput")
    tput = of.window.column("gen_tput")
    return of.made(
        sum(tput[i] * step for i, step, _ in steps) / covered(steps),
        f"generation throughput over {len(steps)} decode lines, by time",
    )


def _after_prefill(of: RankRows) -> list[float]:
    """Running requests right after each prefill pass."""
    rows = zip(of.cells("kind"), of.cells("running"), of.cells("new_seq"), strict=True)
    return [run + (0.0 if math.isnan(new) else new) for kind, run, new in rows if kind == PREFILL and not math.isnan(run)]


def _running(of: RankRows) -> Reading[float]:
    values = of.known("running")
    if values:
        return of.made(mean(values), f"mean running over {len(values)} decode lines")
    values = _after_prefill(of)
    return of.made(mean(values), f"mean running over {len(values)} prefill lines") if values else Missing(_NO_LINES)


def _peak(of: RankRows) -> Reading[float]:
    values = of.known("running") or _after_prefill(of)
    return of.made(max(values), "most running at once") if values else Missing(_NO_LINES)


def _resident(of: RankRows, pool_tokens: int | None) -> Reading[float]:
    """Tokens a running request holds: sums, so that a line with few requests weighs little."""
    held, requests = 0.0, 0.0
    for kind, running, tokens, usage in zip(*(of.cells(name) for name in ("kind", "running", "tokens", "usage")), strict=True):
        if kind == DECODE and running > 0:
            used = tokens if not math.isnan(tokens) else usage * pool_tokens if pool_tokens else math.nan
            if used > 0:
                held, requests = held + used, requests + running
    if not requests:
        return Missing("no decode line tells tokens and running requests")
    return of.made(held / requests, "tokens in use over running requests")


def _while_queueing(of: RankRows) -> list[float]:
    """What ran in each decode line that shows a queue."""
    if not max(of.known("queued"), default=0.0) > 0:
        return []
    rows = zip(of.cells("kind"), of.cells("queued"), of.cells("running"), strict=True)
    return [run for kind, queued, run in rows if queued > 0 and kind == DECODE and math.isfinite(run)]


def _share_of(of: RankRows, running: list[float], test: Callable[[float, float], bool], label: str) -> Reading[float]:
    """The share of the queueing lines in which what ran, beside the peak, passes a test."""
    if not running:
        return Missing("no decode line of the window shows a queue")
    peak = max(of.known("running"))
    return of.made(sum(test(run, peak) for run in running) / len(running), f"{label}, of {len(running)} queueing lines")


def _generated(of: RankRows) -> float:
    rows = zip(of.cells("kind"), of.cells("running"), of.cells("accept_len"), strict=True)
    return sum(run * (gain if gain >= 1 else 1.0) for kind, run, gain in rows if kind == DECODE and 0 < run < math.inf)


def _alike(of: RankRows, steps: Steps, *, stalled: bool | None = None) -> list[float]:
    """The step grows with the batch, so only lines with a batch like the usual one count."""
    running = of.window.column("running")
    least = _ALIKE * quantile([running[i] for i, _, _ in steps], 0.5) if steps else 0.0
    return [step for i, step, was in steps if running[i] >= least and (stalled is None or was == stalled)]


def _pure_step(of: RankRows, steps: Steps) -> Reading[float]:
    pure = _alike(of, steps, stalled=False)
    if len(pure) < 2:
        return Missing("hardly a decode line without prefill in between")
    return of.made(quantile(pure, 0.5), f"median step over {len(pure)} lines without prefill")


def _prefill_share(of: RankRows, steps: Steps, pure: Reading[float], interval: float) -> Reading[float]:
    """A fit where one holds, else the larger of two lower bounds: stalls, and passes counted as one step each.

    A prefill pass takes at least as long as a decode step of the same server. Where every decode line holds about
    as much prefill as the next, stalls have nothing to stand against: only a line through the lines' token counts
    tells the two apart.
    """
    decode, prefill = of.count(DECODE), of.count(PREFILL)
    if not prefill:
        return of.made(0.0, "no prefill line in the window") if decode else Missing(_NO_LINES)
    if prefill + decode < _FEWEST:
        return Missing("too few batch lines to tell")
    passes = prefill / (prefill + decode * interval)
    counted = of.made(passes, f"{prefill} prefill passes beside {decode * interval:.0f} decode steps")
    if len(steps) < 3:
        return counted
    base = pure.value if isinstance(pure, Known) else quantile(_alike(of, steps), 0.05)
    spent = sum(max(0.0, step - base) for _, step, stalled in steps if stalled)
    share = spent / covered(steps)
    prefilled = of.prefilled()
    likely = [(prefilled[i], step * interval) for i, step, _ in steps if prefilled[i] < _IMPOSSIBLE and step < _IMPOSSIBLE]
    fit = fit_share([work for work, _ in likely], [seconds for _, seconds in likely])
    if fit is not None and fit.share > max(passes, share):
        return of.made(fit.share, f"time against prefilled tokens over {len(steps)} decode lines, {fit.explained:.0%} explained")
    return counted if passes > share else of.made(share, f"stalls of {len(steps)} decode lines against a step of {base * 1000:.1f} ms")
