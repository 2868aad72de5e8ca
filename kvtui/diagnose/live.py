"""What a running server tells over HTTP, in the shape that the rules know from a log.

A frame without a log has no boot and an account without figures. Pool, cap, context, headroom and settings are then taken
from ``/server_info``, ``/v1/loads`` and ``/metrics``, newest first; what the log tells is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeVar

from kvtui.domain import live_boot
from kvtui.domain.account import Account
from kvtui.domain.answers import Loads, ServerInfo
from kvtui.domain.boot import Boot
from kvtui.domain.frame import Frame
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.reading import Known, Missing, Reading
from kvtui.domain.scrape import Scrape

_QUARTER_S: Final = 900.0
_UNTOLD: Final = Missing("the server does not tell it")


def sampled(frame: Frame) -> bool:
    """True where the samples come from pages or answers: batch lines have a line number."""
    return frame.sampled or (bool(len(frame.timeline)) and frame.timeline.last("line") is None)


def shift(frame: Frame) -> float:
    """Seconds from the wall clock, which answers carry, to the clock of the samples: whole quarters of an hour, as zones are."""
    if frame.http is not None and frame.now is not None:
        return round((frame.now - frame.http.now) / _QUARTER_S) * _QUARTER_S
    wall = next((reading.at for reading in (frame.gpus, frame.host) if reading is not None and reading.at is not None), None)
    return round((frame.now - wall) / _QUARTER_S) * _QUARTER_S if wall is not None and frame.now is not None else 0.0


def current(frame: Frame) -> Frame:
    """The frame of the process that is judged.

    An older start ended with its last line, and pages from before a restart say nothing of the process that runs now.
    """
    if frame.boot is not None and frame.boot.ended_at is not None and frame.boot is not frame.boots[-1]:
        return replace(frame, now=frame.boot.ended_at, finished=True)
    http = frame.http
    if http is None or http.restarted_at is None or not sampled(frame):
        return frame
    begun = http.restarted_at + shift(frame)
    events = tuple(event for event in frame.events if event.at is None or event.at >= begun or event.line > 0)
    return replace(frame, timeline=frame.timeline.since(begun), events=events)


def completed(account: Account, http: HttpReading | None) -> Account:
    """The account with what HTTP tells in place of what the log does not."""
    if http is None:
        return account
    identity = account.identity
    tp, pp, dp = (_whole([_setting(http, name)]) for name in ("tp_size", "pp_size", "dp_size"))
    return replace(
        account,
        identity=replace(identity, tp=_first(identity.tp, tp), pp=_first(identity.pp, pp), dp=_first(identity.dp, dp)),
        tokens_reported=_first(account.tokens_reported, _pool(http)),
        running_cap=_first(account.running_cap, _cap(http)),
        context_len=_first(account.context_len, _context(http)),
        headroom_gib=_first(account.headroom_gib, _headroom(http)),
        weights_gib=_first(account.weights_gib, _weights(http)),
        fraction=_first(account.fraction, _fraction(http)),
        cap_tokens=_first(account.cap_tokens, _whole([_setting(http, "max_total_tokens")])),
    )


def boot_of(http: HttpReading | None, account: Account) -> Boot | None:  # noqa: ARG001
    """A boot with the server's settings, for a frame that has none; None where nothing has answered."""
    return live_boot.boot_of(http, None)


T = TypeVar("T")


def _first(*readings: Reading[T]) -> Reading[T]:
    return next((reading for reading in readings if isinstance(reading, Known)), readings[0])


def _whole(readings: Iterable[Reading[float] | Reading[int]]) -> Reading[int]:
    """The smallest known one as a whole number: the rank with the least limits."""
    known = [reading for reading in readings if isinstance(reading, Known) and 0 < reading.value < 1e15]
    if not known:
        return _UNTOLD
    least = min(known, key=lambda reading: reading.value)
    return Known(int(least.value), least.at, least.where)


def _pool(http: HttpReading) -> Reading[int]:
    """Tokens of one data-parallel rank."""
    info = http.server_info.pool_tokens if isinstance(http.server_info, ServerInfo) else _UNTOLD
    loads = _whole(row.pool_tokens for row in http.loads.rows) if isinstance(http.loads, Loads) else _UNTOLD
    scrape = _whole(row.pool_tokens for row in http.scrape.stage_rows()) if isinstance(http.scrape, Scrape) else _UNTOLD
    return _first(info, scrape, loads)


def _cap(http: HttpReading) -> Reading[int]:
    states = _whole(state.running_cap for state in http.server_info.states) if isinstance(http.server_info, ServerInfo) else _UNTOLD
    loads = _whole(row.running_cap for row in http.loads.rows) if isinstance(http.loads, Loads) else _UNTOLD
    return _first(states, loads, _whole([_setting(http, "max_running_requests")]))


def _context(http: HttpReading) -> Reading[int]:
    scrape = _whole(row.context_len for row in http.scrape.stage_rows()) if isinstance(http.scrape, Scrape) else _UNTOLD
    return _first(scrape, _whole([_setting(http, "context_length")]))


def _headroom(http: HttpReading) -> Reading[float]:
    """GiB free once the server was up, of the tightest rank."""
    gpus = [gpu.startup_free_gib for gpu in http.scrape.gpus] if isinstance(http.scrape, Scrape) else []
    states = [state.startup_free_gib for state in http.server_info.states] if isinstance(http.server_info, ServerInfo) else []
    # A server on the CPU tells 0 or nothing: that is no GPU without room.
    known = [reading for reading in (*gpus, *states) if isinstance(reading, Known) and reading.value > 0]
    return min(known, key=lambda reading: reading.value, default=_UNTOLD)


def _weights(http: HttpReading) -> Reading[float]:
    gpus = [gpu.weight_gib for gpu in http.scrape.gpus] if isinstance(http.scrape, Scrape) else []
    states = [state.weight_gib for state in http.server_info.states] if isinstance(http.server_info, ServerInfo) else []
    return next((reading for reading in (*gpus, *states) if isinstance(reading, Known)), _UNTOLD)


def _fraction(http: HttpReading) -> Reading[float]:
    found = _setting(http, "mem_fraction_static")
    return found if isinstance(found, Known) and 0 < found.value < 1 else _UNTOLD


def _setting(http: HttpReading, name: str) -> Reading[float]:
    """A setting as a number."""
    found = http.server_info.settings.get(name) if isinstance(http.server_info, ServerInfo) else None
    if found is None or isinstance(found.value, bool) or not isinstance(found.value, (int, float)):
        return _UNTOLD
    return Known(float(found.value), None, found.where)
