"""What happens when the next decode step does not fit in the pool."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.twin.batch import Batch, Live
from kvtui.twin.pool import Pool
from kvtui.twin.rules import RETRACT_STEPS, Rules
from kvtui.twin.setup import Server
from kvtui.twin.stretch import step_need


@dataclass(frozen=True, slots=True)
class Retraction:
    """Requests put back, in the order they go to the end of the queue, and the reservation afterwards."""

    back: tuple[Live, ...]
    lost: tuple[Live, ...]
    """The last request, where even alone it does not fit: SGLang aborts it (0.4.6 to 0.5.9 end with an error)."""
    ratio: float


def retract(batch: Batch, pool: Pool, server: Server, gain: int) -> Retraction:
    """Take requests out until the next step fits; at least one, and never the last but for ``lost``.

    ``retract_decode`` of ``managers/schedule_batch.py``: fewest produced tokens first, ties longest prompt first,
    with speculation before 0.5.18 the newest first. What they held is lost, not kept in the radix cache. The
    reservation becomes (produced + 20·n) / (max_new + 1) over the survivors, max_new not clipped.
    """
    rules = server.rules
    keep = list(batch.members)
    if not (server.speculates and rules.retract_newest_with_draft):
        keep.sort(key=lambda live: (batch.produced(live), -live.asked.prompt), reverse=True)
    back: list[Live] = []
    while len(keep) > 1 and (not back or not _fits(batch, pool, server, rules, gain, len(keep))):
        live = keep.pop()
        _let_go(live, batch, pool)
        back.append(live)
    lost: list[Live] = []
    if len(keep) == 1 and pool.free < step_need(batch, server, gain):
        live = keep.pop()
        _let_go(live, batch, pool)
        lost.append(live)
    produced = sum(batch.produced(live) for live in keep)
    wanted = sum(live.max_new for live in keep)
    return Retraction(tuple(back), tuple(lost), min(1.0, (produced + RETRACT_STEPS * len(keep)) / (wanted + 1)))


def _fits(batch: Batch, pool: Pool, server: Server, rules: Rules, gain: int, count: int) -> bool:
    need = step_need(batch, server, gain)
    return pool.free >= (RETRACT_STEPS * count + server.draft_tokens * count if rules.retract_ahead else need)


def _let_go(live: Live, batch: Batch, pool: Pool) -> None:
    pool.used -= batch.held(live, pool)
    if live.prefix is not None:
        pool.release(live.prefix)
    produced = batch.produced(live)
    batch.remove([live])
    live.prefix = None
    live.filled = 0
    live.retractions += 1
    if live.asked.forced_length:
        live.target = min(live.max_new, produced + live.asked.output)
    live.produced = produced
