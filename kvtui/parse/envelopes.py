"""Containers and journals around a log line: docker json-file, CRI, journald and other JSON writers.

Long lines are cut by their carriers: docker at 16 KiB without a line end, CRI with the flag ``P``,
journald at 48 KiB with ``_LINE_BREAK=line-max``. The pieces are put together here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from kvtui.parse.stamps import clock_seconds, day_start, zone_seconds

_DOCKER_PIECE: Final = 16_000
"""Characters from which a docker record without a line end is taken for a piece."""
PIECES_LIMIT: Final = 262_144
"""Characters kept of a line that came in pieces."""
_JSON_LIMIT: Final = 1_048_576
_CRI: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::\w+)? ?(.*)", re.DOTALL)
_TORN: Final = re.compile(r'\{"(?:log|MESSAGE|message|msg)":\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
_RFC3339: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?\s?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class Opened:
    """What was inside an envelope."""

    text: str
    at: float | None
    """Stamp of the envelope, seconds UTC."""
    wrapped: bool
    """False: there was no envelope."""


def rfc3339(text: str) -> float | None:
    """Seconds UTC of a stamp such as ``2026-07-21T23:19:05.000410551Z``; None where it is none."""
    match = _RFC3339.match(text)
    if match is None:
        return None
    day = day_start(int(match[1]), int(match[2]), int(match[3]))
    clock = clock_seconds(match[4], match[5], match[6], match[7])
    return None if day is None or clock is None else day + clock - zone_seconds(match[8])


class Envelopes:
    """Opens envelopes; holds the pieces of lines that are not complete yet."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: dict[str, Opened] = {}

    @property
    def pending(self) -> bool:
        """True while a piece waits for the rest of its line."""
        return bool(self._pieces)

    def open(self, text: str) -> Opened | None:
        """What the line holds; None while it is a piece of a longer one."""
        if text[:1] == "{":
            return self._json(text)
        match = _CRI.match(text)
        if match is not None:
            return self._join("cri " + match[2], match[4], rfc3339(match[1]), more=match[3] == "P")
        return Opened(text, None, wrapped=False)

    def rest(self) -> list[Opened]:
        """The lines whose last piece never came."""
        left = list(self._pieces.values())
        self._pieces.clear()
        return left

    def _join(self, stream: str, text: str, at: float | None, *, more: bool) -> Opened | None:
        before = self._pieces.pop(stream, None)
        if before is not None:
            text, at = (before.text + text)[:PIECES_LIMIT], before.at
        opened = Opened(text, at, wrapped=True)
        if more:
            self._pieces[stream] = opened
            return None
        return opened

    def _json(self, text: str) -> Opened | None:
        try:
            record: Any = json.loads(text) if len(text) <= _JSON_LIMIT else None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            return _torn(text)
        if isinstance(record.get("log"), str):
            log: str = record["log"]
            cut = not log.endswith("\n") and len(log) >= _DOCKER_PIECE
            return self._join(f"docker {record.get('stream')}"[:40], log.rstrip("\r\n"), _time_of(record), more=cut)
        message = _message_of(record)
        if message is None:
            return Opened(text, None, wrapped=False)
        unit = str(record.get("_PID", ""))[:20]
        return self._join(f"journal {unit}", message.rstrip("\r\n"), _time_of(record), more=record.get("_LINE_BREAK") == "line-max")


def _torn(text: str) -> Opened:
    match = _TORN.match(text)
    if match is None:
        return Opened(text, None, wrapped=False)
    try:
        inner = json.loads(f'"{match[1]}"', strict=False)
    except ValueError:
        inner = match[1]
    return Opened(str(inner).rstrip("\r\n"), None, wrapped=True)


def _message_of(record: dict[str, Any]) -> str | None:
    for key in ("MESSAGE", "message", "msg"):
        value = record.get(key)
        if isinstance(value, str):
            return value
        # journald writes a message that is not UTF-8 as a list of bytes
        if key == "MESSAGE" and isinstance(value, list) and all(isinstance(b, int) and 0 <= b < 256 for b in value):
            return bytes(value).decode("utf-8", "replace")
    return None


def _time_of(record: dict[str, Any]) -> float | None:
    for key in ("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"):
        value = record.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
            return int(value) / 1e6
    for key in ("time", "timestamp", "ts", "@timestamp"):
        value = record.get(key)
        if isinstance(value, str):
            return rfc3339(value)
    return None
