"""How many requests may run: ``max_running_requests`` and the request table (facts/memory.md 4)."""

from __future__ import annotations

from typing import Final

from kvtui.domain.sizing import rules
from kvtui.domain.sizing.config import SizingConfig, SizingError
from kvtui.domain.sizing.state import slots_per_request

_LEAST: Final = 2048
_MOST: Final = 4096
"""Bounds of the estimate."""


def estimate(config: SizingConfig, tokens: int) -> int | None:
    """Requests that SGLang expects of a pool, 2,048 to 4,096; None where it hangs on an unknown context length."""
    if tokens <= 0:
        return _LEAST
    if config.context_len is None:
        return None
    return max(min(int(tokens / config.context_len * 512), _MOST), _LEAST)


def table_rows(config: SizingConfig, tokens: int, slots: int | None) -> int | None:
    """Rows of the request table before 0.5.10.

    ``tokens``: the pool before its cap; ``slots``: state slots of a hybrid.
    """
    rows = config.max_running_requests if config.max_running_requests is not None else estimate(config, tokens)
    if rows is None or slots is None:
        return rows
    rows = min(rows, slots // slots_per_request(config))
    by_speculation = rules.EXTRA_BUFFER.at(config.release) == "by speculation"
    if by_speculation and config.spec is not None and config.dp_size > 1 and config.max_running_requests is not None:
        rows = min(rows, config.max_running_requests // config.dp_size)
    return rows


def running_cap(config: SizingConfig, tokens: int, rows: int | None, slots: int | None) -> int | None:
    """Effective ``max_running_requests`` of one data-parallel rank.

    ``rows`` limits it before 0.5.10; ``tokens`` is the pool after its cap. Raises SizingError where no request fits.
    """
    how, asked, half = rules.REQUESTS.at(config.release), config.max_running_requests, tokens // 2
    if how == "table first":
        share = half if asked is None else asked // config.dp_size
        if rows is None:
            return share if share <= _LEAST else None
        return min(share, rows)
    expected = estimate(config, tokens)
    limit: int
    wanted: int | None
    if asked is None:
        limit, wanted = half, expected
    elif how == "estimate caps":
        limit, wanted = asked // config.dp_size, expected
    else:
        share = asked // config.dp_size
        limit, wanted = half, max(1, share) if how == "pool caps, one at least" else share
    if wanted is None:
        wanted = _LEAST if limit <= _LEAST else None
    cap = None if wanted is None else min(limit, wanted)
    return cap if slots is None else _by_states(config, cap, slots)


def _by_states(config: SizingConfig, cap: int | None, slots: int) -> int | None:
    """A hybrid's requests are also limited by its state slots."""
    by_state = slots // slots_per_request(config)
    if cap is None:
        return by_state if by_state <= _LEAST else None
    cap = min(cap, by_state)
    if cap <= 0 and rules.REST_CHECKED.at(config.release):
        raise SizingError("no-requests", f"{slots} state slots at {slots_per_request(config)} a request leave room for no request.")
    return cap
