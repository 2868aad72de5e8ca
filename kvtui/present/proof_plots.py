"""The charts of a verdict's proof: its series, with the levels that decided it drawn in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kvtui.domain.buckets import bucket, runs
from kvtui.domain.picture import Level, Picture, Signal
from kvtui.present.history import History
from kvtui.present.line import Tone
from kvtui.present.load_plot import load_scale
from kvtui.present.plot import Limit, Plot, Series, round_up
from kvtui.present.proof_series import Points, prefill_points, rank_points, retractions_a_minute, step_points
from kvtui.present.signal_plots import accept_plots, hit_plots, plot_over, rate_plots, retracted_plots, usage_plot
from kvtui.present.state import ViewState

_SCALES: Final[dict[Signal, float]] = {"prefill-share": 100.0, "graph": 100.0, "hits": 100.0, "step": 1000.0}
"""What a level is multiplied by to stand on a chart in percent or milliseconds."""
_QUEUES: Final[dict[Signal, str]] = {
    "prealloc": "prealloc queue", "transfer": "transfer queue", "bootstrap": "bootstrap queue", "inflight": "in-flight queue",
}  # fmt: skip
_NARROW: Final = 0.6
"""A band whose lower end is below this share of its upper one is not drawn: it would cover the chart and prove nothing."""
_NEAR: Final = 3.0
"""A step this many times as long as the highest level runs along the upper edge: a stall must not flatten the rest."""


def proof_plots(picture: Picture, state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    """The charts of one picture, none where no sample tells its series; ``load``: the chart of what runs over the same stretch."""
    if picture.signal in _QUEUES:
        return _line(picture, told, load, _QUEUES[picture.signal], told.points(picture.signal))
    make = _MADE.get(picture.signal)
    return make(picture, state, told, load) if make is not None else ()


def _limits(picture: Picture, ranks: int = 1) -> tuple[Limit, ...]:
    scale = _SCALES.get(picture.signal, 1.0) * ranks
    return tuple(Limit(_text(level, ranks), level.at * scale, level.at * scale, _tone(level)) for level in picture.levels)


def _text(level: Level, ranks: int) -> str:
    return level.text if ranks == 1 else f"{level.text} a rank"


def _tone(level: Level) -> Tone:
    return "bad" if level.fault else "strong"


def _held(plot: Plot, limits: tuple[Limit, ...]) -> Plot:
    """The chart with levels drawn in, as high as they are; a level takes the place of a limit at the same height."""
    levels = {limit.low for limit in limits}
    kept = tuple(limit for limit in plot.limits if limit.low not in levels and _tells(limit, plot))
    top = max((limit.high for limit in limits), default=0.0)
    return replace(plot, limits=(*limits, *kept), y1=plot.y1 if top <= plot.y1 else round_up(top * 1.05))


def _tells(limit: Limit, plot: Plot) -> bool:
    """False for a band that is too wide to say anything, or out of sight."""
    return limit.high <= limit.low or (limit.low >= _NARROW * limit.high and limit.low <= plot.y1)


def _load(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    # A band that is not drawn needs no room either.
    kept = tuple(limit for limit in load.limits if _tells(limit, load))
    whole, running = (one.high for one in load.series)
    return (_held(replace(load, limits=kept, y1=load_scale(whole, running, kept)), _limits(picture, told.ranks)),)


def _usage(picture: Picture, state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    plot = usage_plot(state, told, load)
    if not any(series.runs for series in plot.series):
        return ()
    # The level says from where it counts as full; its very end would be a second line beside it.
    ends = () if picture.levels else tuple(limit for limit in plot.limits if limit.low >= plot.y1)
    return (_held(replace(plot, limits=(*(limit for limit in plot.limits if limit.low < plot.y1), *ends)), _limits(picture)),)


def _rates(_picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    return rate_plots(told, load)[::-1]


def _hits(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    return tuple(_held(plot, _limits(picture)) for plot in hit_plots(told, load))


def _accepted(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    return tuple(_held(plot, _limits(picture)) for plot in accept_plots(told, load))


def _prefill(picture: Picture, state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    points = prefill_points(told, state.analysis.workload, picture.ranks[0] if picture.ranks else 0)
    # Where prefill holds the GPU decode lines are far apart, and nothing is missing between two of them.
    return _line(picture, replace(told, gap=math.inf), load, "prefill, % of the time", points, 100.0)


def _step(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    points, limits = step_points(told), _limits(picture)
    if not points[1]:
        return ()
    usual = sorted(points[1])[int(0.95 * (len(points[1]) - 1))]
    level = max((limit.high for limit in limits), default=usual)
    top = max(1.2 * level, min(1.3 * usual, _NEAR * level))
    # Lines that hold prefill are left out; a hole there would look as if the server had stood still.
    served = told.points("gen_tput")[0]
    whole = all(after - before <= told.gap for before, after in itertools.pairwise(served))
    return _line(picture, replace(told, gap=math.inf) if whole else told, load, "decode step, ms", points, round_up(top))


def _graph(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    xs, ys = told.points("graph", "mean")
    return _line(picture, told, load, "decode with a CUDA graph, %", (xs, [100 * y for y in ys]), 100.0)


def _occupied(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    return _line(picture, told, load, "GPU computes, % of the time", told.points("occupancy", "mean"), 100.0)


def _retractions(picture: Picture, state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    run = retractions_a_minute(state.analysis, told)
    if not run:
        return retracted_plots(state, told, load)
    series = (Series("retractions a minute", "warn", (run,)),)
    return (_held(plot_over(load, series, round_up(max(y for _, y in run) * 1.02)), _limits(picture)),)


def _ranks(column: str, what: str) -> Callable[[Picture, ViewState, History, Plot], tuple[Plot, ...]]:
    def plots(picture: Picture, _state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
        tones: tuple[Tone, ...] = ("kv-used", "label")
        series = tuple(
            Series(f"DP{rank} {what}", tone, told.line(rank_points(told, column, rank)), heavy=number == 0)
            for number, (rank, tone) in enumerate(zip(picture.ranks, tones, strict=False))
        )
        return (_scaled(picture, load, series[::-1]),) if any(one.runs for one in series) else ()

    return plots


def _line(picture: Picture, told: History, load: Plot, name: str, points: Points, top: float | None = None) -> tuple[Plot, ...]:
    """One stroke with its levels; up to ``top`` where the scale is given."""
    if not points[0]:
        return ()
    line = runs(bucket(*points, told.start, told.stop, told.columns), told.gap)
    plot = _scaled(picture, load, (Series(name, "kv-used", line),))
    return (plot if top is None else replace(plot, y1=top),)


def _scaled(picture: Picture, load: Plot, series: Sequence[Series]) -> Plot:
    """A chart as high as its strokes and its levels."""
    limits = _limits(picture)
    top = max([*(one.high or 0.0 for one in series), *(limit.high for limit in limits)], default=0.0)
    return replace(plot_over(load, series, round_up(top * 1.05)), limits=limits, marks=())


_MADE: Final[dict[Signal, Callable[[Picture, ViewState, History, Plot], tuple[Plot, ...]]]] = {
    "load": _load,
    "usage": _usage,
    "prefill-share": _prefill,
    "rates": _rates,
    "step": _step,
    "accept-length": _accepted,
    "graph": _graph,
    "hits": _hits,
    "retractions": _retractions,
    "rank-rates": _ranks("gen_tput", "tok/s"),
    "rank-queues": _ranks("queued", "waiting"),
    "occupancy": _occupied,
}
