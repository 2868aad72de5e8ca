"""A feed that is opened when the first analysis is asked for."""

import asyncio
import threading

import builders as b
import pytest
from feeds import HandFeed

from kvtui.engine.late import LateFeed
from kvtui.ports import RefusedError


async def test_it_is_opened_at_the_first_question_and_told_what_was_wanted():
    made = []

    def make():
        made.append(HandFeed(b.founding()))
        return made[0]

    late = LateFeed(make)
    late.choose(1)
    assert not made
    await late.next()
    late.choose(0)
    await late.close()
    assert made[0].chosen == [1, 0]
    assert made[0].closed


async def test_what_cannot_be_opened_is_said_and_closing_is_harmless():
    def make():
        raise RefusedError("There is no such server.")

    late = LateFeed(make)
    with pytest.raises(RefusedError, match="no such server"):
        await late.next()
    await late.close()


def test_leaving_does_not_wait_for_what_hangs_while_it_is_opened():
    opened = threading.Event()

    async def leave():
        waiting = asyncio.ensure_future(LateFeed(opened.wait).next())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    run = threading.Thread(target=lambda: asyncio.run(leave()), daemon=True)
    run.start()
    run.join(10)
    assert not run.is_alive()
    opened.set()
