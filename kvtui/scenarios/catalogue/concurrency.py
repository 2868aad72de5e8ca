"""What limits how many requests run: pool, cap, reservation, prefill, clients, retraction, and their look-alikes."""

from __future__ import annotations

from random import Random
from typing import Final

from kvtui.scenarios.box import Draft
from kvtui.scenarios.catalogue.parts import (
    KIMI_TIMES,
    LLAMA_TIMES,
    OSS_TIMES,
    QWEN8_TIMES,
    QWEN32_TIMES,
    closed,
    kimi,
    llama,
    oss,
    pick,
    qwen8,
    qwen32,
)
from kvtui.scenarios.situation import Decor, Scenario, Situation, Strength
from kvtui.twin import Demand, Lengths, Shape, TwinRequest


def _founding(strength: Strength) -> Situation:
    clients = pick(strength, 80, 147, 300)
    return Situation(kimi(0.85), (closed(clients, 1_400, 1_080, max_new=2_200),), KIMI_TIMES)


def _founding_draft(strength: Strength) -> Situation:
    draft = Draft(accept_len=pick(strength, 2.7, 2.4, 2.2), weights_gib=1.9)
    return Situation(kimi(0.88, draft=draft), (closed(pick(strength, 70, 110, 200), 1_300, 900, max_new=8_192),), KIMI_TIMES)


def _pool(strength: Strength) -> Situation:
    return Situation(qwen32(), (closed(pick(strength, 40, 60, 150), 900, 700, max_new=2_000),), QWEN32_TIMES)


def _cap(strength: Strength) -> Situation:
    cap = pick(strength, 48, 32, 16)
    demand = closed(cap * 2, 700, 400, max_new=1_024)
    return Situation(llama(max_running_requests=cap), (demand,), LLAMA_TIMES)


def _reservation(strength: Strength) -> Situation:
    demand = closed(pick(strength, 60, 90, 200), pick(strength, 260, 200, 120), pick(strength, 170, 150, 120))
    return Situation(qwen32(), (demand,), QWEN32_TIMES)


def _prefill(strength: Strength) -> Situation:
    demand = closed(pick(strength, 30, 36, 40), 9_000, pick(strength, 220, 90, 30), max_new=256)
    return Situation(llama(), (demand,), LLAMA_TIMES)


def _client(strength: Strength) -> Situation:
    demand = closed(pick(strength, 24, 8, 3), 900, 500, max_new=1_024)
    return Situation(llama(), (demand,), LLAMA_TIMES)


def _retraction(strength: Strength) -> Situation:
    demand = closed(pick(strength, 40, 60, 90), 300, pick(strength, 1_400, 1_600, 2_200))
    return Situation(qwen32(schedule_conservativeness=pick(strength, 0.15, 0.1, 0.05)), (demand,), QWEN32_TIMES)


def _no_radix(strength: Strength) -> Situation:
    shape = Shape(Lengths(300, "lognormal", 0.3), Lengths(60, "lognormal", 0.4), Lengths(128), shared_prefix=5_000, groups=2)
    demand = Demand(shape=shape, clients=pick(strength, 30, 40, 60), ramp_s=0.2)
    return Situation(qwen8(disable_radix_cache=True), (demand,), QWEN8_TIMES)


def _uneven(strength: Strength) -> Situation:
    most, least = pick(strength, (60, 5), (80, 4), (150, 2))
    demands = (closed(most, 900, 700, max_new=2_000), closed(least, 900, 700, max_new=2_000))
    return Situation(qwen32(dp=2), demands, QWEN32_TIMES)


def _giants(strength: Strength) -> Situation:
    """Small chats, and now and then a document of most of the pool with a one-line answer."""
    giant, rng = pick(strength, 25_500, 26_500, 28_000), Random(7)  # noqa: S311 - a scenario wants the same list each time
    small, answer = Lengths(400, "lognormal", 0.3), Lengths(320, "lognormal", 0.3)
    requests = tuple(
        TwinRequest(0.02 * i, giant, 16, 1_000) if i % 57 == 40 else TwinRequest(0.02 * i, small.draw(rng), answer.draw(rng), 1_000)
        for i in range(6_000)
    )
    return Situation(qwen32(), (Demand(requests=requests, clients=26, think_s=1.0),), QWEN32_TIMES)


def _window(strength: Strength) -> Situation:
    decor = Decor(full_share=pick(strength, 0.6, 0.4, 0.2))
    return Situation(oss(), (closed(pick(strength, 900, 1_100, 1_500), 1_400, 700, max_new=900),), OSS_TIMES, decor)


def _prealloc(strength: Strength) -> Situation:
    decor = Decor(prealloc=pick(strength, 40, 60, 120), transfer=1.0, preallocated_usage=pick(strength, 0.84, 0.9, 0.97))
    return Situation(
        llama(disaggregation_mode="decode"),
        (closed(pick(strength, 100, 105, 110), 3_000, 700, max_new=1_024, cached=0.985),),
        LLAMA_TIMES,
        decor,
    )


def _grammar(strength: Strength) -> Situation:
    decor = Decor(grammar=pick(strength, 6, 12, 40))
    return Situation(llama(), (closed(20, 600, 300, max_new=512),), LLAMA_TIMES, decor)


_LIMITS: Final = ("healthy", "client")

CONCURRENCY: Final = (
    Scenario(
        "founding-kimi", "Kimi-K2.5, 50 run and 97 wait", "Somebody says: it only does 500 tok/s, it should do four times that.",
        "concurrency", ("kv-capacity",), _founding, never=_LIMITS, demo=True,
    ),
    Scenario(
        "founding-eagle3", "Kimi-K2.5 with EAGLE3, a third of the pool unused",
        "The pool was enlarged and nothing more runs: the draft has set the cap to 48.",
        "concurrency", ("running-cap",), _founding_draft, never=_LIMITS, demo=True,
    ),
    Scenario(
        "kv-full", "The KV pool is full", "A 32B model on one card: the weights leave little, and a queue waits for it.",
        "concurrency", ("kv-capacity",), _pool, never=_LIMITS, demo=True,
    ),
    Scenario(
        "cap-set", "A cap below what fits", "The pool is nearly empty and yet requests wait: somebody set max_running_requests.",
        "concurrency", ("running-cap",), _cap, never=(*_LIMITS, "kv-capacity"), demo=True,
    ),
    Scenario(
        "reservation", "Low usage, long queue", "Short chats without max_tokens: four thousand tokens are reserved for each.",
        "concurrency", ("reservation",), _reservation, never=(*_LIMITS, "running-cap"), demo=True,
    ),
    Scenario(
        "prefill", "Prefill starves decode", "Long prompts, short answers: throughput collapses while many run.",
        "concurrency", ("prefill",), _prefill, never=_LIMITS, demo=True,
    ),
    Scenario(
        "client", "The clients send too little", "The queue is empty, the GPUs look busy, and it is still slow.",
        "concurrency", ("client",), _client, never=("kv-capacity", "running-cap", "reservation", "prefill"), demo=True,
    ),
    Scenario(
        "retraction", "It was fast, then it collapsed", "Requests are put back for want of KV, again and again.",
        "concurrency", ("retraction",), _retraction, never=_LIMITS, demo=True,
    ),
    Scenario(
        "radix-off", "Shared prompts, computed each time", "Every prompt begins alike, and the prefix cache is switched off.",
        "concurrency", ("prefix-miss", "prefill"), _no_radix, also=("prefix-miss",), never=_LIMITS, demo=True,
    ),
    Scenario(
        "dp-uneven", "One replica queues, the other idles", "Two data-parallel ranks, and a router that favours one.",
        "concurrency", ("dp-imbalance", "kv-capacity"), _uneven, also=("dp-imbalance",), never=_LIMITS, demo=True,
    ),
    Scenario(
        "giant", "One long request holds the queue", "Now and then a prompt of half the pool comes, and all wait behind it.",
        "concurrency", ("head-of-line",), _giants, never=_LIMITS, seconds=400.0, demo=True,
    ),
    Scenario(
        "window-pool", "The sliding-window pool is full", "Half of the memory is free, and the small pool is full.",
        "concurrency", ("sub-pool",), _window, never=(*_LIMITS, "kv-capacity"), seconds=120.0,
    ),
    Scenario(
        "pd-prealloc", "A decode server without room", "Finished prefills stand in the queue of the decode server.",
        "concurrency", ("pd-queue",), _prealloc, never=_LIMITS,
    ),
    Scenario(
        "grammar", "Requests wait for their schema", "Structured output with large schemas: few run, none seems to wait.",
        "concurrency", ("grammar",), _grammar, views=("metrics",), never=_LIMITS,
    ),
)  # fmt: skip
