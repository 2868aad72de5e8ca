"""The cheap part of reading ``/metrics``: is it such a page at all, and which of its lines are wanted.

Only wanted families are handed to a parser: most of a page with 8 data-parallel ranks is buckets nobody shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.parse.metric_names import WANTED
from kvtui.parse.redact import safe

Kind = Literal["sglang", "no-series", "vllm", "router", "prometheus", "empty", "html", "json", "binary", "text"]

LINE_LIMIT: Final = 4_096
"""Bytes of one line; SGLang's are below 1,000."""
KEPT_LIMIT: Final = 50_000
"""Wanted lines of one page; 64 ranks need about 10,000."""

NUMBER_LIMIT: Final = 40
"""Bytes of a value."""
SIGN: Final = b"sglang:"
"""How each of SGLang's own series begins."""
_WANTED: Final = frozenset(name.encode() for name in WANTED)
_ROUTER: Final = (b"smg_", b"sgl_router_")


@dataclass(frozen=True, slots=True)
class Page:
    """What a body is, and its wanted samples."""

    kind: Kind
    samples: tuple[tuple[bytes, float], ...] = ()
    """Name and labels as they stand on the page, and the value; may be NaN or infinite."""
    whole: bool = True
    """False: the body was cut, or wanted lines could not be read."""
    broken_off: bool = False
    """True: the server's answer ends within a line, so that whatever stood behind it is missing."""
    excerpt: str = ""
    """The beginning of a body that is no metrics page, made safe."""


def wanted_lines(body: bytes, *, cut: bool = False) -> Page:
    """Classify a body and keep its wanted samples; never raises. ``cut``: the body's end is known to be missing."""
    if not body.strip():
        return Page("empty", whole=not cut)
    # The last line of a cut page may be a number that lost its last digits.
    torn = cut or not body.endswith(b"\n")
    lines = body.split(b"\n")
    broken_off = not cut and _begun(lines.pop())
    kept: list[tuple[bytes, float]] = []
    unreadable, seen = 0, 0
    for line in lines:
        if not line.startswith(SIGN):
            continue
        seen += 1
        end = line.find(b"{")
        if (line[:end] if end >= 0 else line.split(None, 1)[0]) not in _WANTED:
            continue
        sample = _split(line) if len(line) <= LINE_LIMIT and len(kept) < KEPT_LIMIT else None
        if sample is None:
            unreadable += 1
        else:
            kept.append(sample)
    if not seen:
        return _foreign(body, whole=not torn)
    return Page("sglang", tuple(kept), not torn and not unreadable, broken_off)


def _begun(last: bytes) -> bool:
    """True for a last line that cannot be whole: SGLang's numbers have a point, an exponent, or are infinite or none."""
    if not last.strip():
        return False
    sample = last.rsplit(None, 1)[-1] if _split(last) is not None else b""
    return sample.endswith(b".") or not any(sign in sample for sign in (b".", b"e", b"n", b"N"))


def _split(line: bytes) -> tuple[bytes, float] | None:
    """Series and value of a line; a time stamp after the value is not used. None where there is no value."""
    close = line.rfind(b"}")
    series, rest = (line[: close + 1], line[close + 1 :].split()) if close >= 0 else (line.split(None, 1)[0], line.split()[1:])
    if not 1 <= len(rest) <= 2 or len(rest[0]) > NUMBER_LIMIT or b"_" in rest[0]:
        return None
    try:
        return series, float(rest[0])
    except ValueError:
        return None


def _foreign(body: bytes, *, whole: bool) -> Page:
    head = body[:65_536]
    start = head.lstrip()[:1]
    excerpt = safe(head[:400].decode("utf-8", "replace"), 120)
    if b"\x00" in head or _control_share(head) > 0.1:
        return Page("binary", whole=whole, excerpt=excerpt)
    if re.search(rb"(?m)^(?:# (?:HELP|TYPE) )?vllm[:_]", head):
        return Page("vllm", whole=whole)
    if any(re.search(rb"(?m)^(?:# (?:HELP|TYPE) )?" + prefix, head) for prefix in _ROUTER):
        return Page("router", whole=whole)
    if re.search(rb"(?m)^# (?:HELP|TYPE) sglang:", head):
        return Page("no-series", whole=whole)
    if re.search(rb"(?m)^# (?:HELP|TYPE) [A-Za-z_:]", head) or re.match(rb"[A-Za-z_:][\w:]*(?:\{[^\n]*\})? [0-9+.eEN-]", head):
        return Page("prometheus", whole=whole, excerpt=excerpt)
    if start == b"<":
        return Page("html", whole=whole, excerpt=excerpt)
    if start in (b"{", b"["):
        return Page("json", whole=whole, excerpt=excerpt)
    return Page("text", whole=whole, excerpt=excerpt)


def _control_share(head: bytes) -> float:
    odd = sum(1 for byte in head[:2_000] if byte < 9 or 13 < byte < 32 or byte == 127)
    undecodable = head[:2_000].decode("utf-8", "replace").count("\ufffd")
    return (odd + undecodable) / max(1, len(head[:2_000]))
