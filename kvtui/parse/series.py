"""What a series' labels say, worked out once: the same series come back with every page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kvtui.parse.redact import safe

RANK_LIMIT: Final = 4_096
"""Ranks of one kind; a label beyond it is no rank."""
_NO_PLACE: Final = -1
_SCALED: Final = frozenset(("le", "tp_rank", "moe_ep_rank"))
_WATCHED: Final = ("endpoint", "page_size", "num_pages")


class Place(NamedTuple):
    """Which scheduler a series belongs to; a label that is absent counts as 0."""

    engine: str
    dp: int
    pp: int
    tp: int


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a page."""

    name: str
    place: Place
    labelled: bool
    """True where a rank is named."""
    engine: str | None
    """``engine_type`` where it is told: tokenizer series of 0.5.10 and before have none."""
    mode: str
    model: str
    usable: bool
    """False: a breakdown beside its own total, or a rank that cannot be."""
    limit: float
    """Upper limit of a bucket; nan where it is none."""
    group: tuple[tuple[str, str], ...]
    """Labels without the bucket's limit and the tensor rank: what one histogram shares."""
    watched: Mapping[str, str]


def series_of(name: str, labels: Mapping[str, str]) -> Series:
    """A series from its name and labels, whatever they hold."""
    ranks = [_rank(labels.get(key, "")) for key in ("dp_rank", "pp_rank", "tp_rank")]
    engine = safe(labels["engine_type"], 30) if "engine_type" in labels else None
    return Series(
        name=name,
        place=Place(engine or "unified", *ranks),
        labelled="tp_rank" in labels or "dp_rank" in labels,
        engine=engine,
        mode=labels.get("mode", ""),
        model=safe(labels.get("model_name", ""), 200),
        # A breakdown by priority stands beside its own total, whose label is empty (0.5.10 and later).
        usable=_NO_PLACE not in ranks and not labels.get("priority"),
        limit=_limit(labels.get("le", "")),
        group=tuple(sorted((key, value) for key, value in labels.items() if key not in _SCALED)),
        watched={key: labels[key] for key in _WATCHED if key in labels},
    )


def _rank(text: str) -> int:
    text = text or "0"
    if not (text.isascii() and text.isdecimal() and len(text) <= 5) or int(text) >= RANK_LIMIT:
        return _NO_PLACE
    return int(text)


def _limit(text: str) -> float:
    try:
        return float(text) if len(text) <= 40 else math.nan
    except ValueError:
        return math.nan
