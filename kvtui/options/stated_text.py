"""What an operator types about the load: "64 users, 4k in, 500 out, 900 tok/s"."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from kvtui.options.stated import Stated

LONGEST: Final = 200
"""Characters that are looked at."""
EXAMPLE: Final = "64 users, 4k in, 500 out"
_PART: Final = re.compile(
    r"(?P<before>[a-z/ ]{0,30}?)\s*(?P<number>\d{1,9}(?:\.\d{1,6})?)\s*(?P<scale>[km](?![a-z]))?\s*(?P<after>[a-z/ ]{0,30})"
)
_FIELDS: Final = (
    ("target_tok_s", "tok/s", {"tok/s", "tokens/s", "tps", "tokens a second", "tok a second", "token/s", "t/s"}),
    ("target_wait_s", "s wait", {"s wait", "s waiting", "seconds wait", "sec wait", "wait s", "wait", "wait seconds", "s in the queue"}),
    ("users", "users", {"users", "user", "clients", "client", "requests", "concurrent", "in flight", "streams", "concurrency"}),
    ("prompt", "in", {"in", "input", "prompt", "tokens in", "prompts", "tokens input", "tokens prompt", "prompt tokens"}),
    ("output", "out", {"out", "output", "answer", "tokens out", "answers", "tokens output", "tokens answer", "answer tokens"}),
)  # fmt: skip
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SCALES: Final = {"k": 1e3, "m": 1e6}
_LARGEST: Final = 1e7


def parse_stated(text: str) -> Stated | str:
    """The load and the goal that were typed; else a sentence that says what is wrong.

    Parts are divided by commas, semicolons or "and"; numbers may end in k or m.
    """
    typed = _THOUSANDS.sub("", " ".join(text[:LONGEST].lower().split()))
    parts = [part.strip() for part in re.split(r"[;,]| and ", typed) if part.strip()]
    if not parts:
        return f"nothing was typed; such as {EXAMPLE}"
    stated = Stated()
    for part in parts:
        found = _PART.fullmatch(part)
        if found is None:
            return f"{_shown(part)} is not understood; such as {EXAMPLE}"
        words = " ".join(f"{found['before']} {found['after']}".split())
        field = next((name for name, _, known in _FIELDS if words in known), None)
        value = float(found["number"]) * _SCALES.get(found["scale"] or "", 1.0)
        if field is None:
            return f"{_shown(part)}: say users, in, out, tok/s or s wait; such as {EXAMPLE}"
        if not 0 < value < _LARGEST:
            return f"{_shown(part)}: a number above 0 and below ten million is needed"
        if getattr(stated, field) is not None:
            return f"{_shown(part)}: that was said twice"
        stated = replace(stated, **{field: value})
    return stated


def read_stated(text: str | None) -> Stated | None:
    """The same for a command line: None where nothing was typed; raises ValueError with the sentence."""
    found = parse_stated(text) if text is not None else None
    if found is None or isinstance(found, Stated):
        return found
    raise ValueError(f"The load: {found}.")


def stated_text(stated: Stated) -> str:
    """The same in one clause, as it may be typed again."""
    parts = []
    for name, unit, _ in _FIELDS[2:] + _FIELDS[:2]:
        value = getattr(stated, name)
        if value is not None and math.isfinite(value):
            parts.append(f"{value:.10g} {unit}")
    return ", ".join(parts)


def _shown(part: str) -> str:
    return part if len(part) <= 40 else part[:39] + "…"
