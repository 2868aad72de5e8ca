"""A chart of each signal over the stretch of time of the chart of what runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kvtui.domain.buckets import bucket, runs
from kvtui.present.history import History, retractions
from kvtui.present.plot import Limit, Plot, Series, round_up
from kvtui.present.state import ViewState


def plot_over(load: Plot, series: Sequence[Series], top: float, limits: tuple[Limit, ...] = ()) -> Plot:
    """Another chart over the same stretch of time as ``load``, from 0 to ``top``."""
    marks = load.marks if limits else ()
    return replace(load, y0=0.0, y1=top, series=tuple(series), limits=limits, marks=marks)


def highest(series: Sequence[Series]) -> float:
    """The end of an axis that holds every stroke."""
    return round_up(max((one.high or 0.0 for one in series), default=0.0) * 1.02)


def usage_plot(state: ViewState, told: History, load: Plot) -> Plot:
    """The pools in use, shares from 0 to 1, below the admission ceiling and the end of the pool."""
    others = [
        Series(label, "state", told.line(points))
        for name, label in (("swa_usage", "SWA pool"), ("mamba_usage", "state slots"))
        if (points := told.points(name, "max"))[0]
    ]
    series = (Series("KV usage", "kv-used", told.line(told.points("usage", "max")), heavy=bool(others)), *others)
    band = state.analysis.band
    limits: tuple[Limit, ...] = (Limit("full", 1.0, 1.0, "bad"),)
    if band is not None and 0 <= band.usage_low <= band.usage_high <= 1:
        limits = (Limit(f"admission ceiling {band.usage_low:.2f}–{band.usage_high:.2f}", band.usage_low, band.usage_high), *limits)
    return plot_over(load, series, 1.0, limits)


def rate_plots(told: History, load: Plot) -> tuple[Plot, ...]:
    """Generated and prefilled tokens a second, a chart each."""
    plots = []
    for name, label in (("gen_tput", "generate tok/s"), ("input_tput", "prefill tok/s")):
        points = told.points(name)
        if points[0]:
            series = (Series(label, "kv-used", told.line(points)),)
            plots.append(plot_over(load, series, highest(series)))
    return tuple(plots)


def hit_plots(told: History, load: Plot) -> tuple[Plot, ...]:
    """Cached share of the prompt tokens, percent; none where nothing was prefilled."""
    shares = told.hit_columns(told.columns)
    width = (told.stop - told.start) / told.columns
    places = [told.start + width * (i + 0.5) for i in range(told.columns)]
    kept = [(x, y * 100) for x, y in zip(places, shares, strict=True) if math.isfinite(y)]
    if not kept:
        return ()
    line = runs(bucket([x for x, _ in kept], [y for _, y in kept], told.start, told.stop, told.columns), told.gap + width)
    return (plot_over(load, (Series("cache hit, % of prompt tokens", "kv-used", line),), 100.0),)


def accept_plots(told: History, load: Plot) -> tuple[Plot, ...]:
    """Tokens a step and request; none without speculation."""
    points = told.points("accept_len", "mean")
    if not points[0]:
        return ()
    series = (Series("accepted tokens a step", "draft", told.line(points)),)
    return (plot_over(load, series, highest(series)),)


def retracted_plots(state: ViewState, told: History, load: Plot) -> tuple[Plot, ...]:
    """Requests put back, a column; only where there were any."""
    xs, ys = retractions(state.analysis, told.kind)
    seen = bucket(xs, ys, told.start, told.stop, told.columns)
    if not any(seen.count):
        return ()
    half = (told.stop - told.start) / told.columns / 4
    spikes = tuple(
        ((x - half, 0.0), (x, total), (x + half, 0.0)) for x, total, n in zip(seen.low_at, seen.total, seen.count, strict=True) if n
    )
    series = (Series("retracted requests", "warn", spikes),)
    return (plot_over(load, series, highest(series)),)
