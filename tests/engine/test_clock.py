"""Waits of half a second and more end together, so that a process wakes once for all its sources."""

import asyncio

import pytest

from kvtui.engine.clock import TOGETHER_S, WallClock, together


@pytest.mark.parametrize("begun", [100.0, 100.004, 100.13, 100.2, 100.37])
def test_waits_that_begin_apart_end_at_common_moments(begun):
    end = begun + together(begun, 1.0)
    assert end % TOGETHER_S == pytest.approx(0.0, abs=1e-9)
    assert abs(end - begun - 1.0) <= TOGETHER_S / 2


def test_a_wait_after_some_work_keeps_the_pace():
    """What takes 30 ms of each second still comes each second."""
    ends, now = [], 500.0
    for _ in range(5):
        now += 0.03
        now += together(now, 1.0)
        ends.append(now)
    assert ends == pytest.approx([501.0, 502.0, 503.0, 504.0, 505.0])


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.49])
def test_short_waits_are_what_was_asked_for(seconds):
    assert together(100.123, seconds) == seconds


@pytest.mark.parametrize("begun", [100.0, 100.1, 100.103, 100.3])
def test_who_looks_at_what_the_others_read_comes_a_little_later(begun):
    end = begun + together(begun, 1.0, 0.1)
    assert (end - 0.1) % TOGETHER_S == pytest.approx(0.0, abs=1e-9) or (end - 0.1) % TOGETHER_S == pytest.approx(TOGETHER_S, abs=1e-9)


async def test_the_wall_clock_asks_for_such_waits(monkeypatch):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: 1_000.2)
    await WallClock().sleep(1.0)
    await WallClock(late=0.1).sleep(1.0)
    await WallClock().sleep(0.2)
    assert waited == pytest.approx([0.8, 0.9, 0.2])
