"""The timeline screen: what the server did, large, over minutes or over the whole log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from kvtui.domain.buckets import Fold
from kvtui.domain.frame import Analysis
from kvtui.present.figures import figure
from kvtui.present.history import History, ceiling, history, since
from kvtui.present.line import Line, Span, clip_line
from kvtui.present.load_plot import GUTTER, load_plot
from kvtui.present.plot import Plot, legend, position, y_ticks
from kvtui.present.server import LINE_SPAN, SPAN
from kvtui.present.signal_plots import accept_plots, hit_plots, rate_plots, retracted_plots, usage_plot
from kvtui.present.state import ViewState
from kvtui.present.verdict_band import band

SPANS: Final = (60.0, 120.0, 300.0, SPAN, 1_800.0, 3_600.0, 10_800.0, 43_200.0, 86_400.0, None)
"""Seconds that can be shown; None: everything that was kept."""
VALUES: Final[tuple[tuple[str, str, Fold], ...]] = (
    ("running", "running", "sum"),
    ("queued", "queued", "sum"),
    ("usage", "KV usage", "max"),
    ("gen_tput", "tok/s", "sum"),
    ("accept_len", "accept", "mean"),
)
"""Signals whose value at the cursor is said: column, word, how ranks are folded."""
TALL: Final = 7
"""Rows that a chart gets at least, its legend and its time axis included."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One chart of the screen: a line of legend, then ``rows`` rows of chart."""

    legend: Line
    plot: Plot
    rows: int


@dataclass(frozen=True, slots=True)
class TimelineModel:
    """The charts, uppermost first; words where there is nothing to draw."""

    strips: tuple[Strip, ...] = ()
    words: tuple[Line, ...] = ()
    band: tuple[Line, ...] = ()
    """The verdicts over the same stretch of time, above the charts."""
    heading: Line = ()
    note: Line = ()
    ends: tuple[float, float] = (0.0, 0.0)
    """First and last position that the cursor can stand at."""
    cursor: float = 0.0
    """Where it stands: at the newest sample where it was not set."""
    length: float = 1.0
    """Width of what is shown, in positions."""
    charts: Charts | None = field(default=None, compare=False)
    """For the next model."""


@dataclass(frozen=True, slots=True)
class Charts:
    """Charts that were made, without the cursor: as long as only that moves they need not be made again."""

    of: tuple[object, ...]
    """What they were made from."""
    plots: tuple[Plot, ...]


def zoomed(span: float | None, step: int) -> float | None:
    """The span one or more steps nearer (below 0) or farther (above 0)."""
    return SPANS[min(len(SPANS) - 1, max(0, SPANS.index(span) + step))]


def timeline_model(
    state: ViewState, width: int, height: int, span: float | None, first: int = 0, *, before: Charts | None = None
) -> TimelineModel:
    """As many charts as ``height`` rows hold, from chart ``first`` on.

    ``span``: seconds, one of ``SPANS``; for a log without times it counts as so many log lines.
    ``before``: charts of the last model; they are used again where only the cursor moved.
    """
    columns = max(1, width - GUTTER)
    told = history(state.analysis, state.cursor, span, columns)
    if told is not None and told.kind == "line" and span is not None:
        told = history(state.analysis, state.cursor, span * LINE_SPAN / SPAN, columns)
    heading: Line = (Span("Timeline"),)
    if told is None:
        return TimelineModel(words=((Span("no batch line yet: there is nothing to draw", "dim"),),), heading=heading)
    length = told.length
    heading = (*heading, Span(f" ─ {length}", "dim"), Span(" of everything kept" if span is None else "", "dim"))
    of = (*_made_from(state.analysis, told), state.planned)
    if before is None or before.of != of:
        before = Charts(of, _plots(replace(state, cursor=None), told, width))
    cursor = told.now if state.cursor is not None and told.start <= told.now <= told.stop else None
    plots = tuple(replace(plot, cursor=cursor) for plot in before.plots)
    if state.cursor is not None:
        heading = clip_line((*heading, *_values(told)), max(1, width - 4))
    above: tuple[Line, ...] = ()
    if told.kind == "time" and height > TALL:
        above = band(state.analysis.periods, (told.start, told.stop), columns, cursor, GUTTER)
    height -= len(above)
    count = max(1, min(len(plots), height // TALL))
    start = min(max(0, first), len(plots) - count)
    each, more = divmod(height, count)
    strips = []
    for number, plot in enumerate(plots[start : start + count]):
        rows = each + (1 if number < more else 0) - 1
        strips.append(Strip(clip_line(legend(plot, width), width), replace(plot, y_ticks=y_ticks(plot.y0, plot.y1, rows - 1)), rows))
    note = _note(state, len(plots) - count)
    return TimelineModel(tuple(strips), (), above, heading, note, told.ends, told.now, told.stop - told.start, before)


def _made_from(analysis: Analysis, told: History) -> tuple[object, ...]:
    """What the charts depend on. While a log grows, samples are only added after the stretch that is shown."""
    frame = analysis.frame
    samples = len(frame.timeline) if frame.finished else frame.finished
    return (
        (told.start, told.stop, told.columns, told.ranks),
        (frame.chosen, samples, frame.boot),
        (len(frame.events), since(analysis), analysis.band, analysis.account.running_cap),
    )


def _values(told: History) -> Line:
    """What each signal was at the cursor."""
    spans: list[Span] = [Span(f"  at {position(told.kind, told.now)}", "changed")]
    for name, word, how in VALUES:
        now = told.value(name, how)
        if now is not None:
            spans += [Span(f"  {word} ", "dim"), Span(figure(now[1]), "strong")]
    return tuple(spans)


def _note(state: ViewState, hidden: int) -> Line:
    """The keys; ``hidden``: charts that have no room."""
    both = f"{state.key('charts-up', '↑')}{state.key('charts-down', '↓')}"
    more = (Span(f"  {both} {hidden} more", "dim"),) if hidden > 0 else ()
    zoom = f"{state.key('zoom-in', '+')} {state.key('zoom-out', '−')}"
    scrub = f"{state.key('cursor-back', '←')}{state.key('cursor-on', '→')}"
    return (Span(f"{zoom} zoom  {scrub} scrub  {state.key('cursor-newest', 'end')} newest", "dim"), *more)


def _plots(state: ViewState, told: History, width: int) -> tuple[Plot, ...]:
    """Every chart this server's lines can fill."""
    load = load_plot(state, told, ceiling(state.analysis, told.ranks), width, TALL)
    always = (load, usage_plot(state, told, load))
    told_only = (*rate_plots(told, load), *hit_plots(told, load), *accept_plots(told, load), *retracted_plots(state, told, load))
    return (*always, *told_only)
