"""Placeholders of a lesson's texts: ``{pool}`` becomes the figure of that name, ``{key:hint}`` the key of that command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kvtui.guide.facts import KEY, NAME, Facts, split

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE: Final = re.compile(r"\{(" + NAME.pattern + r")\}")
MOST_WORDS: Final = 120
"""Words of a step's text."""


def names(text: str) -> tuple[str, ...]:
    """Names that a text asks for."""
    return tuple(found[1] for found in _PLACE.finditer(text))


def fill(text: str, facts: Facts | None) -> str:
    """The text with its figures, its keys still to be named; an ellipsis stands for each figure while nothing has been read."""

    def put(found: re.Match[str]) -> str:
        if split(found[1])[0] == KEY:
            return found[0]
        return facts.shown(found[1]) if facts is not None else "…"

    return _PLACE.sub(put, text)


def name_keys(text: str, keys: Mapping[str, str]) -> str:
    """The text with its keys, by the command's id. Raises KeyError for a command that does not exist."""
    return _PLACE.sub(lambda found: keys[split(found[1])[1]] if split(found[1])[0] == KEY else found[0], text)


def number(text: str, facts: Facts) -> float | None:
    """A bound or an answer: a number as written, else the fact of that name."""
    try:
        return float(text)
    except ValueError:
        return facts.value(text)


def typed(text: str) -> float | None:
    """What a person typed as a number: ``259,871``, ``260k``, ``17.0 GiB``, ``+124%``; None where it is none."""
    found = re.fullmatch(r"\s*([+\-−]?[0-9][0-9,_ ]*(?:\.[0-9]*)?|[+\-−]?\.[0-9]+)\s*([kKmM])?\s*(?:%|[A-Za-z/]{0,10})\s*", text[:40])
    if found is None:
        return None
    value = float(re.sub(r"[,_ ]", "", found[1]).replace("−", "-"))
    return value * {"k": 1e3, "m": 1e6}.get((found[2] or "").lower(), 1.0)
