"""A scenario as text: what its server would have printed and answered."""

from __future__ import annotations

from typing import Final

from kvtui.scenarios.player import Player
from kvtui.scenarios.situation import Incident, Scenario, Strength

EPOCH: Final = 1_772_359_200.0
"""2026-03-01 10:00:00 UTC: a log needs a date, and the same one gives the same text."""
MOST_SECONDS: Final = 86_400.0


def build(scenario: Scenario, strength: Strength = "plain", *, seed: int = 0, seconds: float | None = None) -> Incident:
    """The incident. ``seconds`` of load (the scenario's own where None), after the start.

    Raises ValueError for a strength that the scenario does not have or a time out of range.
    """
    if strength not in scenario.strengths:
        raise ValueError(f"{scenario.id} has no strength {strength}")
    load_s = scenario.seconds if seconds is None else seconds
    if not 0 <= load_s <= MOST_SECONDS:
        raise ValueError("an incident lasts up to a day")
    player = Player(scenario.make(strength), seed=seed, epoch=EPOCH)
    lines, pages, loads, info = player.advance(player.up_s), [], [], ""
    end = player.up_s + load_s
    while player.now < end:
        lines += player.advance(player.now + 1.0)
        at = player.epoch + player.now
        pages.append((at, player.page()))
        loads.append((at, player.loads()))
        info = info or player.server_info()
    told = player.situation.machine.told
    return Incident(
        log="\n".join(lines) + "\n",
        pages=tuple(pages) if any(text for _, text in pages) else (),
        loads=tuple(loads) if any(text for _, text in loads) else (),
        server_info=info,
        gpus=player.gpus() if told else None,
        host=player.host() if told else None,
        found=player.found() if told else None,
    )
