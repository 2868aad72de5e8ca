"""Prefill and Decode batch lines, read as key: value and never by position (facts/observability.md 3.2)."""

from __future__ import annotations

import math
import re
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

CONTINUATION: Final = re.compile(
    rb"\s{0,8}(?:#[a-z][a-z -]{1,20}: |(?:token|full token|swa token|mamba) usage: |cuda graph: |gen throughput|input throughput|accept )"
)
"""What the second half of a batch line looks like after a paste has wrapped it."""


def parse_batch(message: str) -> dict[str, float] | None:
    """The values of a batch line by column, with ``kind``; None where the message is no readable batch line.

    Never raises. Values that are no finite number are left out.
    """
    head = _HEAD.match(message)
    if head is None:
        return None
    values: dict[str, float] = {}
    for part in message[head.end() :].split(", "):
        key, _, text = part.partition(": ")
        column = COLUMN_OF.get(key)
        if column is None:
            continue
        value = _value(text)
        if value is not None:
            values[column] = value
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
    return value if math.isfinite(value) else None
