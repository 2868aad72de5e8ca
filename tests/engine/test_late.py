"""A feed that is opened when the first analysis is asked for."""

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
