"""The feed: what is handed on, what is not, and verdicts that do not flap."""

from dataclasses import replace

from engine_fakes import Clock, Hand
from reading import frame_of, log

from kvtui.domain.finding import Finding
from kvtui.engine.analyse import analyse
from kvtui.engine.feed import SourceFeed

KV = Finding("kv-capacity", "KV capacity", "s", "concurrency", "high")
CLIENT = Finding("client", "Client", "s", "concurrency", "high")


def frames(count):
    base = replace(frame_of(log("founding_a.log")), finished=False)
    return [replace(base, now=base.now + i, notes=(f"{i}",)) for i in range(count)]


async def shown(findings):
    told = iter(findings)
    clock = Clock()
    clock.sleep = _no_wait
    feed = SourceFeed(Hand(*frames(len(findings))), clock, lambda frame: replace(analyse(frame), findings=(next(told),)))
    return [(await feed.next()).findings[0].id for _ in findings]


async def _no_wait(_seconds):
    return None


async def test_a_verdict_that_comes_for_a_moment_is_not_shown():
    assert await shown([KV, KV, CLIENT, KV, KV]) == ["kv-capacity"] * 5


async def test_a_verdict_that_lasts_is_shown():
    told = await shown([KV, *[CLIENT] * 30])
    assert told[1] == "kv-capacity"
    assert told[-1] == "client"


async def test_a_finished_log_is_analysed_once_and_as_it_is():
    calls = []
    done = frame_of(log("founding_a.log"))
    clock = Clock()
    reads = 0

    async def sleep(_seconds):
        nonlocal reads
        reads += 1
        if reads > 3:
            raise StopAsyncIteration

    clock.sleep = sleep
    feed = SourceFeed(Hand(done), clock, lambda frame: calls.append(1) or analyse(frame))
    await feed.next()
    assert len(calls) == 1
