"""V19: requests wait for their grammar to compile; they are in no other queue."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, read
from kvtui.diagnose.registry import rule
from kvtui.domain.answers import Loads
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Picture
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.scrape import Scrape

_FEW: Final = 2.0
_SHARE: Final = 0.1


@rule("grammar")
def grammar(context: Context) -> Finding | None:
    """The grammar queue holds two requests or more, and a tenth of all that are in the server."""
    waiting = _waiting(context)
    if not isinstance(waiting, Known) or not context.loaded:
        return None
    others = (read(context.workload.running) or 0.0) + (read(context.workload.queued) or 0.0)
    if waiting.value < _FEW or waiting.value < _SHARE * others:
        return None
    return Finding(
        id="grammar",
        title="Requests wait for their grammar",
        sentence=f"{waiting.value:.0f} requests wait for their JSON schema or grammar to compile, beside {others:.1f} that run or queue.",
        axis="concurrency",
        confidence="medium",
        since=context.stamp(waiting.at),
        evidence=(Evidence(f"grammar queue {waiting.value:.0f}", str(waiting.where), context.stamp(waiting.at)),),
        ruled_out=(
            Ruled("kv-capacity", "requests of the grammar queue do not ask for tokens yet"),
            Ruled("client", "the clients have sent them; the server has not begun"),
        ),
        advice=(
            "Reuse schemas (compiled ones are cached), make them smaller, and warm up the large ones after each start.",
            "Try another --grammar-backend where a schema compiles for seconds.",
        ),
        verify=("sglang:num_grammar_queue_reqs is 0 at the same demand",),
        pictures=(Picture("load", "They are in neither line: the server has room, and they have not entered it."),),
    )


def _waiting(context: Context) -> Reading[float]:
    """Requests in the grammar queue over all ranks, now."""
    http = context.frame.http
    if http is None:
        return Missing("the grammar queue is in /metrics and /v1/loads only")
    if isinstance(http.scrape, Scrape) and isinstance(total := http.scrape.sum("grammar_queued").reading, Known):
        return total
    if isinstance(http.loads, Loads):
        told = [row.queues["grammar"] for row in http.loads.rows if "grammar" in row.queues]
        if told:
            return Known(sum(told), http.loads.at, Where("http", "/v1/loads queues.grammar"))
    return Missing("this server does not tell its grammar queue")
