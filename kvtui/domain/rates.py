"""Counters to rates: differences over a window, restarts recognised, each with its basis.

``prompt_``/``generation_tokens_total`` move only when a request ends, so they are no rate of the moment
(facts/observability.md 1.4): from 0.5.9 on ``realtime_tokens_total`` is taken, before that the throughput gauge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.scrape import UNTOLD, RankRow, Scrape

WINDOW_S: Final = 10.0
"""Seconds over which tokens a second are averaged."""
SLOW_WINDOW_S: Final = 60.0
"""Seconds for what happens a few times a minute: requests, retractions, the cache."""
KEPT_S: Final = 75.0
_TOLERANCE: Final = 1e-6
_SERVER: Final = ("prompt_tokens", "generation_tokens", "cached_tokens", "requests", "aborted")
_RANK: Final = (
    "decode_total",
    "prefill_compute_total",
    "prefill_cache_total",
    "retracted_total",
    "admitted_total",
    "graph_passes_total",
    "eager_passes_total",
    "idle_s_total",
)

Key = tuple[str, int]
"""A counter's field and its data-parallel rank; -1 for counters of the whole server."""


@dataclass(frozen=True, slots=True)
class RankRates:
    """Rates of one data-parallel rank. Tokens a second."""

    dp: int
    gen_tok_s: Reading[float] = UNTOLD
    input_tok_s: Reading[float] = UNTOLD
    idle_share: Reading[float] = UNTOLD


@dataclass(frozen=True, slots=True)
class Rates:
    """What the counters say over the newest seconds. Tokens, requests and seconds of wall time."""

    at: float
    gen_tok_s: Reading[float] = UNTOLD
    """Tokens generated a second, now."""
    input_tok_s: Reading[float] = UNTOLD
    """Prompt tokens computed a second, now."""
    cached_tok_s: Reading[float] = UNTOLD
    """Prompt tokens found in the cache a second, now."""
    cache_hit: Reading[float] = UNTOLD
    """Share of prompt tokens found in a cache."""
    finished_tok_s: Reading[float] = UNTOLD
    """Generated tokens of requests that ended, a second: what clients received whole."""
    requests_s: Reading[float] = UNTOLD
    """Requests that ended a second."""
    aborted_s: Reading[float] = UNTOLD
    retracted_min: Reading[float] = UNTOLD
    """Requests put back a minute."""
    graph_share: Reading[float] = UNTOLD
    """Share of decode passes that ran as a CUDA graph."""
    per_stream: Reading[float] = UNTOLD
    """Tokens a second one running request receives."""
    output_tokens: Reading[float] = UNTOLD
    """Mean generated tokens of requests that ended."""
    prompt_tokens: Reading[float] = UNTOLD
    """Mean prompt tokens of requests that ended, cached ones included."""
    ranks: tuple[RankRates, ...] = ()
    reset_at: float | None = None
    """When counters were last seen to start anew: the server was restarted."""


class _Mark(NamedTuple):
    at: float
    grown: Mapping[Key, float]


class RateMeter:
    """Remembers the counters of the last minute. Only the reader of a source feeds it."""

    def __init__(self) -> None:
        self._last: dict[Key, float] = {}
        self._grown: dict[Key, float] = {}
        self._marks: deque[_Mark] = deque()
        self._bases: dict[float, _Mark] = {}
        """The mark at which each window up to the newest mark begins."""
        self.reset_at: float | None = None

    def push(self, scrape: Scrape) -> Rates:
        """The rates up to this page. Pages that are not whole, or older than the last one, change nothing but the stamp."""
        if self._marks and scrape.at <= self._marks[-1].at:
            if scrape.at < self._marks[-1].at - 1:
                # The clock was set back: nothing before can be compared with what comes.
                self._clear_marks()
                self._last.clear()
                return self.push(scrape)
            return self._rates(scrape)
        if scrape.whole:
            self._count(scrape)
        return self._rates(scrape)

    def forget(self, at: float) -> None:
        """The server went away: what comes next is another process, whose counters may by chance not be smaller."""
        if self._last:
            self.reset_at = at
        self._last = {}
        self._grown = {}
        self._clear_marks()

    def _clear_marks(self) -> None:
        self._marks.clear()
        self._bases.clear()

    def _count(self, scrape: Scrape) -> None:
        found = _counters(scrape)
        if any(value < self._last.get(key, 0.0) - _TOLERANCE for key, value in found.items()):
            # All counters of a server live and die together: growth before and after is not one story.
            self.forget(scrape.at)
        first = not self._marks
        for key, value in found.items():
            # A series appears with its first event, so one that was not there stood at 0.
            before = self._last.get(key, value if first else 0.0)
            self._grown[key] = self._grown.get(key, 0.0) + max(0.0, value - before)
            self._last[key] = value
        self._marks.append(_Mark(scrape.at, MappingProxyType(dict(self._grown))))
        while len(self._marks) > 2 and scrape.at - self._marks[0].at > KEPT_S:
            self._marks.popleft()
        self._bases.clear()

    def _base(self, window: float) -> _Mark:
        """The newest mark that lies ``window`` seconds before the newest of all, or the oldest; there are at least two."""
        if window not in self._bases:
            newest = self._marks[-1]
            old = (mark for mark in reversed(self._marks) if mark is not newest and newest.at - mark.at >= window - _TOLERANCE)
            self._bases[window] = next(old, self._marks[0])
        return self._bases[window]

    def _growth(self, key: Key, window: float) -> tuple[float, float] | None:
        """Growth and seconds over about ``window`` seconds up to the newest mark."""
        if len(self._marks) < 2:
            return None
        newest = self._marks[-1]
        if key not in newest.grown:
            return None
        base = self._base(window)
        return newest.grown[key] - base.grown.get(key, 0.0), newest.at - base.at

    def _rate(self, keys: tuple[Key, ...], window: float, detail: str, scale: float = 1.0) -> Reading[float]:
        found = [growth for key in keys if (growth := self._growth(key, window)) is not None]
        if not found:
            known = any(key in self._last for key in keys)
            return Missing("a rate needs two pages" if known or not self._marks else f"the page has no {detail}")
        seconds = found[0][1]
        where = Where("metric", f"{detail}, growth over {seconds:.0f} s")
        return Known(scale * sum(growth for growth, _ in found) / seconds, self._marks[-1].at, where)

    def _share(self, part: tuple[Key, ...], rest: tuple[Key, ...], detail: str, *, rest_is_all: bool = False) -> Reading[float]:
        parts = [found for key in part if (found := self._growth(key, SLOW_WINDOW_S)) is not None]
        rests = [found for key in rest if (found := self._growth(key, SLOW_WINDOW_S)) is not None]
        if not rests and (rest_is_all or not parts):
            return Missing("a share needs two pages with these counters")
        amount = sum(growth for growth, _ in parts)
        whole = sum(growth for growth, _ in rests) + (0.0 if rest_is_all else amount)
        if whole <= 0:
            return Missing("nothing was counted in the last minute")
        seconds = (rests or parts)[0][1]
        return Known(min(1.0, amount / whole), self._marks[-1].at, Where("metric", f"{detail} over {seconds:.0f} s"))

    def _retracted(self, keys: tuple[Key, ...], contemporaries: tuple[Key, ...]) -> Reading[float]:
        name = "sglang:num_retracted_requests_total"
        told = self._rate(keys, SLOW_WINDOW_S, name, 60.0)
        if isinstance(told, Known) or len(self._marks) < 2 or not any(key in self._last for key in contemporaries):
            return told
        # Where realtime counters exist this one does too, from the first retraction on.
        return Known(0.0, self._marks[-1].at, Where("metric", f"{name} is absent: none since the start"))

    def _mean(self, name: str) -> Reading[float]:
        tokens, ended = self._growth((name, -1), SLOW_WINDOW_S), self._growth(("requests", -1), SLOW_WINDOW_S)
        if tokens is None or ended is None:
            return Missing("a mean needs two pages with these counters")
        if ended[0] <= 0:
            return Missing("no request ended in the last minute")
        where = Where("metric", f"sglang:{name}_total over num_requests_total, {ended[0]:.0f} requests of {ended[1]:.0f} s")
        return Known(tokens[0] / ended[0], self._marks[-1].at, where)

    def _rates(self, scrape: Scrape) -> Rates:
        dps = tuple(row.dp for row in scrape.stage_rows())

        def keys(field: str) -> tuple[Key, ...]:
            return tuple((field, dp) for dp in dps)

        gen = self._rate(keys("decode_total"), WINDOW_S, "sglang:realtime_tokens_total{mode=decode}")
        if isinstance(gen, Missing) and not any(key in self._last for key in keys("decode_total")):
            gen = scrape.gen_tput().reading
        hit = self._share(keys("prefill_cache_total"), keys("prefill_compute_total"), "cached over all prompt tokens")
        if isinstance(hit, Missing):
            finished = self._share(
                (("cached_tokens", -1),), (("prompt_tokens", -1),), "cached over all prompt tokens of ended requests", rest_is_all=True
            )
            hit = finished if isinstance(finished, Known) else hit
        running = scrape.sum("running").reading
        return Rates(
            at=scrape.at,
            gen_tok_s=gen,
            input_tok_s=self._rate(keys("prefill_compute_total"), WINDOW_S, "sglang:realtime_tokens_total{mode=prefill_compute}"),
            cached_tok_s=self._rate(keys("prefill_cache_total"), WINDOW_S, "sglang:realtime_tokens_total{mode=prefill_cache}"),
            cache_hit=hit,
            finished_tok_s=self._rate((("generation_tokens", -1),), SLOW_WINDOW_S, "sglang:generation_tokens_total"),
            requests_s=self._rate((("requests", -1),), SLOW_WINDOW_S, "sglang:num_requests_total"),
            aborted_s=self._rate((("aborted", -1),), SLOW_WINDOW_S, "sglang:num_aborted_requests_total"),
            retracted_min=self._retracted(keys("retracted_total"), keys("decode_total")),
            graph_share=self._share(keys("graph_passes_total"), keys("eager_passes_total"), "graph over all decode passes"),
            per_stream=_per_stream(gen, running),
            output_tokens=self._mean("generation_tokens"),
            prompt_tokens=self._mean("prompt_tokens"),
            ranks=tuple(self._rank(row) for row in scrape.stage_rows()),
            reset_at=self.reset_at,
        )

    def _rank(self, row: RankRow) -> RankRates:
        gen = self._rate((("decode_total", row.dp),), WINDOW_S, "sglang:realtime_tokens_total{mode=decode}")
        return RankRates(
            dp=row.dp,
            gen_tok_s=row.gen_tput if isinstance(gen, Missing) and ("decode_total", row.dp) not in self._last else gen,
            input_tok_s=self._rate((("prefill_compute_total", row.dp),), WINDOW_S, "sglang:realtime_tokens_total{mode=prefill_compute}"),
            idle_share=_at_most_one(self._rate((("idle_s_total", row.dp),), WINDOW_S, "sglang:scheduler_idle_seconds_total")),
        )


def _counters(scrape: Scrape) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for name in _SERVER:
        reading = getattr(scrape.counters, name)
        if isinstance(reading, Known):
            found[name, -1] = reading.value
    for row in scrape.stage_rows():
        for name in _RANK:
            reading = getattr(row, name)
            if isinstance(reading, Known):
                found[name, row.dp] = reading.value
    return found


def _per_stream(gen: Reading[float], running: Reading[float]) -> Reading[float]:
    if isinstance(gen, Missing):
        return gen
    if isinstance(running, Missing):
        return running
    if running.value <= 0:
        return Missing("nothing runs")
    return Known(gen.value / running.value, gen.at, Where("formula", "tokens a second over running requests"))


def _at_most_one(share: Reading[float]) -> Reading[float]:
    return Known(min(1.0, share.value), share.at, share.where) if isinstance(share, Known) else share
