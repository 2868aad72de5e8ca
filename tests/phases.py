"""A long log whose load changes at known times: the founding start, then batch lines by phase."""

import random
from datetime import datetime, timedelta, timezone

from reading import log

POOL = 116_171
UP = datetime(2026, 3, 18, 9, 5, tzinfo=timezone.utc)

CLIENT = (8, 0, 0.12)
FULL = (49, 90, 0.96)
CALM = (34, 0, 0.62)
"""Requests that run, requests that wait, share of the pool in use."""


def start() -> str:
    """The lines of the founding log up to its first batch."""
    lines = log("founding_a.log").splitlines()
    return "\n".join(lines[: next(i for i, line in enumerate(lines) if "Decode batch" in line)])


def phased(*phases, every=3.0, seed=0, begin=UP) -> str:
    """``phases``: seconds and what runs; None in its place: nothing is printed. A decode line each ``every`` seconds."""
    rng = random.Random(seed)  # noqa: S311 (a test wants repeatable draws)
    at, out = begin, [start()]
    for seconds, what in phases:
        end = at + timedelta(seconds=seconds)
        tick = 0
        while at < end:
            if what is not None:
                out += _lines(at, what, tick, rng)
            tick += 1
            at += timedelta(seconds=every)
    return "\n".join(out) + "\n"


def _lines(at, what, tick, rng):
    running, queued, usage = what
    ran = max(1, round(rng.gauss(running, running * 0.03)))
    waits = max(0, round(rng.gauss(queued, queued * 0.05))) if queued else 0
    used = min(0.985, max(0.01, rng.gauss(usage, 0.01)))
    stamp = f"[{at:%Y-%m-%d %H:%M:%S} TP0]"
    rate = ran * 16.7 * rng.gauss(1, 0.02)
    if tick % 4 == 3:
        yield (
            f"{stamp} Prefill batch, #new-seq: 1, #new-token: 700, #cached-token: 0, token usage: {used:.2f}, #running-req: {ran}, "
            f"#queue-req: {waits}, input throughput (token/s): 900.00, cuda graph: False"
        )
    yield (
        f"{stamp} Decode batch, #running-req: {ran}, #token: {round(used * POOL)}, token usage: {used:.2f}, cuda graph: True, "
        f"gen throughput (token/s): {rate:.2f}, #queue-req: {waits}"
    )
