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


def test_gauges_of_an_idle_server_that_begins_to_work_are_not_old():
    """The first decode line comes some steps after the first token."""
    got = play(40, lambda t: page(t, running=0, decode=max(0, t - 37)))
    assert got.state != "gauges-frozen"
    assert play(60, lambda t: page(t, running=0, decode=max(0, t - 37))).state == "gauges-frozen"


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
    ],
)
def test_a_busy_server_on_which_nothing_moves(seconds, more, state):
    assert play(seconds, lambda t: page(t, **more)).state == state


@pytest.mark.parametrize(("active", "state"), [(lambda _: 3, "still"), (lambda t: 3 + t // 10, "stuck"), (lambda t: 3 - t // 10, "still")])
def test_only_requests_that_come_while_nothing_moves_speak_for_a_hang(active, state):
    assert play(20, lambda t: page(t, active=active(t))).state == state


def test_what_is_seen_first_has_not_changed():
    assert play(20, page, lambda t: loads(t, 5.0)).changed_at is None
    assert play(20, lambda t: page(t, decode=t)).changed_at == 19


def test_without_a_page_loads_alone_tell():
    assert play(30, None, lambda t: loads(t, 100 + t)).state == "moving"


def test_an_idle_scheduler_that_stops_writing_its_stamp_hangs():
    got = play(20, lambda t: page(t, running=0), lambda t: loads(t, 5.0, running=0))
    assert got.state == "stuck"
    assert "/v1/loads" in got.reason
