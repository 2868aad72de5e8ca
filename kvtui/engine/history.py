"""Samples of a live server in bounded memory: the newest hours whole, older ones thinned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from kvtui.domain.samples import SampleStore, Timeline

WHOLE: Final = 20_000
"""Newest rows that are kept as they came: five hours of one rank at a page a second."""
THINNED: Final = 10_000
"""Older rows that are kept in all, spread evenly."""
BACK_S: Final = 1.0
"""Seconds by which a row may be older than the one before: samples are looked up by their time."""


class History:
    """Grows by rows; thins its older part when it is full. A view taken before stays what it was."""

    def __init__(self, whole: int = WHOLE, thinned: int = THINNED) -> None:
        self._whole, self._thinned = whole, thinned
        self._store = SampleStore()
        self._rows = 0
        self._old = 0
        self._last = -math.inf

    def extend(self, rows: Iterable[Mapping[str, float]], shift: float = 0.0) -> None:
        """Add rows; ``shift`` seconds are added to their times. A time that runs back, as of a clock that was set, begins anew."""
        for row in rows:
            at = row.get("at", math.nan) + shift
            if at < self._last - BACK_S:
                self._store, self._rows, self._old = SampleStore(), 0, 0
            self._last = self._last if math.isnan(at) else at
            self._store.append({**row, "at": at} if shift else row)
            self._rows += 1
        if self._rows - self._old > self._whole + self._whole // 4:
            self._thin()

    def view(self) -> Timeline:
        """All that is kept, oldest first."""
        return self._store.view()

    def _thin(self) -> None:
        whole = self.view()
        edge = len(whole) - self._whole
        step = max(2, -(-edge // self._thinned))
        kept = [*range(0, edge, step), *range(edge, len(whole))]
        self._store.keep(kept)
        self._rows = len(kept)
        self._old = len(kept) - self._whole
