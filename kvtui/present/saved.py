"""A saved plan after the restart: predicted beside actual."""

from __future__ import annotations

import math

from kvtui.domain.reading import Known
from kvtui.domain.saved_plan import Compared, Followed
from kvtui.present import glyphs
from kvtui.present.figures import NONE, gib, stamp, tokens
from kvtui.present.line import Line, Span, Tone, clean, clip_line, pad, pad_left, wrap

LABEL = 14
WIDE = 70
"""Columns from which the figures before the plan have room too."""
_TIGHT = 0.01
"""Difference of the pool up to which the prediction held: the rounding of the log's figures, and a little of the driver's."""
_CLOSE = 0.15
_CARRIED = "was carried out"
_UNCHECKED = "has no launch flag, so it cannot be seen whether it was carried out"


def followed_lines(told: Followed, width: int) -> list[Line]:
    """The plan's figures, a line each: predicted, actual, and whether they agree; what nobody can check is said."""
    saved = f", saved {stamp(told.plan.at)}" if told.plan.at is not None else ""
    flags = clean(" ".join(told.plan.flags or told.plan.options), 300)
    wide = width >= WIDE
    head = (pad_left("before", 10) if wide else "") + pad_left("predicted", 13) + pad_left("actual", 10)
    lines: list[Line] = [
        (Span(f" the saved plan {_CARRIED if told.proven else _UNCHECKED}", "changed"), Span(f"{saved}: {flags}", "dim")),
        (Span(pad("", LABEL + 1) + head, "dim"),),
        *(_row(row, wide=wide) for row in told.rows),
    ]
    said = [told.demand] if told.demand else []
    if told.plan.stated:
        said.append(f"the figures are for the stated load: {told.plan.stated}")
    if told.unseen:
        said.append(f"not to be seen in the server's settings: {', '.join(told.unseen)}")
    for sentence in said:
        lines += [(Span(f" {part}", "dim"),) for part in wrap(clean(sentence), max(10, width - 2))]
    return [clip_line(line, width) for line in lines]


def followed_short(told: Followed, why: str = glyphs.ENTER) -> Line:
    """The pool alone, in one line; ``why``: the key that tells more."""
    pool = told.rows[0]
    actual = pool.actual.value if isinstance(pool.actual, Known) else None
    sign, tone, word = _judged(pool, actual)
    name = "saved plan" if told.proven else "saved plan (not checked)"
    said = f" {name}: {_figure(pool.mid, 'tokens')} predicted, {_figure(actual, 'tokens')} came"
    return (Span(said, "changed"), Span(f"  {sign} {word}", tone), Span(f"  {why} why tells more", "dim"))


def _row(row: Compared, *, wide: bool) -> Line:
    actual = row.actual.value if isinstance(row.actual, Known) else None
    predicted = _figure(row.mid, row.unit)
    if row.low is not None and row.high is not None and row.low != row.high:
        predicted = f"{_figure(row.low, row.unit)}…{_figure(row.high, row.unit)}"
    sign, tone, word = _judged(row, actual)
    unit = f" ({row.unit})" if row.unit == "GiB" else ""
    return (
        Span(f" {pad(row.name + unit, LABEL)}", "label"),
        Span(pad_left(_figure(row.before, row.unit), 10) if wide else "", "dim"),
        Span(pad_left(predicted, 13)),
        Span(pad_left(_figure(actual, row.unit), 10), "strong"),
        Span(f"  {sign} {word}", tone),
    )


def _judged(row: Compared, actual: float | None) -> tuple[str, Tone, str]:
    off = row.off
    if actual is None or row.mid is None or off is None:
        return glyphs.UNSURE, "note", "not known"
    word = f"{off:+.1%}".replace("-", "−")
    if row.unit == "tok/s":
        inside = row.low is not None and row.high is not None and row.low <= actual <= row.high
        return (glyphs.GOOD, "good", f"in range, {word}") if inside else (glyphs.WARN, "warn", f"out of range, {word}")
    if row.unit == "GiB":
        away = actual - row.mid
        told = f"{away:+.2f} GiB".replace("-", "−")
        return (glyphs.GOOD, "good", told) if abs(away) <= 0.5 else (glyphs.WARN, "warn", told)
    limit = _TIGHT if row.unit == "tokens" else _CLOSE
    return (glyphs.GOOD, "good", word) if abs(off) <= limit else (glyphs.WARN, "warn", word)


def _figure(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return NONE
    return gib(value).replace("-", "−") if unit == "GiB" else tokens(value)
