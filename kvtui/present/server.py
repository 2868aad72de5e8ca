"""The server pane: what runs, waits and is produced, beside the limits that it may touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kvtui.domain.buckets import Point
from kvtui.domain.reading import Known
from kvtui.domain.units import duration
from kvtui.present.courses import Courses, courses
from kvtui.present.figures import age, figure, percent
from kvtui.present.history import History, cap, ceiling, history
from kvtui.present.latency import latency_rows, pool_split
from kvtui.present.line import BLANK, Line, Span, Tone, between, line_cells, pad, pad_left, wrap
from kvtui.present.load_plot import GUTTER, band_text, load_plot
from kvtui.present.plot import Plot, legends, position, spark, top_of
from kvtui.present.state import ViewState

SPAN: Final = 600.0
"""Seconds that the pane shows."""
LINE_SPAN: Final = 2_000.0
"""Log lines that it shows where the log has no times."""
CHART_ROWS: Final = 6
"""Rows a chart needs at least, its legend and time axis included."""
LABEL, VALUE, AGE = 10, 6, 4


ROOMY: Final = 76
"""Columns of a pane from which the words beside a signal have more room."""
BULLET: Final = " · "
"""Stands between the words beside a signal."""
RARE: Final = (
    ("accept_len", "accept", "acc", "tokens a step"),
    ("swa_usage", "SWA use", "SWA", "of its pool"),
    ("mamba_usage", "state use", "state", "of its slots"),
)
"""Signals that only some servers print: column, label, label aside, unit."""
OTHER_QUEUES: Final = frozenset(("pd-queue", "grammar"))
"""Verdicts on requests that wait in a queue of their own."""
ASIDE: Final = {"prefill": "cache hit", "retracted": "queued"}
"""Whose row says a signal that has none of its own; else the row of KV usage does."""


@dataclass(frozen=True, slots=True)
class ServerModel:
    """What the pane shows: rows of text, then a chart."""

    rows: tuple[Line, ...]
    plot: Plot | None = None
    chart_rows: int = 0
    heading: Line = ()
    note: Line = ()
    courses: Courses | None = field(default=None, compare=False)
    """For the next model."""


@dataclass(frozen=True, slots=True)
class Row:
    """One signal: its value at the moment that is shown, its course, and the words beside it."""

    label: str
    value: str
    course: Sequence[float] = ()
    """A value a column; nan in a gap."""
    top: float = 1.0
    words: Line = ()
    at: float | None = None
    """Position of the sample."""
    aside: Line = ()
    rare: bool = False
    """Of lines that come only when somebody asks, or from a server at rest, whose gauges do not move: an old one is not stale."""
    """The same in a few words, for a pane without room for the row; empty for rows that always have one."""


def server_model(
    state: ViewState, width: int, height: int, band: tuple[float, float] | None = None, *, before: Courses | None = None
) -> ServerModel:
    """The pane in ``width`` by ``height`` cells.

    ``band``: admission ceiling over all ranks where the analysis has none of its own. ``before``: courses of the last
    model; they are used again until the next column is complete.
    """
    heading: Line = (Span("Server"),)
    analysis = state.analysis
    told = history(analysis, state.cursor, SPAN, max(1, width - GUTTER), before.told if before is not None else None)
    if told is not None and told.kind == "line":
        told = history(analysis, state.cursor, LINE_SPAN, max(1, width - GUTTER))
    if told is None:
        reason = "no batch line yet: what runs and waits is unknown"
        return ServerModel(rows=tuple((Span(part, "dim"),) for part in wrap(reason, width))[:height], heading=heading)
    limits = ceiling(analysis, told.ranks) or band
    drawn = courses(state, told, spark_columns(width), before)
    rows = signals(state, drawn, limits)
    room = height - CHART_ROWS
    if len(rows) > max(room, 5):
        rows = _folded(rows)
    lines = tuple(row_line(row, told, width, drawn.columns) for row in rows)
    left = height - len(lines)
    plot = None
    if left >= CHART_ROWS:
        gap: tuple[Line, ...] = (BLANK,) if left > CHART_ROWS + 3 else ()
        plot = load_plot(state, told, limits, width, left - 1 - len(gap), drawn)
        names = legends(plot, width, 1 + len(gap))
        # A stroke without a name is a riddle: rather no blank row.
        lines = (*lines, *(gap if len(names) == 1 else ()), *names)
    span = "the newest " if state.cursor is None else ""
    heading = (*heading, Span(f" ─ {span}{told.length}" + (f", {told.ranks} DP ranks" if told.ranks > 1 else ""), "dim"))
    note: Line = ()
    if state.cursor is not None:
        keys = f"{state.key('scrub-back', '[')} {state.key('scrub-on', ']')} scrub  {state.key('today', 'esc')} newest"
        note = (Span(f"at {position(told.kind, told.now)}", "changed"), Span(f"  {keys}", "dim"))
    return ServerModel(lines[:height], plot, max(0, height - len(lines)) if plot else 0, heading, note, drawn)


def spark_columns(width: int) -> int:
    """Columns of a sparkline in a pane."""
    words = 38 if width >= ROOMY else 30
    return max(4, min(40, width - LABEL - VALUE - AGE - words))


def row_line(row: Row, told: History, width: int, columns: int) -> Line:
    """One signal in one line; its age at the right edge."""
    old = ""
    if row.at is not None and told.kind == "time":
        old = age(told.now - row.at)
    stale = row.at is not None and not row.rare and told.now - row.at > told.gap
    course = spark(row.course, row.top) if row.course else " " * columns
    left: Line = (
        Span(pad(row.label, LABEL), "label"),
        Span(pad_left(row.value, VALUE), "dim" if stale or row.value == "–" else "strong"),
        Span(f" {course} ", "kv-used"),
    )
    left = (*left, *_whole(row.words, width - line_cells(left) - AGE - 1))
    return between(left, (Span(pad_left(old, AGE), "warn" if stale else "dim"),), width)


def _whole(words: Line, room: int) -> Line:
    """As many words as have room: what follows a bullet is left out whole."""
    kept = words
    while kept and line_cells(kept) > room:
        cut = next((n for n in range(len(kept) - 1, 0, -1) if kept[n].text.startswith(BULLET)), 0)
        if not cut:
            break
        kept = kept[:cut]
    return kept


def signals(state: ViewState, drawn: Courses, limits: tuple[float, float] | None) -> tuple[Row, ...]:
    """Every row that this server's lines can fill, most telling first."""
    told = drawn.told
    run, wait, made = (drawn.value(name) for name in ("running", "queued", "gen_tput"))
    rows = [
        _row("running", run, drawn.spark("running"), words=_limit_words(state, told, run, wait, limits)),
        _row("queued", wait, drawn.spark("queued"), words=_wait_words(state, wait, made)),
        _usage(state, drawn),
        _generated(state, drawn, made),
        *_prefill(drawn),
        _hits(drawn),
        _retracted(drawn),
    ]
    for name, label, short, unit in RARE:
        now = drawn.value(name)
        if now is not None or name in drawn.sparks:
            aside: Line = (Span(f" · {short} {figure(now[1]) if now else '–'}", "dim"),)
            row = _row(label, now, drawn.spark(name), floor=1.0, words=(Span(unit, "dim"),), aside=aside)
            # A share is drawn as a share, however small the largest of the stretch is.
            rows.append(replace(row, top=1.0) if name.endswith("_usage") else row)
    if _rests(state):
        rows = [replace(row, rare=True) for row in rows]
    return (*rows, *_latencies(state))


def _rests(state: ViewState) -> bool:
    """True where the newest verdict is that nothing runs and nothing waits."""
    return state.cursor is None and any(found.at_rest for found in state.analysis.findings)


def _latencies(state: ViewState) -> tuple[Row, ...]:
    """What clients wait for, over the newest minute; nothing while an earlier time is looked at."""
    if state.cursor is not None:
        return ()
    told = latency_rows(state.analysis.frame)
    return tuple(
        Row(label, value, words=(Span(rest, "dim"),), aside=(Span(f" · {label} {value}", "dim"),)) for label, value, rest in told[:3]
    )


def _row(label: str, now: Point | None, course: tuple[float, ...], *, floor: float = 0.0, words: Line = (), aside: Line = ()) -> Row:
    if now is None:
        return Row(label, "–", course, 1.0, (Span("not in this stretch", "dim"),), None, aside)
    return Row(label, figure(now[1]), course, top_of(course, floor), words, now[0], aside)


def _limit_words(state: ViewState, told: History, run: Point | None, wait: Point | None, limits: tuple[float, float] | None) -> Line:
    """Cap and ceiling; the one that is touched is marked."""
    spans: list[Span] = []
    most = cap(state.analysis, told.ranks)
    waiting = run is not None and wait is not None and wait[1] > 0
    capped = most is not None and run is not None and run[1] >= most
    if most is not None:
        spans.append(Span(f"{'▲at the ' if capped and waiting else ''}cap {figure(most)}", "warn" if capped and waiting else "dim"))
    if limits is not None:
        touched = waiting and not capped and run is not None and run[1] >= math.floor(limits[0])
        text = f"{'▲' if touched else ''}admits {band_text(limits)}"
        spans.append(Span(" · ", "dim") if spans else Span(""))
        spans.append(Span(text, "warn" if touched else "dim"))
    return tuple(spans) or (Span("cap and ceiling unknown", "dim"),)


def _wait_words(state: ViewState, wait: Point | None, made: Point | None) -> Line:
    load = state.analysis.workload
    if wait is None or wait[1] <= 0:
        return (Span(_nobody(state) if wait else "", "dim"),)
    if load is None or made is None or made[1] <= 0 or not isinstance(load.output, Known) or load.output.value <= 0:
        return (Span("wait unknown", "dim"),)
    # Little's law: the queue drains by one request for each answer's worth of tokens.
    return (Span(f"wait ~{duration(wait[1] * load.output.value / made[1])}", "dim"),)


def _nobody(state: ViewState) -> str:
    """An empty queue in words: a verdict on another queue must not be contradicted."""
    away = state.cursor is None and any(found.id in OTHER_QUEUES for found in state.analysis.findings)
    return "none here, but see the verdict" if away else "nobody waits"


def _usage(state: ViewState, drawn: Courses) -> Row:
    now = drawn.value("usage")
    course = drawn.spark("usage")
    words: list[Span] = []
    band = state.analysis.band
    if band is not None and math.isfinite(band.usage_low + band.usage_high):
        text = f"{band.usage_low:.2f}–{band.usage_high:.2f}" if band.usage_high - band.usage_low >= 0.005 else f"{band.usage_low:.2f}"
        words.append(Span(f"ceiling {text}", "dim"))
    elif drawn.told.ranks > 1:
        words.append(Span("fullest rank", "dim"))
    else:
        words.append(Span("of the pool", "dim"))
    split = pool_split(state.analysis.frame) if state.cursor is None else ""
    if split:
        words.append(Span(f" · {split}", "dim"))
    row = _row("KV usage", now, course, floor=1.0, words=tuple(words))
    return row if now is None else Row(row.label, f"{now[1]:.2f}", course, 1.0, row.words, row.at)


def _generated(state: ViewState, drawn: Courses, made: Point | None) -> Row:
    """Tokens a second; 0 where the verdict is that nothing runs: neither a log nor a gauge takes back its last figure."""
    if not _rests(state) or made is None or made[1] <= 0:
        return _row("generate", made, drawn.spark("gen_tput"), words=_rate_words(drawn.told))
    words = (Span(f"tok/s · last {figure(made[1])}", "dim"),)
    return replace(_row("generate", (drawn.told.now, 0.0), drawn.spark("gen_tput"), words=words), at=None)


def _rate_words(told: History) -> Line:
    each = told.stream_rate()
    return (Span("tok/s" if each is None else f"tok/s · {figure(each)} a stream", "dim"),)


def _prefill(drawn: Courses) -> tuple[Row, ...]:
    now = drawn.value("input_tput")
    if now is None and "input_tput" not in drawn.sparks:
        return ()
    aside = (Span(f" · in {figure(now[1])}", "dim"),) if now is not None else ()
    row = _row("prefill", now, drawn.spark("input_tput"), words=(Span("tok/s of prompt", "dim"),), aside=aside)
    return (replace(row, rare=True),)


def _hits(drawn: Courses) -> Row:
    share = drawn.hit_share()
    course = drawn.hits or (math.nan,) * drawn.columns
    if share is None:
        return Row("cache hit", "–", course, 1.0, (Span("no prefill in this stretch", "dim"),))
    return Row("cache hit", percent(share[1]), course, 1.0, (Span("of prompt tokens", "dim"),), share[0], rare=True)


def _retracted(drawn: Courses) -> Row:
    told = drawn.told
    # Of the time before the first sample nothing is known, not even that nothing was put back.
    unknown = max(0, int((told.ends[0] - told.start) / (told.stop - told.start) * drawn.columns)) if told.stop > told.start else 0
    course = (*(math.nan,) * unknown, *drawn.retracted[unknown:])
    xs, ys = drawn.returned.xs, drawn.returned.ys
    seen = [(x, y) for x, y in zip(xs, ys, strict=True) if told.start <= x <= told.now]
    count = math.fsum(y for _, y in seen)
    tone: Tone = "warn" if count else "dim"
    words: Line = (Span(f"▲last at {position(told.kind, seen[-1][0])}" if seen else "none", tone),)
    aside = (Span(f" · {'▲' if count else ''}retracted {figure(count)}", tone),)
    return Row("retracted", figure(count), course, top_of(course, 1.0), words, None, aside)


def _folded(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Five rows; what the others say stands at the end of these."""
    asides = {row.label: row.aside for row in rows if row.aside}
    kept = []
    for row in rows:
        if not row.aside:
            said = (span for label, spans in asides.items() if ASIDE.get(label, "KV usage") == row.label for span in spans)
            kept.append(replace(row, words=(*row.words, *said)))
    return tuple(kept)
