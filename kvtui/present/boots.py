"""The starts in a log, and what changed between two of them: "what changed since it was fast?"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot, Scalar
from kvtui.domain.memory_facts import free_after_weights, free_before_weights
from kvtui.domain.reading import Known, Missing
from kvtui.domain.samples import DECODE, Timeline
from kvtui.present import glyphs
from kvtui.present.figures import NONE, fraction, gib, signed_pct, stamp, tokens, version_text
from kvtui.present.line import BLANK, Line, Span, cells, clean, clip, clip_line, pad, pad_left
from kvtui.present.readings import finite, text_or

NOT_SET: Final = "not shown"
UNSEEN: Final = "not read: choose that boot once"
GAP: Final = 2
"""Blank columns between two columns."""
NAME: Final = 34
"""Columns of a setting's name at most."""
NARROWEST: Final = 12
"""Columns of one boot at least, where its values are longer."""
WIDEST: Final = 44
"""Columns of one boot at most: beyond, the eye loses the row."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one boot: means over its decode lines."""

    running: float
    queued: float
    usage: float
    tok_s: float
    lines: int


@dataclass(frozen=True, slots=True)
class BootFacts:
    """One boot in words and numbers, for a table."""

    index: int
    begun: str
    version: str
    fraction: str
    pool: str
    state: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing two boots do not share."""

    name: str
    left: str
    right: str
    note: str = ""


def load_of(timeline: Timeline) -> Load | None:
    """Means of the decode lines of a boot; None where it printed none."""
    decodes = list(timeline.where(DECODE))
    if not decodes:
        return None

    def mean(name: str) -> float:
        values = timeline.column(name)
        known = [values[i] for i in decodes if math.isfinite(values[i])]
        return sum(known) / len(known) if known else math.nan

    return Load(mean("running"), mean("queued"), mean("usage"), mean("gen_tput"), len(decodes))


def facts(boot: Boot) -> BootFacts:
    """The row of one boot."""
    set_to = boot.number("mem_fraction_static")
    pool = boot.final.max_total_num_tokens if boot.final else None
    return BootFacts(
        index=boot.index,
        begun=stamp(boot.begun_at),
        version=version_text(boot.version, boot.version_hint).removesuffix(" by its wording").replace("of unknown version", "unknown"),
        fraction=fraction(set_to) if set_to is not None else "automatic",
        pool=tokens(pool) if pool is not None else NONE,
        state=boot.state,
    )


def compare(left: Boot, right: Boot, loads: Mapping[int, Load | None] | None = None) -> tuple[Difference, ...]:
    """What differs between two boots: version, settings, memory, pool and load; equal things are left out.

    ``loads``: the load of each boot that was read, by index; one that is absent is said to be unread.
    """
    # A version that only one of the two tells is no difference between them.
    told = isinstance(left.version, Known) and isinstance(right.version, Known)
    found = [_pair("version", text_or(left.version, ""), text_or(right.version, "")) if told else None]
    found += [_pair(name, _setting(left, name), _setting(right, name)) for name in sorted(left.settings.keys() | right.settings.keys())]
    found.append(_memory("free before weights", free_before_weights(left), free_before_weights(right)))
    found.append(_memory("free after weights", free_after_weights(left), free_after_weights(right)))
    found.append(_pool(left, right))
    found.append(_pair("state", left.state, right.state))
    differences = [d for d in found if d is not None]
    return (*differences, *_loads((loads or {}), left.index, right.index))


def _pair(name: str, left: str, right: str, note: str = "") -> Difference | None:
    return None if left == right else Difference(name, left, right, note)


def _setting(boot: Boot, name: str) -> str:
    found = boot.setting(name)
    return NOT_SET if found is None else clean(_scalar(found.value), 300)


def _scalar(value: Scalar) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(part) for part in value[:20]) + (", …]" if len(value) > 20 else "]")
    return "unset" if value is None else str(value)


def _memory(name: str, left: Known[float] | Missing, right: Known[float] | Missing) -> Difference | None:
    a, b = finite(left), finite(right)
    change = f"{b - a:+.2f} GiB".replace("-", "−") if a is not None and b is not None else ""
    return _pair(name, f"{gib(a)} GiB" if a is not None else "unknown", f"{gib(b)} GiB" if b is not None else "unknown", change)


def _pool(left: Boot, right: Boot) -> Difference | None:
    a, b = (boot.final.max_total_num_tokens if boot.final else None for boot in (left, right))
    change = signed_pct(a, b) if a is not None and b is not None else ""
    return _pair("pool, tokens", tokens(a) if a is not None else "unknown", tokens(b) if b is not None else "unknown", change)


def _loads(loads: Mapping[int, Load | None], left: int, right: int) -> list[Difference]:
    rows: list[Difference] = []
    for name, attribute, digits in (("running", "running", 0), ("queued", "queued", 0), ("KV usage", "usage", 2), ("tok/s", "tok_s", 0)):
        a, b = (_load(loads, index, attribute, digits) for index in (left, right))
        rows.append(Difference(f"load: {name}", a, b, "mean" if not rows else _change(loads, left, right, attribute)))
    # Two boots without any reading say it once, not in four rows.
    return rows if any(r.left != r.right for r in rows) else [Difference("load", rows[0].left, rows[0].right)]


def _change(loads: Mapping[int, Load | None], left: int, right: int, attribute: str) -> str:
    """The change of the throughput; counts and shares speak for themselves."""
    one, other = loads.get(left), loads.get(right)
    if attribute != "tok_s" or one is None or other is None or not (math.isfinite(one.tok_s) and math.isfinite(other.tok_s)):
        return ""
    return signed_pct(one.tok_s, other.tok_s)


def _load(loads: Mapping[int, Load | None], index: int, attribute: str, digits: int) -> str:
    if index not in loads:
        return UNSEEN
    load = loads[index]
    if load is None:
        return "no decode lines"
    value: float = getattr(load, attribute)
    return f"{value:,.{digits}f}" if math.isfinite(value) else "not printed"


def table(boots: tuple[Boot, ...], chosen: int, marked: frozenset[int], selected: int, width: int) -> tuple[Line, ...]:
    """The boots, newest last, one line each below a heading."""
    rows = tuple(facts(boot) for boot in boots)
    begun, version, set_to = (
        _column(name, (getattr(row, field) for row in rows))
        for name, field in (("begun", "begun"), ("SGLang", "version"), ("fraction", "fraction"))
    )
    pool = _column("pool, tokens", (row.pool for row in rows)) - GAP
    head = " " * 5 + pad("begun", begun) + pad("SGLang", version) + pad("fraction", set_to) + pad_left("pool, tokens", pool) + "  state"
    lines: list[Line] = [clip_line((Span(head, "dim"),), width)]
    for position, row in enumerate(rows):
        shown = position == chosen % len(boots)
        said = pad(row.begun, begun) + pad(row.version, version) + pad(row.fraction, set_to) + pad_left(row.pool, pool)
        lines.append(
            clip_line(
                (
                    Span(glyphs.POINTER if position == selected else " ", "key"),
                    Span(glyphs.MARKED if position in marked else " ", "changed"),
                    Span(f"{position + 1:>2} "),
                    Span(said, "strong" if position == selected else "text"),
                    Span(f"  {row.state}", "bad" if row.state == "failed" else "text"),
                    Span("  shown" if shown else "", "good"),
                ),
                width,
            )
        )
    return tuple(lines)


def comparison(left: Boot, right: Boot, loads: Mapping[int, Load | None], width: int) -> tuple[Line, ...]:
    """Two boots side by side, only what differs."""
    found = compare(left, right, loads)
    name = min(NAME, _column("what differs", (clean(one.name, 100) for one in found)))
    note = max((cells(one.note) for one in found), default=0)
    wants = (
        _column(f"boot {left.index + 1}", (one.left for one in found)),
        _column(f"boot {right.index + 1}", (one.right for one in found)),
    )
    columns = _shared(wants, width - name - note)
    head = pad("what differs", name) + pad(f"boot {left.index + 1}", columns[0]) + pad(f"boot {right.index + 1}", columns[1])
    lines: list[Line] = [clip_line((Span(head, "dim"),), width), BLANK]
    lines += [clip_line(_difference(difference, name, columns), width) for difference in found]
    return tuple(lines)


def _column(heading: str, texts: Iterable[str]) -> int:
    """Columns of a heading and of all that stands below it, with the gap to the next."""
    return max(cells(heading), *(cells(text) for text in texts), 0) + GAP


def _shared(wants: tuple[int, int], room: int) -> tuple[int, int]:
    """Columns of two boots in ``room``: what each wants, else what the shorter leaves to the longer."""
    left, right = (min(WIDEST, want) for want in wants)
    half = max(NARROWEST, room // 2)
    if left + right <= room:
        return left, right
    if left <= half:
        return left, max(half, room - left)
    return (max(half, room - right), right) if right <= half else (half, half)


def _difference(difference: Difference, name: int, columns: tuple[int, int]) -> Line:
    left, right = columns
    return (
        Span(pad(clip(clean(difference.name, 100), name - 1), name), "label"),
        Span(pad(clip(difference.left, left - GAP), left)),
        Span(pad(clip(difference.right, right - GAP), right), "changed"),
        Span(difference.note, "dim"),
    )
