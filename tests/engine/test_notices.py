"""Restarts, counter resets, values that stand still, a clock that is set, a machine that sleeps: recognised and named on the screen."""

import httpx
import pytest
from engine_live import URL, Live, refused
from feeds import HandFeed
from metric_pages import body, load, rank_labels, series
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import analyse, estimates
from kvtui.engine.interruptions import jump


async def shown(frame, *keys):
    app = KvtuiApp(HandFeed(analyse(frame)), estimates, target=URL)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        await pilot.pause()
        header = screen_text(app)
        await pilot.press(*(keys or ("v",)))
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()
        return header.split("\n")[0], " ".join(screen_text(app).replace("│", " ").split())


def kinds(frame):
    return [notice.kind for notice in frame.notices]


async def test_an_ordinary_hour_has_nothing_to_say():
    async with Live() as live:
        frame = await live.run(120)
        assert frame.notices == ()
        header, _ = await shown(frame)
        assert "▲" not in header


async def test_a_counter_reset_is_a_restart():
    async with Live() as live:
        await live.run(30)
        live.fake.tokens = 0
        frame = await live.run(3)
        assert kinds(frame) == ["restart"]
        header, page = await shown(frame)
        assert "▲ restarted 00:17:1" in header
        assert "its counters began anew" in page
        frame = await live.run(700)
        assert kinds(frame) == []


async def test_a_server_that_was_gone_and_is_back_is_another_process():
    async with Live() as live:
        await live.run(20)
        live.fake.answers["/metrics"] = refused()
        frame = await live.run(20)
        assert "metrics" in frame.http.failures
        # Its counters are already larger than the old ones were: only the gap tells.
        live.fake.answers["/metrics"] = live.fake.page
        frame = await live.run(20)
        assert kinds(frame) == ["restart"]


async def test_gauges_that_stand_still_while_the_counters_move():
    async with Live() as live:

        def page():
            live.fake.tokens += 100
            return body([*load(running=4, tput=100.0), series("realtime_tokens_total", live.fake.tokens, mode="decode", **rank_labels())])

        await live.run(5)
        live.fake.answers["/metrics"] = page
        frame = await live.run(25)
        assert kinds(frame) == ["frozen"]
        header, page = await shown(frame)
        assert "▲ values stand still since 00:16:4" in header
        assert "their numbers are old" in page


async def test_a_scheduler_that_hangs():
    async with Live("0.5.9") as live:
        await live.run(5)
        still = live.fake.page()
        live.fake.answers["/metrics"] = still
        live.fake.answers["/server_info"] = httpx.ReadTimeout("hung")
        live.fake.answers["/v1/loads"] = httpx.ReadTimeout("hung")
        frame = await live.run(45)
        assert kinds(frame) == ["frozen"]
        assert analyse(frame).findings[0].id == "server-stuck"


async def test_a_clock_that_is_set_back_leaves_no_time_running_backwards():
    up = [0.0]
    async with Live(uptime=lambda: up[0]) as live:
        frame = await live.run(30)
        before = len(frame.timeline)
        assert before
        live.clock.at -= 3_600
        for sleeper in list(live.clock.sleepers):
            live.clock.sleepers.remove(sleeper)
            live.clock.sleepers.append((sleeper[0] - 3_600, *sleeper[1:]))
        frame = await live.run(10)
        assert "clock" in kinds(frame)
        times = list(frame.timeline.column("at"))
        assert times == sorted(times)
        assert len(times) < before
        header, page = await shown(frame)
        assert "▲ " in header
        assert "clock was set back by 60 min" in page
        assert frame.now - times[-1] < 5


async def test_a_machine_that_slept():
    up = [0.0]
    async with Live(uptime=lambda: up[0]) as live:
        await live.run(30)
        live.clock.at += 7_200
        up[0] += 7_200
        frame = await live.run(5)
        assert kinds(frame) == ["suspended"]
        header, page = await shown(frame)
        assert "▲ was suspended until 02:1" in header
        assert "stood still for 2.0 h" in page
        assert analyse(frame).findings[0].id != "server-stuck"


@pytest.mark.parametrize(
    ("gone", "lived", "kind", "words"),
    [
        (1.0, 1.0, None, ""),
        (4.9, 4.9, None, ""),
        (0.2, 1.0, None, ""),
        (-2_000.0, 1.0, "clock", "back by 33 min"),
        (3_601.0, 1.0, "clock", "forward by 60 min"),
        (3_601.0, 3_601.0, "suspended", "stood still for 60 min"),
        (61.0, None, "clock", "slept, or its clock was set forward by 60 s"),
    ],
)
def test_kinds_of_jumps(gone, lived, kind, words):
    found = jump(gone, lived)
    assert (found is None) is (kind is None)
    if found is not None:
        assert found[0] == kind
        assert words in found[1]
