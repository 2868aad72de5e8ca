"""Latencies of a live server in words: quantiles, with their limits where a bucket is coarse."""

from __future__ import annotations

import math

from kvtui.domain.frame import Frame
from kvtui.domain.latency import Latency, Quantile, Spread
from kvtui.domain.reading import Known
from kvtui.domain.scrape import Scrape
from kvtui.present.figures import percent, seconds
from kvtui.present.line import pad_left


def quantile_text(found: Quantile) -> str:
    """One quantile; ``<100 ms`` in the first bucket, ``>400 s`` in the last, ``~`` where its bucket is coarse."""
    if found.value is None:
        return f"<{seconds(found.high)}" if found.low <= 0 else f">{seconds(found.low)}"
    return f"~{seconds(found.value)}" if found.coarse else seconds(found.value)


NAMES = (("ttft", "1st token"), ("itl", "per token"), ("queue_time", "in queue"), ("e2e", "whole"))
"""Field of ``Latency`` and the label of its row."""
WIDTH = 6
"""Columns of a quantile: ``~198 s``."""


def latency_rows(frame: Frame) -> tuple[tuple[str, str, str], ...]:
    """Label, median and the rest of each latency that is known; over the newest minute."""
    latency = frame.http.latency if frame.http is not None else None
    if not isinstance(latency, Latency):
        return ()
    rows = []
    for field, label in NAMES:
        found = getattr(latency, field)
        if isinstance(found, Spread):
            most = latency.ttft if field == "queue_time" and isinstance(latency.ttft, Spread) else None
            half, nine, last = (
                _text(quantile, getattr(most, name) if most is not None else None)
                for name, quantile in (("p50", found.p50), ("p90", found.p90), ("p99", found.p99))
            )
            # Below one another and from tick to tick, figures keep their columns.
            rows.append((label, half, f"p90 {pad_left(nine, WIDTH)} · p99 {pad_left(last, WIDTH)}"))
    return tuple(rows)


def _text(found: Quantile, most: Quantile | None) -> str:
    """One quantile. ``most``: of a longer wait that holds this one, so that a coarse bucket's middle above it is not told."""
    if most is None or most.value is None or found.value is None or found.value <= most.value:
        return quantile_text(found)
    return f"≤{seconds(most.value)}"


def pool_split(frame: Frame) -> str:
    """``cached 30%, free 12%``: what of the pool is evictable and what is free; empty where it is not told apart."""
    scrape = frame.http.scrape if frame.http is not None else None
    if not isinstance(scrape, Scrape):
        return ""
    parts = []
    for row in scrape.stage_rows():
        figures = (row.kv_used_tokens, row.kv_evictable_tokens, row.kv_available_tokens)
        if not all(isinstance(figure, Known) and math.isfinite(figure.value) for figure in figures):
            return ""
        parts.append([figure.value for figure in figures if isinstance(figure, Known)])
    used, cached, free = (sum(part[i] for part in parts) for i in range(3)) if parts else (0.0, 0.0, 0.0)
    whole = used + cached + free
    return f"cached {percent(cached / whole)}, free {percent(free / whole)}" if whole > 0 else ""
