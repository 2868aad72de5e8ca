"""One value of a setting: fit, or what is wrong with it in half a sentence that begins with the setting's name."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Final

from kvtui.domain.settings import Told
from kvtui.parse.redact import safe

_LONGEST: Final = 1_000
_ADDRESS: Final = re.compile(r"https?://\S+|:\d{1,5}")
_SWITCHES: Final = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def checked(name: str, told: Told, value: object) -> tuple[object, str]:
    """The value as the program takes it, and an empty text; or None and what is wrong."""
    if told.kind == "switch":
        return (value, "") if isinstance(value, bool) else (None, f"{name} must be true or false{_without_quotes(value)}")
    if told.kind in {"number", "count"}:
        return _number(name, told, value)
    if not isinstance(value, str) or not value.strip():
        return None, f"{name} must be a text in quotes"
    if len(value) > _LONGEST or not value.isprintable():
        return None, f"{name} holds a control character, or more than {_LONGEST} characters"
    if told.kind == "address" and not _ADDRESS.fullmatch(value):
        # Not quoted: an address may carry a secret.
        return None, f"{name} is no address: write it as http://host:port, or :port on this machine"
    return value, ""


def of_variable(told: Told, text: str) -> tuple[object, str]:
    """The value of an environment variable, as ``checked``."""
    if told.kind == "switch":
        found = _SWITCHES.get(text.strip().lower())
        return (found, "") if found is not None else (None, f"{told.variable} is {quoted(text)}: it must be 1 or 0")
    return checked(told.variable, told, text)


def _number(name: str, told: Told, value: object) -> tuple[object, str]:
    whole = told.kind == "count"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return None, f"{name} must be a {'whole ' if whole else ''}number, {told.range}{_without_quotes(value)}"
    low, high = told.low if told.low is not None else -math.inf, told.high if told.high is not None else math.inf
    # Also false for NaN.
    if not low <= value <= high:
        # A whole number of any length is TOML; to print one of many digits Python takes long, or refuses.
        small = isinstance(value, float) or abs(value) < 10**15
        return None, f"{name} is {f'{value:g}' if small else 'out of range'}: it must be {told.range}"
    return value if whole else float(value), ""


def _without_quotes(value: object) -> str:
    return "; leave the quotes out" if isinstance(value, str) else ""


def quoted(text: str) -> str:
    """A foreign name for the middle of a sentence."""
    return f"“{safe(text, 80)}”"


def nearest(name: str, known: Collection[str]) -> str:
    """``; did you mean X?``; all that there is where that is little; or nothing."""
    # Only a mistake needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name[:80], sorted(known), 1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there is {', '.join(sorted(known))}" if 0 < len(known) <= 10 else ""
