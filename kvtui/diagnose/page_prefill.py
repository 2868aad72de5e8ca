"""How much of the time prefill takes, as far as metrics pages tell.

``/v1/loads`` of 0.5.15 and later counts the seconds. Older pages count tokens only; what they show of the time are bounds: steps
that take longer than the shortest, tokens that come further apart than the nearest, and requests between queue and first token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.answers import LoadRow, Loads
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.latency import Latency, Spread
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.workload import Workload

_NO_SHARE: Final = Missing("pages of this release do not tell how long prefill takes")
_OUTWEIGHS: Final = 2.0
"""Prompt tokens computed over tokens generated. A prompt token costs less time than a generated one."""
_FLOODS: Final = 10.0
_WORTH: Final = 0.25
"""Share from which on the two bounds are worth joining."""
_FEWEST_BUSY_S: Final = 0.5
"""Seconds of prefill between two answers below which its pace is not known."""
_WARM_BUSY_S: Final = 10.0
"""Seconds of prefill since the start from which on the first passes, which are slow, do not count any more."""
_APART_S: Final = 10.0
"""Seconds between two answers in which hardly any prefill is no accident."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Prompts outweigh answers, and nothing that was read bounds the time that they take."""

    weight: float
    """Prompt tokens computed over tokens generated."""
    low: float
    """Share of the time that prefill takes at least, 0 to 1."""
    high: float
    """At most."""


def with_prefill_share(workload: Workload, http: HttpReading | None) -> Workload:
    """The load of sampled pages with prefill's share as the server counts it (``/v1/loads`` of 0.5.15 and later).

    Prompt tokens computed a second, over the pace at which the server computes them. Elsewhere a page hides single passes, so that
    uneven steps look like stalls: then the share is only kept where prompts outweigh answers, and within what the time to the
    first token allows.
    """
    counted = _counted(workload, http)
    if counted:
        ranks = tuple(replace(rank, prefill_share=counted.get(rank.dp, rank.prefill_share)) for rank in workload.ranks)
        first = next(iter(counted.values()))
        mean = Known(sum(share.value for share in counted.values()) / len(counted), first.at, first.where)
        return replace(workload, ranks=ranks, prefill_share=mean)
    weight, most, apart = _weight(workload, http), _most_prefill(http), _between_tokens(http)
    ranks = tuple(replace(rank, prefill_share=_bounded(rank.prefill_share, weight, most, apart)) for rank in workload.ranks)
    return replace(workload, ranks=ranks, prefill_share=_bounded(workload.prefill_share, weight, most, apart))


def doubt_of(workload: Workload, http: HttpReading | None, limit: float) -> Doubt | None:
    """Where prefill may take ``limit`` (0 to 1) of the time or more and pages neither prove nor exclude it.

    ``workload`` as ``with_prefill_share`` returns it.
    """
    weight = _weight(workload, http)
    if weight < _OUTWEIGHS or _counted(workload, http):
        return None
    share, most = workload.prefill_share, _most_prefill(http)
    low, high = share.value if isinstance(share, Known) else 0.0, 1.0 if most is None else min(1.0, most)
    return Doubt(weight, low, high) if low < limit <= high else None


def _bounded(share: Reading[float], weight: float, most: float | None, apart: float) -> Reading[float]:
    """Prefill's share between what steps and tokens show (lower bounds, with noise) and what first tokens allow (an upper one)."""
    if not isinstance(share, Known) or weight < _OUTWEIGHS:
        return _NO_SHARE
    told = f"steps show {share.value:.0%}, tokens {apart:.0%}"
    low = max(share.value, apart)
    if most is None:
        return Known(low, share.at, Where("formula", told))
    low, high = min(low, most), min(1.0, most)
    # With prompts far above answers every step between two pages holds prefill, so that the lower bound is much too low.
    value = (low + high) / 2 if weight >= _FLOODS and low >= _WORTH else low
    return Known(value, share.at, Where("formula", f"{told}, requests a second × time to first token {high:.0%}"))


def _weight(workload: Workload, http: HttpReading | None) -> float:
    """Prompt tokens computed over tokens generated: of all, or (before 0.5.9) of requests that ended; 0 where nothing tells."""
    if workload.prefill_lines:
        return _over(workload.input_tput, workload.gen_tput)
    rates = http.rates if http is not None else None
    if not isinstance(rates, Rates):
        return 0.0
    hit = rates.cache_hit.value if isinstance(rates.cache_hit, Known) else 0.0
    return _over(rates.prompt_tokens, rates.output_tokens) * (1 - hit)


def _over(part: Reading[float], whole: Reading[float]) -> float:
    return part.value / whole.value if isinstance(part, Known) and isinstance(whole, Known) and whole.value > 0 else 0.0


def _between_tokens(http: HttpReading | None) -> float:
    """How much further apart tokens come than the nearest tenth of them, as a share: what lies between two steps is in it.

    The upper limit of a bucket makes the nearest too far, hence the share too small. Clients that do not stream get many
    tokens at once; then all distances are means, and the share is about 0.
    """
    latency = http.latency if http is not None else None
    if not isinstance(latency, Latency) or not isinstance(latency.itl, Spread) or latency.itl.mean <= 0:
        return 0.0
    return max(0.0, 1 - latency.itl.p10.high / latency.itl.mean)


def _most_prefill(http: HttpReading | None) -> float | None:
    """Requests a second times the seconds between queue and first token: at most so much of the time is prefill."""
    if http is None or not isinstance(http.latency, Latency) or not isinstance(http.rates, Rates):
        return None
    first, queue, ended = http.latency.ttft, http.latency.queue_time, http.rates.requests_s
    if not isinstance(first, Spread) or not isinstance(queue, Spread) or not isinstance(ended, Known):
        return None
    return max(0.0, first.mean - queue.mean) * ended.value


def _counted(workload: Workload, http: HttpReading | None) -> dict[int, Known[float]]:
    """Share by data-parallel rank, where ``/v1/loads`` counts the seconds of prefill."""
    loads = http.loads if http is not None else None
    if http is None or not isinstance(loads, Loads):
        return {}
    return {row.dp: share for row in loads.rows if (share := _prefill_share(workload, row, loads, http.loads_before)) is not None}


def _prefill_share(workload: Workload, row: LoadRow, loads: Loads, before: Loads | None) -> Known[float] | None:
    told, since = _work(row), _since(row, before)
    if told is None or not isinstance(workload.input_tput, Known) or not workload.ranks:
        return None
    tokens, busy = since or (0.0, 0.0)
    if since is not None and before is not None and busy < _FEWEST_BUSY_S and (apart := loads.at - before.at) >= _APART_S:
        return Known(busy / apart, loads.at, Where("http", f"/v1/loads: {busy:.2f} s of prefill in {apart:.0f} s"))
    if busy < _FEWEST_BUSY_S or tokens <= 0:
        # A server that has just started computed its first tokens slowly: what it did since then says nothing of its pace.
        tokens, busy = told
        if busy < _WARM_BUSY_S or tokens <= 0:
            return None
    rate, pace = workload.input_tput.value / len(workload.ranks), tokens / busy
    where = Where("http", f"/v1/loads: {pace:,.0f} prompt tokens a second while it prefills")
    return Known(min(1.0, rate / pace), loads.at, where)


def _work(row: LoadRow) -> tuple[float, float] | None:
    """Prompt tokens computed since the start, and the seconds that took; None where it is not told."""
    tokens, busy = row.prefill_tokens_total, row.prefill_busy_s_total
    return (tokens.value, busy.value) if isinstance(tokens, Known) and isinstance(busy, Known) else None


def _since(row: LoadRow, before: Loads | None) -> tuple[float, float] | None:
    """The same since an earlier answer."""
    earlier = next((_work(one) for one in before.rows if one.dp == row.dp), None) if before is not None else None
    now = _work(row)
    if now is None or earlier is None or now[0] < earlier[0] or now[1] < earlier[1]:
        return None
    return now[0] - earlier[0], now[1] - earlier[1]
