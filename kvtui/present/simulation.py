"""The simulated load before and after a change: what the twin said, and what it was told."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kvtui.domain.plan import NO_CHANGE, Change
from kvtui.domain.reading import Missing
from kvtui.options.of_analysis import context_of
from kvtui.options.seen import Observed
from kvtui.options.simulate import FULL_SIZE, Outcome, Simulated, Spread
from kvtui.options.trial import Trial, trial_of
from kvtui.present import glyphs
from kvtui.present.figures import NONE, fraction, seconds, signed_pct
from kvtui.present.line import BLANK, Line, Span, Tone, clean, clip_line, pad, pad_left, wrap
from kvtui.present.option_names import option_name
from kvtui.present.plan_pane import planned
from kvtui.present.state import ViewState

LABEL: Final = 20
SEEN: Final = 10
COLUMN: Final = 24
_SIGNS: Final[dict[str, tuple[str, Tone]]] = {
    "measured": (glyphs.GOOD, "good"),
    "stated": (glyphs.POINTER, "key"),
    "prior": (glyphs.UNSURE, "note"),
    "assumed": (glyphs.UNSURE, "note"),
}


def subject(state: ViewState, option: str | None) -> tuple[str, Trial | Missing]:
    """What is simulated, in words, and the trial: what the screen is set to, the what-if's fraction before that of a lever.

    ``option``: under the pointer; a marked one stands for the whole plan. None: the plan, else the fraction, else today alone.
    """
    plan = planned(state)
    if plan is not None and (option is None or option in plan.options):
        title = f"the plan of {len(plan.options)}: {', '.join(option_name(one) for one in plan.options)}{_moved(state, plan.change)}"
        if plan.conflicts:
            return title, Missing(f"its parts do not go together: {plan.conflicts[0].why}")
        return title, _trial(state, _at_what_if(state, plan.change), plan.flags)
    found = next((e for e in state.estimates if e.id == option), None)
    if found is None:
        moved = _moved(state, NO_CHANGE)
        return f"today{moved}", _trial(state, _at_what_if(state, NO_CHANGE) if moved else None, ())
    title = clean(found.title, 200)
    if not found.applies:
        return title, Missing(found.why_not or "it does nothing here")
    # A lever of the fraction goes where its title says.
    if found.change.fraction is not None:
        return title, _trial(state, found.change, found.flags)
    return f"{title}{_moved(state, found.change)}", _trial(state, _at_what_if(state, found.change), found.flags)


def _moved(state: ViewState, change: Change) -> str:
    """The fraction that is played, behind what else is; empty where it is today's."""
    played = state.fraction if state.fraction is not None else change.fraction
    if played is None:
        return ""
    return f", at mem_fraction_static {fraction(played)}{' (what if)' if state.fraction is not None else ''}"


def _at_what_if(state: ViewState, change: Change) -> Change:
    return change if state.fraction is None else replace(change, fraction=state.fraction)


def _trial(state: ViewState, change: Change | None, flags: tuple[str, ...]) -> Trial | Missing:
    return trial_of(context_of(state.analysis, state.fraction), change, flags, state.stated)


def simulation_lines(title: str, found: Simulated | Missing | None, width: int) -> tuple[Line, ...]:
    """The screen; ``found`` is None while the twin runs."""
    lines: list[Line] = [*_wrapped(clean(title, 200), width, "strong"), BLANK]
    if found is None:
        lines.append((Span(f"{glyphs.WAITING} The twin plays this load: a second or two.", "note"),))
    elif isinstance(found, Missing):
        lines += _wrapped(f"Not simulated: {clean(found.reason)}", width, "note")
    else:
        lines += [*_sentence(found, width), BLANK, *_table(found, width), BLANK, *_told(found, width)]
    return tuple(clip_line(line, width) for line in lines)


def _wrapped(text: str, width: int, tone: Tone = "text") -> list[Line]:
    return [(Span(part, tone),) for part in wrap(text, max(10, width))]


def _sentence(found: Simulated, width: int) -> list[Line]:
    """What it comes to; a doubt in the simulation of today first."""
    lines: list[Line] = []
    today, then = found.today, found.changed
    if found.alike is False:
        told = f"{glyphs.WARN} The simulation of today is not what was measured: trust the direction of a change, not its size."
        lines += _wrapped(told, width, "warn")
    if isinstance(then, Missing):
        return [*lines, *_wrapped(f"The change is not simulated: {clean(then.reason)}", width, "note")]
    if then is None:
        return [*lines, *_wrapped("Today's load, played on today's settings.", width)]
    if found.same:
        said = "This changes nothing that the twin knows (pool, caps, reservation, clients, step times): both sides are the same."
        return [*lines, *_wrapped(said, width, "note")]
    said = (
        f"{today.tok_s.mean:,.0f} → {then.tok_s.mean:,.0f} tok/s ({signed_pct(today.tok_s.mean, then.tok_s.mean)}), "
        f"running {today.running.mean:,.0f} → {then.running.mean:,.0f}, queue {today.queued.mean:,.0f} → {then.queued.mean:,.0f}, "
        f"waiting {seconds(today.wait_s.mean)} → {seconds(then.wait_s.mean)}."
    )
    return [*lines, *_wrapped(said, width, "strong")]


Write = Callable[[float], str]


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


def _share(value: float) -> str:
    return f"{value:.2f}"


_ROWS: Final[tuple[tuple[str, str, str, Write], ...]] = (
    ("running", "running", "running", _plain),
    ("queued", "queued", "queued", _plain),
    ("wait in the queue", "wait_s", "", seconds),
    ("  nine of ten within", "wait_p90_s", "", seconds),
    ("answer complete after", "latency_s", "", seconds),
    ("tok/s", "tok_s", "tok_s", _plain),
    ("tok/s of one stream", "stream_tok_s", "", _plain),
    ("KV usage", "usage", "usage", _share),
    ("retractions a minute", "retractions_per_min", "retractions_per_min", _plain),
)
"""Label, field of an outcome, field of what was observed, and how it is written."""


def _table(found: Simulated, width: int) -> list[Line]:
    """A figure a line: measured, simulated today, simulated after; least and most of the seeds beside the mean."""
    both = isinstance(found.changed, Outcome)
    label = LABEL + 2
    column = max(12, min(COLUMN, (width - label - SEEN) // (2 if both else 1)))
    head = pad("", label) + pad_left("measured", SEEN) + pad_left("today, simulated", column)
    lines: list[Line] = [(Span(head + (pad_left("after, simulated", column) if both else ""), "dim"),)]
    for name, field, seen, write in _ROWS:
        spans = [Span(pad(name, label), "label"), Span(pad_left(_measured(found.trial.seen, seen, write), SEEN), "text")]
        spans.append(Span(pad_left(_span(getattr(found.today, field), write, column), column)))
        if isinstance(found.changed, Outcome):
            spans.append(Span(pad_left(_span(getattr(found.changed, field), write, column), column), "changed"))
        lines.append(tuple(spans))
    return lines


def _measured(seen: Observed | None, field: str, write: Write) -> str:
    value = getattr(seen, field) if seen is not None and field else None
    return write(value) if value is not None and math.isfinite(value) else NONE


def _span(spread: Spread, write: Write, width: int) -> str:
    if not math.isfinite(spread.mean):
        return NONE
    mean, low, high = write(spread.mean), write(spread.low), write(spread.high)
    # One unit says enough where both ends have it.
    unit = f" {high.rpartition(' ')[2]}"
    whole = f"{mean} ({low.removesuffix(unit) if ' ' in high else low}…{high})"
    return mean if low == high or len(whole) > width - 1 else whole


def _told(found: Simulated, width: int) -> list[Line]:
    """What the twin was told, each with its basis."""
    asked = f"{found.max_new:,}" if found.max_new is not None else "not sent"
    rows = [(t.name, t.figure, t.basis, t.note) for t in found.trial.told]
    rows.append(("max_new_tokens", asked, "assumed", found.max_new_why))
    lines: list[Line] = [(Span("What it was told", "strong"),)]
    for name, figure, basis, note in rows:
        sign, tone = _SIGNS[basis]
        parts = wrap(clean(f"{basis}" + (f", {note}" if note else "")), max(10, width - LABEL - 28)) or ("",)
        lines.append((Span(pad(name, LABEL), "label"), Span(pad(clean(figure, 60), 26)), Span(f"{sign} {parts[0]}", tone)))
        lines += [(Span(" " * (LABEL + 28)), Span(part, tone)) for part in parts[1:]]
    today = found.today
    lines.append(BLANK)
    said = (
        f"Three seeds; {today.requests:,} requests over {today.seconds:,.0f} simulated seconds each were counted, after a warm-up. "
        "In brackets least and most of the seeds: chance alone, not what is wrong in the inputs."
    )
    lines += _wrapped(said, width, "dim")
    notes = [*found.trial.notes]
    if found.trial.today.clients > FULL_SIZE:
        share = math.ceil(found.trial.today.clients / FULL_SIZE)
        notes.append(f"played as a rank of one {share}th of the size, in the same proportions: its grain is coarser")
    for note in notes:
        lines += _wrapped(f"{glyphs.BULLET} {clean(note)}", width, "dim")
    return lines
