"""Since when a server has nothing to do: no request runs or waits, and hardly a token is computed.

A gauge alone does not tell. It keeps its last value for up to 30 s after the last batch (0.5.9 and others), and reads zero
while a first batch is computed; counters of tokens and ``/v1/loads`` tell both apart (facts/observability.md 1.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtui.domain.answers import Loads
from kvtui.domain.reading import Known, Reading, value_or
from kvtui.domain.scrape import Scrape

PROBE_TOKENS: Final = 16.0
"""Tokens that a health probe makes the server compute at most: no load."""
DOUBT_S: Final = 5.0
"""Seconds without a token after which gauges that claim running requests are doubted."""
_BESIDE_S: Final = 6.0
"""An answer this much older than the newest page says nothing of now."""
_QUEUES: Final = ("queued", "grammar_queued", "bootstrap_queued", "inflight_queued", "prealloc_queued", "transfer_queued")


@dataclass(frozen=True, slots=True)
class Rest:
    """Times on the console's clock."""

    since: float | None = None
    """Since when it rests; None where it works, or where nothing tells."""
    worked: bool = False
    """True where it was seen at work, so that ``since`` is the end of that; else it is the first look."""
    doubtful: bool = False
    """True where gauges claim running requests and nothing moves: a new answer of ``/v1/loads`` would settle it."""


NO_REST: Final = Rest()


class RestWatch:
    """Compares each page and each answer with the one before. Only the reader of a source feeds it."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._worked_at: float | None = None
        self._page_at: float | None = None
        self._claims: tuple[float, float] = (0.0, 0.0)
        self._tokens: float | None = None
        self._loads_at: float | None = None
        self._loads_busy = False
        self._told = False

    def page(self, scrape: Scrape) -> None:
        """A new page."""
        self._begun = scrape.at if self._begun is None else self._begun
        gauge = scrape.sum("running").reading
        running, waiting = value_or(gauge, 0.0), sum(value_or(scrape.sum(q).reading, 0.0) for q in _QUEUES)
        used = scrape.sum("used_tokens").reading
        # 0.5.9 may go on telling its last running requests for good; without a token in the pool there are none.
        claims = (0.0 if isinstance(used, Known) and used.value <= 0 else running, waiting)
        tokens = _tokens(scrape)
        # A gauge that is missing reads as zero above: without one, and without counters, a page says nothing of rest.
        self._told = isinstance(gauge, Known) or tokens is not None
        grown = tokens - self._tokens if tokens is not None and self._tokens is not None else 0.0
        seconds = max(1.0, scrape.at - self._page_at) if self._page_at is not None else 1.0
        if abs(grown) > PROBE_TOKENS * seconds or (sum(claims) > 0 and claims != self._claims):
            self._worked_at = scrape.at
        self._claims, self._tokens, self._page_at = claims, tokens, scrape.at

    def loads(self, loads: Loads) -> None:
        """A new answer of ``/v1/loads``."""
        self._begun = loads.at if self._begun is None else self._begun
        self._loads_at = loads.at
        self._loads_busy = any(value_or(row.running, 0.0) + value_or(row.waiting, 0.0) > 0 for row in loads.rows)
        if self._loads_busy:
            self._worked_at = loads.at

    def judge(self) -> Rest:
        """What the values seen so far say, as of the newest page or answer."""
        worked = self._worked_at is not None
        since = self._worked_at if self._worked_at is not None else self._begun
        if since is None:
            return Rest()
        page, told = self._page_at, self._loads_at
        if page is None or (told is not None and told >= page - _BESIDE_S and self._loads_busy):
            return Rest(None if self._loads_busy else since, worked)
        if sum(self._claims) <= 0 and self._told:
            return Rest(since, worked)
        if told is not None and told > since and not self._loads_busy:
            return Rest(since, worked)
        if not self._told:
            return Rest(None, worked)
        return Rest(None, worked, doubtful=page - since >= DOUBT_S and (told is None or told < since + DOUBT_S))


def _tokens(scrape: Scrape) -> float | None:
    """Tokens computed so far, where the page counts them: as they come (0.5.9 and later), else as requests end."""
    live = [_sum(getattr(row, name) for row in scrape.stage_rows()) for name in ("decode_total", "prefill_compute_total")]
    known = [value for value in live if value is not None]
    if known:
        return sum(known)
    return _sum((scrape.counters.generation_tokens, scrape.counters.prompt_tokens))


def _sum(readings: Iterable[Reading[float]]) -> float | None:
    known = [reading.value for reading in readings if isinstance(reading, Known)]
    return sum(known) if known else None
