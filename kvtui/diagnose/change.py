"""What the load was before it changed: evidence beside a verdict that judges only what came since."""

from __future__ import annotations

import math

from kvtui.diagnose.context import Context, first_at, read
from kvtui.domain.finding import Evidence
from kvtui.domain.reading import Missing
from kvtui.domain.workload import WINDOW_S, observe


def change_of(context: Context) -> Evidence | None:
    """The load of the window before the newest regime, or None where there is one regime only."""
    line, changed = context.frame.timeline, context.changed_at
    begun, last = first_at(context), line.last("at")
    if changed is None or begun is None or last is None or math.isnan(last[0]):
        return None
    window = line.since(last[0] - WINDOW_S)
    before = observe(window.slice(0, len(window) - len(line.since(changed))), (), pool_tokens=None, window_s=None)
    rank = before.busiest
    if rank is None or isinstance(rank.running, Missing):
        return None
    figures = f"{read(rank.running) or 0.0:.0f} ran, {read(rank.queued) or 0.0:.0f} waited"
    usage = read(rank.usage)
    pool = f", KV usage was {usage:.2f}" if usage is not None else ""
    return Evidence(f"the load changed: before, {figures}{pool}; only what came since is judged", "log: batch lines before", begun)
