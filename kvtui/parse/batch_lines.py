"""Prefill and Decode batch lines, read as key: value and never by position (facts/observability.md 3.2)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from kvtui.domain.samples import DECODE, PREFILL

_HEAD: Final = re.compile(r"(Prefill|Decode) batch\b[^#a-z]{0,40}")
_NUMBER: Final = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?")

COLUMN_OF: Final = {
    "#running-req": "running",
    "#queue-req": "queued",
    "#token": "tokens",
    "token usage": "usage",
    "#full token": "tokens",
    "full token usage": "usage",
    "#swa token": "swa_tokens",
    "swa token usage": "swa_usage",
    "mamba num": "mamba_slots",
    "#mamba num": "mamba_slots",
    "mamba usage": "mamba_usage",
    "gen throughput (token/s)": "gen_tput",
    "input throughput (token/s)": "input_tput",
    "#new-seq": "new_seq",
    "#new-token": "new_token",
    "#cached-token": "cached_token",
    "#pending-token": "pending_token",
    "cuda graph": "graph",
    "cpu graph": "graph",
    "npu graph": "graph",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "#prealloc-req": "prealloc",
    "#transfer-req": "transfer",
    "#transferring-req": "inflight",
    "#inflight-req": "inflight",
    "#bootstrap-req": "bootstrap",
    "#unbootstrapped-req": "bootstrap",
    "#retracted-req": "retracted",
    "pre-allocated usage": "preallocated_usage",
    "fwd occupancy": "occupancy",
}
"""The column of ``domain.samples`` for each key that SGLang 0.4.6 to 0.5.23 prints. ``occupancy`` stays in per cent."""

SHARE_LIMIT: Final = 1.05
"""The largest share of a pool that can be true: rounding and a late count may show a little above the whole."""
COUNT_LIMIT: Final = 1e6
TOKENS_LIMIT: Final = 1e12
"""Tokens that no single pool holds."""
_THROUGHPUT_LIMIT: Final = 1e9
_LIMITS: Final = {
    **dict.fromkeys(("usage", "swa_usage", "mamba_usage", "preallocated_usage"), SHARE_LIMIT),
    **dict.fromkeys(("tokens", "swa_tokens", "new_token", "cached_token", "pending_token"), TOKENS_LIMIT),
    **dict.fromkeys(("gen_tput", "input_tput"), _THROUGHPUT_LIMIT),
}
_READ: Final = {key: (column, _LIMITS.get(column, COUNT_LIMIT)) for key, column in COLUMN_OF.items()}
"""Column and largest value that can be true; counts, lengths and per cents share one limit."""

CONTINUATION: Final = re.compile(
    rb"\s{0,8}(?:#[a-z][a-z -]{1,20}: |(?:token|full token|swa token|mamba) usage: |cuda graph: |gen throughput|input throughput|accept )"
)
"""What the second half of a batch line looks like after a paste has wrapped it."""


def parse_batch(message: str, refused: Counter[str] | None = None) -> dict[str, float] | None:
    """The values of a batch line by column, with ``kind``; None where the message is no readable batch line.

    Never raises. Values that are no finite number are left out, and so are those that cannot be true
    (negative or beyond their limit); ``refused`` counts the latter by column.
    """
    head = _HEAD.match(message)
    if head is None:
        return None
    values: dict[str, float] = {}
    for part in message[head.end() :].split(", "):
        key, _, text = part.partition(": ")
        entry = _READ.get(key)
        if entry is None:
            continue
        value = _value(text)
        if value is None:
            continue
        column, most = entry
        if 0.0 <= value <= most:
            values[column] = value
        elif refused is not None and value == value:  # noqa: PLR0124 (NaN alone differs from itself; this runs for each value)
            refused[column] += 1
    if not values:
        return None
    values["kind"] = PREFILL if head[1] == "Prefill" else DECODE
    return values


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        if text.startswith(("True", "False")):
            return 1.0 if text.startswith("True") else 0.0
        match = _NUMBER.match(text)
        if match is None:
            return None
        value = float(match.group())
    return value
