"""Figures of one data-parallel rank out of its batch lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from kvtui.domain.fitting import fit_share
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.samples import DECODE, PREFILL, Timeline

_NO_DECODE: Final = "the log has no decode lines"
_IDLE_FACTOR: Final = 200
"""A line that covers this many median steps more than its own holds idle time, not work."""

_ALIKE: Final = 0.7
"""A batch of at least this share of the usual one is like it."""
_IMPOSSIBLE: Final = 1e9
"""Tokens of a prefill pass, or seconds of a step, that no line can mean."""
_FEWEST: Final = 4
"""Batch lines below which no share is told."""


Steps = Sequence[tuple[int, float, bool]]
"""Row of a decode line, seconds of its mean step, and whether prefill came in between."""


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


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one rank, by column."""

    window: Timeline
    rows: Sequence[int]
    decode: Sequence[int]
    prefill: Sequence[int]
    read: dict[str, list[float]] = field(default_factory=dict)
    """Columns that were asked for; several figures are made of each."""

    def known(self, name: str, rows: Sequence[int] | None = None) -> list[float]:
        """The known values of a column, of the decode lines unless said otherwise."""
        if rows is None and name in self.read:
            return self.read[name]
        if not self.window.tells(name):
            return []
        column = self.window.column(name)
        values = [column[i] for i in (self.decode if rows is None else rows) if math.isfinite(column[i])]
        if rows is None:
            self.read[name] = values
        return values

    def reading(self, name: str, how: Callable[[Sequence[float]], float], label: str) -> Reading[float]:
        """A figure of one column over the decode lines."""
        values = self.known(name)
        if not values:
            return Missing(f"no decode line of the window tells {label}" if self.decode else _NO_DECODE)
        return self.made(how(values), f"{label} over {len(values)} decode lines")

    def made(self, value: float, detail: str) -> Reading[float]:
        """A figure of this rank, with its newest line; a line may claim anything, so it may not be finite."""
        if not math.isfinite(value):
            return Missing(f"{detail}: a line tells an impossible number")
        i = self.rows[-1]
        at, line = self.window.value("at", i), self.window.value("line", i)
        where = Where("metric", detail.replace(" lines", " samples")) if math.isnan(line) else Where("log", detail, int(line))
        return Known(value, None if math.isnan(at) else at, where)


def split_ranks(window: Timeline) -> list[tuple[int, Sequence[int]]]:
    """Rows of each data-parallel rank, lowest rank first; of pipeline stages only the first, which sees every batch."""
    dps, pps = window.column("dp"), window.column("pp")
    stage = min((0.0 if math.isnan(pp) else pp for pp in set(pps)), default=0.0)
    unnamed = stage == 0.0
    rows: dict[float, list[int]] = {}
    # A number that differs from itself is none; this runs for each sample of the window.
    for i, (dp, pp) in enumerate(zip(dps, pps, strict=True)):
        if pp == stage or (unnamed and pp != pp):  # noqa: PLR0124
            rows.setdefault(dp if dp == dp else 0.0, []).append(i)  # noqa: PLR0124
    return sorted((int(dp), found) for dp, found in rows.items())


def load_of_rank(
    dp: int, window: Timeline, rows: Sequence[int], pool_tokens: int | None, interval: float, steps: Steps | None = None
) -> RankLoad:
    """One rank's figures; ``rows`` index ``window`` in order, ``interval``: steps a decode line stands for, ``steps``: of ``steps_of``."""
    kinds = window.column("kind")
    of = _Rows(window, rows, [i for i in rows if kinds[i] == DECODE], [i for i in rows if kinds[i] == PREFILL])
    times = of.known("at", rows)
    steps = _steps(of) if steps is None else steps
    return RankLoad(
        dp=dp,
        decode_lines=len(of.decode),
        prefill_lines=len(of.prefill),
        running=_running(of),
        running_peak=_peak(of),
        queued=_or_prefill(of, "queued", mean, "mean queued"),
        queue_share=_or_prefill(of, "queued", lambda values: sum(v > 0 for v in values) / len(values), "share with a queue"),
        usage=_or_prefill(of, "usage", mean, "mean usage"),
        usage_peak=_or_prefill(of, "usage", lambda values: quantile(values, 0.95), "95th percentile of usage"),
        swa_usage=of.reading("swa_usage", lambda values: quantile(values, 0.95), "95th percentile of SWA usage"),
        mamba_usage=of.reading("mamba_usage", lambda values: quantile(values, 0.95), "95th percentile of state usage"),
        resident=_resident(of, pool_tokens),
        drained_share=_while_queueing(of, lambda running, peak: running <= peak / 2, "share with half of the peak or less"),
        pinned_share=_while_queueing(of, lambda running, peak: running >= 0.98 * peak, "share at the peak"),
        gen_tput=_throughput(of, steps),
        step_s=of.made(mean([s for _, s, _ in steps]), "mean step") if steps else Missing("no decode line tells a throughput"),
        pure_step_s=_pure_step(of, steps),
        prefill_share=_prefill_share(of, steps, interval),
        full_pass=of.made(quantile(sizes, 0.5), "median prefill pass")
        if (sizes := of.known("new_token", of.prefill))
        else Missing("the log has no prefill lines"),
        graph_share=of.reading("graph", mean, "share with a CUDA graph"),
        accept_len=of.reading("accept_len", mean, "mean accept length"),
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        last_line=next((int(line) for line in reversed(of.known("line", rows))), None),
        generated_weight=_generated(of),
        covered_weight=sum(s for _, s, _ in steps),
    )


def steps_of(window: Timeline, rows: Sequence[int]) -> Steps:
    """The steps that the decode lines of one rank tell of; their seconds are proportional to the wall time that they cover."""
    return _steps(_Rows(window, rows, (), ()))


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of a sequence that is not empty."""
    return sum(values) / len(values)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of a sequence that is not empty does not exceed; no interpolation."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _after_prefill(of: _Rows) -> list[float]:
    """Running requests right after each prefill pass."""
    running, new = of.window.column("running"), of.window.column("new_seq")
    return [running[i] + (0.0 if math.isnan(new[i]) else new[i]) for i in of.prefill if not math.isnan(running[i])]


def _running(of: _Rows) -> Reading[float]:
    values = of.known("running")
    if values:
        return of.made(mean(values), f"mean running over {len(values)} decode lines")
    values = _after_prefill(of)
    return of.made(mean(values), f"mean running over {len(values)} prefill lines") if values else Missing("the log has no batch lines")


def _peak(of: _Rows) -> Reading[float]:
    values = of.known("running") or _after_prefill(of)
    return of.made(max(values), "most running at once") if values else Missing("the log has no batch lines")


def _or_prefill(of: _Rows, name: str, how: Callable[[Sequence[float]], float], label: str) -> Reading[float]:
    """A figure over decode lines, or over prefill lines where there are none: prefill-bound servers hardly decode."""
    if of.known(name):
        return of.reading(name, how, label)
    values = of.known(name, of.prefill)
    return of.made(how(values), f"{label} over {len(values)} prefill lines") if values else Missing(f"no line of the window tells {label}")


def _resident(of: _Rows, pool_tokens: int | None) -> Reading[float]:
    """Tokens a running request holds: sums, so that a line with few requests weighs little."""
    running, tokens, usage = (of.window.column(name) for name in ("running", "tokens", "usage"))
    held, requests = 0.0, 0.0
    for i in of.decode:
        used = tokens[i] if not math.isnan(tokens[i]) else usage[i] * pool_tokens if pool_tokens else math.nan
        if running[i] > 0 and used > 0:
            held, requests = held + used, requests + running[i]
    if not requests:
        return Missing("no decode line tells tokens and running requests")
    return of.made(held / requests, "tokens in use over running requests")


def _while_queueing(of: _Rows, test: Callable[[float, float], bool], label: str) -> Reading[float]:
    running, queued = of.window.column("running"), of.window.column("queued")
    rows = [i for i in of.decode if queued[i] > 0 and math.isfinite(running[i])]
    if not rows:
        return Missing("no decode line of the window shows a queue")
    peak = max(of.known("running"))
    return of.made(sum(test(running[i], peak) for i in rows) / len(rows), f"{label}, of {len(rows)} queueing lines")


def _steps(of: _Rows) -> list[tuple[int, float, bool]]:
    """For each decode line that tells a throughput: its row, mean step seconds, and whether prefill came in between.

    ``gen throughput`` is tokens over the wall time since the line before, so tokens a step over it is the mean step
    (facts/diagnoses.md 0.3). Lines that hold idle time are left out.
    """
    kinds, running, tput, accept = (of.window.column(name) for name in ("kind", "running", "gen_tput", "accept_len"))
    found: list[tuple[int, float, bool]] = []
    stalled, idle, first = False, False, True
    for i in of.rows:
        if kinds[i] != DECODE:
            stalled, idle = True, idle or running[i] == 0
            continue
        gain = accept[i] if accept[i] >= 1 else 1.0
        if 0 < running[i] < math.inf and 0 < tput[i] < math.inf and not idle and not first:
            found.append((i, running[i] * gain / tput[i], stalled))
        stalled, idle, first = False, False, False
    if not found:
        return found
    typical = quantile([step for _, step, _ in found], 0.5)
    return [entry for entry in found if entry[1] <= _IDLE_FACTOR * typical]


def _throughput(of: _Rows, steps: Sequence[tuple[int, float, bool]]) -> Reading[float]:
    """Tokens over the time they took, so that slow lines weigh by their length."""
    if not steps:
        return of.reading("gen_tput", mean, "mean generation throughput")
    tput = of.window.column("gen_tput")
    return of.made(
        sum(tput[i] * step for i, step, _ in steps) / sum(step for _, step, _ in steps),
        f"generation throughput over {len(steps)} decode lines, by time",
    )


def _generated(of: _Rows) -> float:
    running, accept = of.window.column("running"), of.window.column("accept_len")
    return sum(running[i] * (accept[i] if accept[i] >= 1 else 1.0) for i in of.decode if 0 < running[i] < math.inf)


def _alike(of: _Rows, steps: Sequence[tuple[int, float, bool]], *, stalled: bool | None = None) -> list[float]:
    """The step grows with the batch, so only lines with a batch like the usual one count."""
    running = of.window.column("running")
    usual = quantile([running[i] for i, _, _ in steps], 0.5) if steps else 0.0
    return [step for i, step, was in steps if running[i] >= _ALIKE * usual and (stalled is None or was == stalled)]


def _pure_step(of: _Rows, steps: Sequence[tuple[int, float, bool]]) -> Reading[float]:
    pure = _alike(of, steps, stalled=False)
    if len(pure) < 2:
        return Missing("hardly a decode line without prefill in between")
    return of.made(quantile(pure, 0.5), f"median step over {len(pure)} lines without prefill")


def prefilled_of(window: Timeline, rows: Sequence[int]) -> dict[int, float]:
    """Uncached tokens prefilled between each decode line of one rank and the one before, by the line's row."""
    kinds, new = window.column("kind"), window.column("new_token")
    found: dict[int, float] = {}
    tokens = 0.0
    for i in rows:
        if kinds[i] == DECODE:
            found[i], tokens = tokens, 0.0
        elif math.isfinite(new[i]):
            tokens += new[i]
    return found


def _prefill_share(of: _Rows, steps: Sequence[tuple[int, float, bool]], interval: float) -> Reading[float]:
    """A fit where one holds, else the larger of two lower bounds: stalls, and passes counted as one step each.

    A prefill pass takes at least as long as a decode step of the same server. Where every decode line holds about
    as much prefill as the next, stalls have nothing to stand against: only a line through the lines' token counts
    tells the two apart.
    """
    if not of.prefill:
        return of.made(0.0, "no prefill line in the window") if of.decode else Missing("the log has no batch lines")
    if len(of.prefill) + len(of.decode) < _FEWEST:
        return Missing("too few batch lines to tell")
    passes = len(of.prefill) / (len(of.prefill) + len(of.decode) * interval)
    counted = of.made(passes, f"{len(of.prefill)} prefill passes beside {len(of.decode) * interval:.0f} decode steps")
    pure = _pure_step(of, steps)
    if len(steps) < 3:
        return counted
    base = pure.value if isinstance(pure, Known) else quantile(_alike(of, steps), 0.05)
    spent = sum(max(0.0, step - base) for _, step, stalled in steps if stalled)
    share = spent / sum(step for _, step, _ in steps)
    prefilled = prefilled_of(of.window, of.rows)
    likely = [(prefilled[i], step * interval) for i, step, _ in steps if prefilled[i] < _IMPOSSIBLE and step < _IMPOSSIBLE]
    fit = fit_share([work for work, _ in likely], [seconds for _, seconds in likely])
    if fit is not None and fit.share > max(passes, share):
        return of.made(fit.share, f"time against prefilled tokens over {len(steps)} decode lines, {fit.explained:.0%} explained")
    return counted if passes > share else of.made(share, f"stalls of {len(steps)} decode lines against a step of {base * 1000:.1f} ms")
