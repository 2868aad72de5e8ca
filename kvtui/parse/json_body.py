"""JSON bodies that may hold anything, read into checked values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.redact import safe

NUMBER_LIMIT: Final = 1e18
TEXT_LIMIT: Final = 2_000
ITEMS_LIMIT: Final = 1_024
_DEPTH_LIMIT: Final = 12


def decode(body: bytes) -> Mapping[str, object] | Missing:
    """A body as a JSON object, or one clause that says what it is instead. Never raises."""
    if not body.strip():
        return Missing("the answer is empty")
    try:
        # int() of thousands of digits takes quadratic time; no number of ours is longer than 20.
        document = json.loads(body, parse_int=_integer, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        start = body.lstrip()[:1]
        return Missing("the answer is a web page, not JSON" if start == b"<" else "the answer is not valid JSON")
    if not isinstance(document, dict):
        return Missing(f"the answer is a JSON {_kind(document)}, not an object")
    return document


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= 40 else None


def _kind(value: object) -> str:
    return {list: "list", str: "text", bool: "truth value", type(None): "null"}.get(type(value), "number")


def number(value: object) -> float | None:
    """A finite number of sensible size; truth values and texts are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -NUMBER_LIMIT < value < NUMBER_LIMIT:
        return None
    return float(value) if math.isfinite(value) else None


def reading(document: Mapping[str, object], key: str, at: float, where: str) -> Reading[float]:
    """A number that is not negative under its key, or why there is none."""
    if document.get(key) is None:
        return Missing(f"{where} does not tell {key}")
    value = number(document[key])
    if value is None or value < 0:
        return Missing(f"{where} tells an impossible {key}")
    return Known(value, at, Where("http", f"{where} {key}"))


def whole(document: Mapping[str, object], key: str, at: float, where: str) -> Reading[int]:
    """As ``reading``, for counts."""
    found = reading(document, key, at, where)
    if isinstance(found, Missing):
        return found
    return (
        Known(int(found.value), at, found.where) if found.value.is_integer() else Missing(f"{where} tells a {key} that is no whole number")
    )


def text(document: Mapping[str, object], key: str, limit: int = 200) -> str:
    """A text under its key made safe, or an empty one."""
    value = document.get(key)
    return safe(value, limit) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, object]:
    """A nested object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """A list of bounded length, or an empty one."""
    return value[:ITEMS_LIMIT] if isinstance(value, list) else []


def scalar(value: object, depth: int = 0) -> Scalar:
    """A JSON value as a setting's value: lists become tuples, objects their own JSON text, texts are made safe."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if number(value) is not None else None
    if isinstance(value, str):
        return safe(value, TEXT_LIMIT)
    if isinstance(value, list) and depth < _DEPTH_LIMIT:
        return tuple(scalar(item, depth + 1) for item in value[:ITEMS_LIMIT])
    try:
        return safe(json.dumps(value)[: 4 * TEXT_LIMIT], TEXT_LIMIT)
    except (ValueError, TypeError, RecursionError):
        return None
