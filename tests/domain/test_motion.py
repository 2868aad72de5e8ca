"""Frozen gauges, frozen loads, a stuck server, and an idle one that is neither."""

import pytest
from metric_pages import load, rank_labels, scrape, series

from kvtui.domain.motion import MotionWatch
from kvtui.parse.loads import read_loads


def page(at, *, running=4, queued=0, used=100, decode=0, active=0):
    lines = load(running=running, queued=queued, used=used)
    lines += [
        series("realtime_tokens_total", decode, mode="decode", **rank_labels()),
        series("http_requests_active", active, endpoint="/generate"),
    ]
    return scrape(lines, at)


def loads(at, stamp, running=4):
    return read_loads({"loads": [{"timestamp": stamp, "dp_rank": 0, "num_running_reqs": running}]}, at)


def play(seconds, pages=None, answers=None):
    watch = MotionWatch()
    for at in range(seconds):
        if pages:
            watch.page(pages(at))
        if answers:
            watch.loads(answers(at))
    return watch.judge()


def test_nothing_read_is_unknown():
    assert MotionWatch().judge().state == "unknown"


def test_a_working_server_moves():
    assert play(40, lambda t: page(t, used=t, decode=t)).state == "moving"


def test_an_idle_server_is_not_frozen():
    got = play(100, lambda t: page(t, running=0), lambda t: loads(t, 100 + t, running=0))
    assert (got.state, got.reason) == ("idle", "")


def test_gauges_that_stand_while_counters_move_are_old():
    got = play(30, lambda t: page(t, decode=t))
    assert got.state == "gauges-frozen"
    assert "29 s" in got.reason
    assert got.gauges_at == 0


def test_gauges_that_stand_while_loads_move_are_old():
    assert play(30, page, lambda t: loads(t, 100 + t)).state == "gauges-frozen"


def test_loads_that_stand_while_gauges_move_are_old():
    assert play(30, lambda t: page(t, used=t), lambda t: loads(t, 5.0)).state == "loads-frozen"


def test_loads_that_are_asked_once_a_minute_say_nothing_of_motion():
    watch = MotionWatch()
    for at in range(100):
        watch.page(page(at, used=at))
        if at % 60 == 0:
            watch.loads(loads(at, 5.0))
    assert watch.judge().state == "moving"


@pytest.mark.parametrize(
    ("seconds", "more", "state"),
    [
        (10, {}, "moving"),
        (20, {}, "still"),
        (40, {}, "stuck"),
        (20, {"queued": 5}, "stuck"),
        (20, {"active": 3}, "stuck"),
    ],
)
def test_a_busy_server_on_which_nothing_moves(seconds, more, state):
    assert play(seconds, lambda t: page(t, **more)).state == state


def test_without_a_page_loads_alone_tell():
    assert play(30, None, lambda t: loads(t, 100 + t)).state == "moving"


def test_an_idle_scheduler_that_stops_writing_its_stamp_hangs():
    got = play(20, lambda t: page(t, running=0), lambda t: loads(t, 5.0, running=0))
    assert got.state == "stuck"
    assert "/v1/loads" in got.reason
