"""A saved plan as a line of JSON, and back; a file may hold anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from kvtui.domain.saved_plan import SavedPlan
from kvtui.parse.json_body import decode, number
from kvtui.parse.redact import safe

SCHEMA: Final = 1
_MOST_TEXTS: Final = 40
_LONGEST: Final = 300


def plan_line(plan: SavedPlan) -> str:
    """One line, without its end."""
    return json.dumps({"schema": SCHEMA, **asdict(plan)}, ensure_ascii=True, allow_nan=False)


def plan_of_line(line: bytes) -> SavedPlan | None:
    """The plan of a line; None where it is not one of ours. Never raises."""
    body = decode(line)
    if not isinstance(body, Mapping) or body.get("schema") != SCHEMA:
        return None
    model = body.get("model")
    if not isinstance(model, str) or not model:
        return None
    running, tok_s = _numbers(body.get("running"), 2), _numbers(body.get("tok_s"), 3)
    return SavedPlan(
        model=safe(model, _LONGEST),
        tp=_whole(body.get("tp")),
        dp=_whole(body.get("dp")),
        pp=_whole(body.get("pp")),
        at=number(body.get("at")),
        boot_begun=number(body.get("boot_begun")),
        options=_texts(body.get("options")),
        flags=_texts(body.get("flags")),
        fraction=number(body.get("fraction")),
        tokens_before=number(body.get("tokens_before")),
        tokens=number(body.get("tokens")),
        headroom_gib=number(body.get("headroom_gib")),
        in_flight=number(body.get("in_flight")),
        running=(running[0], running[1]) if running is not None else None,
        tok_s_before=number(body.get("tok_s_before")),
        tok_s=(tok_s[0], tok_s[1], tok_s[2]) if tok_s is not None else None,
        stated=next(iter(_texts([body.get("stated")])), ""),
    )


def _whole(value: object) -> int | None:
    found = number(value)
    return int(found) if found is not None and 0 < found < 1e6 else None


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(safe(text, _LONGEST) for text in value[:_MOST_TEXTS] if isinstance(text, str))


def _numbers(value: object, count: int) -> list[float] | None:
    if not isinstance(value, list) or len(value) != count:
        return None
    found = [number(item) for item in value]
    known = [item for item in found if item is not None]
    return known if len(known) == count else None
