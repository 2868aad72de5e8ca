"""Latencies of a live server in words: quantiles, with their limits where a bucket is coarse."""

from __future__ import annotations

import math

from kvtui.domain.frame import Frame
from kvtui.domain.latency import Latency, Quantile, Spread
from kvtui.domain.reading import Known
from kvtui.domain.scrape import Scrape


def seconds_text(value: float) -> str:
    """``24 ms``, ``1.2 s``, ``85 s``."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 9.95 else f"{value:.0f} s"


def quantile_text(found: Quantile) -> str:
    """One quantile; ``<100 ms`` in the first bucket, ``>400 s`` in the last, ``~`` where its bucket is coarse."""
    if found.value is None:
        return f"<{seconds_text(found.high)}" if found.low <= 0 else f">{seconds_text(found.low)}"
    return f"~{seconds_text(found.value)}" if found.coarse else seconds_text(found.value)


NAMES = (("ttft", "1st token"), ("itl", "per token"), ("queue_time", "in queue"), ("e2e", "whole"))
"""Field of ``Latency`` and the label of its row."""


def latency_rows(frame: Frame) -> tuple[tuple[str, str, str], ...]:
    """Label, median and the rest of each latency that is known; over the newest minute."""
    latency = frame.http.latency if frame.http is not None else None
    if not isinstance(latency, Latency):
        return ()
    rows = []
    for field, label in NAMES:
        found = getattr(latency, field)
        if isinstance(found, Spread):
            rows.append((label, quantile_text(found.p50), f"p90 {quantile_text(found.p90)} · p99 {quantile_text(found.p99)}"))
    return tuple(rows)


def pool_split(frame: Frame) -> str:
    """``cached 30 %, free 12 %``: what of the pool is evictable and what is free; empty where it is not told apart."""
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
    return f"cached {cached / whole:.0%}, free {free / whole:.0%}".replace("%", " %") if whole > 0 else ""
