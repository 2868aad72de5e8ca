"""The feed: what is handed on, what is not, and verdicts that do not flap."""

import threading
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


async def test_a_running_server_has_a_history_of_its_verdicts():
    told = iter([KV, *[CLIENT] * 30])
    clock = Clock()
    clock.sleep = _no_wait
    running = frames(31)
    feed = SourceFeed(Hand(*running), clock, lambda frame: replace(analyse(frame), findings=(next(told),)))
    seen = [await feed.next() for _ in range(31)]
    begun = running[0].now
    assert [(p.id, p.begin, p.end) for p in seen[-1].periods] == [("kv-capacity", begun, begun + 16), ("client", begun + 16, None)]
    assert seen[0].periods is seen[10].periods, "panes are left alone while nothing changes"


async def test_the_history_of_one_start_does_not_go_on_in_the_next():
    told = iter([KV, CLIENT, CLIENT])
    first, second, third = frames(3)
    anew = [replace(frame, boots=frame.boots * 2, chosen=1) for frame in (second, third)]
    clock = Clock()
    clock.sleep = _no_wait
    feed = SourceFeed(Hand(first, *anew), clock, lambda frame: replace(analyse(frame), findings=(next(told),)))
    seen = [await feed.next() for _ in range(3)]
    assert [p.id for p in seen[-1].periods] == ["client"]


async def test_a_finished_log_has_no_history_of_its_own():
    feed = SourceFeed(Hand(frame_of(log("founding_a.log"))), Clock(), analyse)
    assert (await feed.next()).periods == ()


async def test_what_needs_no_judgement_needs_no_thread():
    running = frames(4)
    ready = {1: "quick", 3: "quick"}
    here, threads = threading.get_ident(), []

    def judged(frame):
        threads.append(threading.get_ident())
        return analyse(frame)

    def at_once(frame):
        number = running.index(frame)
        return replace(analyse(frame), notes=(ready[number],)) if number in ready else None

    clock = Clock()
    clock.sleep = _no_wait
    feed = SourceFeed(Hand(*running), clock, judged, at_once=at_once)
    told = [await feed.next() for _ in range(4)]
    assert [analysis.notes == ("quick",) for analysis in told] == [False, True, False, True]
    assert len(threads) == 2
    assert here not in threads
