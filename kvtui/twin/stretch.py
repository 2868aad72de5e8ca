"""A run of decode steps in which nothing but lengths, the reservation and the clock changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvtui.twin.batch import Batch
from kvtui.twin.rules import DECAY_STEPS
from kvtui.twin.setup import Server, StepTimes


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a run of decode steps begins or ends."""

    now: float
    """Seconds."""
    used: int
    """Tokens held in the pool."""
    ratio: float
    """``new_token_ratio``."""
    steps: int
    """Begin: decode steps made since the run began; end: steps of this stretch."""
    gained: int
    """Tokens each member has gained in it."""
    token_seconds: float
    """Tokens held times seconds."""


def gain_of(accept_len: float, step: int) -> int:
    """Tokens each request gains in the decode step of that number: the accept length, in whole tokens, spread evenly."""
    return 1 if accept_len == 1 else math.floor((step + 1) * accept_len) - math.floor(step * accept_len)


def step_need(batch: Batch, server: Server, gain: int) -> int:
    """Pool tokens that must be free before the next decode step.

    With speculation each request needs its draft's window, whatever is accepted; SGLang's own figure differs by
    release and topology and is larger by up to one more window.
    """
    need = batch.growth(gain)
    return max(need, server.draft_tokens * len(batch.members)) if server.draft_tokens else need


def decode_stretch(batch: Batch, server: Server, times: StepTimes, begin: Stretch, *, most: int, horizon: float, decays: bool) -> Stretch:
    """Decode until a request ends, ``most`` steps are made, ``horizon`` (seconds) is reached, or a step does not fit.

    At least one step, which the caller knows to fit. ``decays``: False where that first step follows a retraction,
    which sets the reservation instead. Moves ``batch.depth``. The additions are the same ones in the same order as
    single steps make, so that times agree to the last bit.
    """
    base, per_token = times.decode_s(len(batch.members)), times.per_token_s
    floor = server.floor_ratio
    decay = (server.first_ratio - floor) / DECAY_STEPS
    plain = server.page == 1 and server.accept_len == 1
    gain, to_end, size = 1, batch.to_next_end, server.usable_tokens
    need = growth = step_need(batch, server, 1)
    now, used, ratio = begin.now, begin.used, begin.ratio
    steps, gained, token_seconds = 0, 0, 0.0
    if plain:
        growth = batch.growth(1)
    while True:
        if not plain:
            gain = gain_of(server.accept_len, begin.steps + steps)
            need, growth = step_need(batch, server, gain), batch.growth(gain)
        if steps and used + need > size:
            break
        if decays or steps:
            ratio -= decay
            ratio = max(ratio, floor)
        used += growth
        seconds = base + per_token * used
        now += seconds
        token_seconds += used * seconds
        steps += 1
        gained += gain
        batch.depth += gain
        if gained >= to_end or steps >= most or now >= horizon:
            break
    return Stretch(now, used, ratio, steps, gained, token_seconds)
