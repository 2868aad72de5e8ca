"""More requests in flight from the clients, where they are the limit (facts/diagnoses.md V7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.banding import band_of
from kvtui.domain.estimate import Estimate
from kvtui.domain.finding import VerdictId
from kvtui.domain.plan import Change
from kvtui.domain.reading import Missing
from kvtui.domain.throughput import predict
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, Observed, cliff, observed
from kvtui.options.lever import lever, not_here, today, with_effect
from kvtui.options.max_running_requests import room_in_pool

_TITLE: Final = "more client concurrency"
_UNPROVEN: Final = "nothing shows that the clients are the limit"
_NO_QUEUE: Final[dict[VerdictId, str]] = {"healthy": _UNPROVEN, "server-stuck": "find out first why the server stood still"}
_GROWTH: Final = 2.0
"""As far as a prediction is sound."""


@lever("client-concurrency")
def client_concurrency(context: OptionContext) -> Estimate:
    """Twice today's batch, or what the pool and the cap admit."""
    now = observed(context)
    if context.limit is not None and context.limit != "client":
        waiting = f": {now.queued:.0f} wait already" if isinstance(now, Observed) and now.queued >= 1 else f": the limit is {context.limit}"
        why = _NO_QUEUE.get(context.limit, f"more clients only lengthen the queue{waiting}")
        return not_here(context, "client-concurrency", _TITLE, why, restart=False)
    if context.limit is None or isinstance(now, Missing):
        return not_here(context, "client-concurrency", _TITLE, _UNPROVEN, restart=False)
    return _more(context, now)


def _more(context: OptionContext, now: Observed) -> Estimate:
    pool, resident = context.pool, finite(context.workload.resident)
    room = now.running * _GROWTH
    if pool is not None and resident is not None and resident > 0:
        room = min(room, room_in_pool(band_of(context.workload, context.account, context.boot, context.events), pool / resident))
    if context.cap is not None:
        room = min(room, float(context.cap))
    if room <= now.running:
        return not_here(context, "client-concurrency", _TITLE, "the pool or the cap admits no more", restart=False)
    total = room * max(1, len(context.workload.ranks))
    base = replace(
        today(context, "client-concurrency", f"clients keep about {total:,.0f} requests in flight"),
        restart=False,
        risk="low",
        risk_text="each stream gets slower as the batch grows",
        verify="the queue stays just above 0; throughput follows the estimate",
        change=Change(running_factor=room / now.running),
        notes=(
            "benchmarks: --max-concurrency; gateways: the connection pool",
            "Little: requests in flight = requests a second × seconds a request",
        ),
    )
    blocked = cliff(context)
    if blocked:
        return with_effect(base, context, Effect(why=blocked))
    figure = predict(
        running=now.running,
        tok_s=now.tok_s,
        to=room,
        curve=context.curve,
        graphs_cover=context.graphs_cover(room),
        speculation=context.speculation,
    )
    effect = Effect(why=figure.reason) if isinstance(figure, Missing) else Effect(tok_s=figure, running=(now.running, room))
    return with_effect(base, context, effect)
