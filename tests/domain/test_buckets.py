from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain import buckets
from kvtui.domain.buckets import (
    FARTHEST,
    Axis,
    axis,
    bridged,
    bucket,
    is_usable,
    newest_before,
    over_ranks,
    reach,
    runs,
    stacked,
    window,
    within,
)
from kvtui.domain.samples import DECODE, SampleStore

ANY = st.floats(allow_nan=True, allow_infinity=True)


def store(*rows):
    made = SampleStore()
    for row in rows:
        made.append({"kind": DECODE, "dp": 0, "pp": 0, **row})
    return made.view()


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-1e6, 1e6)), min_size=1, max_size=60), st.integers(1, 40))
def test_minima_and_maxima_survive(points, columns):
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    made = bucket(xs, ys, 0, 100, columns)
    assert len(made.low) == columns
    assert sum(made.count) == len(points)
    assert min(v for v in made.low if not math.isnan(v)) == min(ys)
    assert max(v for v in made.high if not math.isnan(v)) == max(ys)
    drawn = [point for run in runs(made, math.inf) for point in run]
    assert set(drawn) <= set(points)
    assert {min(ys), max(ys)} <= {y for _, y in drawn}
    assert math.fsum(made.total) == pytest.approx(math.fsum(ys), abs=1e-3)


@given(st.lists(st.tuples(ANY, ANY), max_size=40), st.integers(1, 30), st.floats(0, 50))
def test_runs_are_finite_ordered_and_never_join_a_gap(points, columns, gap):
    made = bucket([p[0] for p in points], [p[1] for p in points], 0, 100, columns)
    found = runs(made, gap)
    for run in found:
        assert run
        assert all(abs(x) <= FARTHEST and abs(y) <= FARTHEST for x, y in run)
        assert all(b[0] - a[0] <= gap for a, b in itertools.pairwise(run))
    flat = [x for run in found for x, _ in run]
    assert flat == sorted(flat)


def test_a_stretch_without_samples_stays_a_gap():
    made = bucket([0, 1, 2, 50, 51], [1, 2, 3, 4, 5], 0, 60, 30)
    assert [len(run) for run in runs(made, 10)] == [3, 2]
    held = bridged(made, 10)
    assert math.isnan(held[10])
    assert not math.isnan(held[0])


def test_a_hole_between_two_close_samples_is_bridged():
    held = bridged(bucket([0, 9], [5, 7], 0, 10, 10), 15)
    assert held == (5,) * 9 + (7,)


@pytest.mark.parametrize(("start", "stop", "columns"), [(0, 0, 4), (1, 0, 4), (0, 1, 0), (0, math.inf, 3), (math.nan, 1, 3)])
def test_a_stretch_that_is_none_is_refused(start, stop, columns):
    with pytest.raises(ValueError, match="at least one column"):
        bucket([], [], start, stop, columns)


def test_ranks_are_added_up_and_a_silent_one_is_dropped():
    told = store(
        {"at": 0, "running": 3, "dp": 0},
        {"at": 1, "running": 5, "dp": 1},
        {"at": 2, "running": 4, "dp": 0},
        {"at": 99, "running": 2, "dp": 0},
    )
    places = axis(told)
    assert over_ranks(told, places, "running", 10) == ([0, 1, 2, 99], [3, 8, 9, 2])
    assert over_ranks(told, places, "running", 10, "max")[1] == [3, 5, 5, 2]
    assert over_ranks(told, places, "running", 10, "mean")[1] == [3, 4, 4.5, 2]


def test_what_ranks_say_at_one_moment_is_one_point():
    lines = [{"at": at, "running": 10 * at + dp, "dp": dp} for at in (1, 2) for dp in range(3)]
    told = store(*lines)
    assert over_ranks(told, axis(told), "running", 10) == ([1, 2], [33, 63])
    # A rank that speaks twice in a second has two values, and neither is lost.
    told = store(*lines, {"at": 2, "running": 5, "dp": 0}, {"at": 2, "running": 90, "dp": 0}, {"at": 3, "running": 1, "dp": 0})
    assert over_ranks(told, axis(told), "running", 10) == ([1, 2, 2, 2, 3], [33, 63, 48, 133, 44])


def test_times_that_go_back_leave_no_rank_out():
    told = store({"at": 5, "running": 1, "dp": 0}, {"at": 4, "running": 2, "dp": 1}, {"at": 6, "running": 4, "dp": 0})
    assert over_ranks(told, axis(told), "running", 10) == ([5, 4, 6], [1, 3, 6])


def test_pipeline_stages_are_counted_once():
    told = store({"at": 0, "running": 3, "pp": 0}, {"at": 0, "running": 3, "pp": 1})
    assert over_ranks(told, axis(told), "running", 10) == ([0], [3])


def test_a_log_without_times_is_ordered_by_line_and_has_no_gaps():
    told = store({"line": 10, "running": 1}, {"line": 5_000, "running": 2})
    places = axis(told)
    assert places.kind == "line"
    assert reach(places) == math.inf
    assert window(places, None, None, 10, growing=False) == (10, 5_000)


def test_reach_follows_the_usual_spacing():
    assert reach(Axis("time", [0, 2, 4, 6])) == 15
    assert reach(Axis("time", [0, 60, 120, 600])) == 360


def test_a_growing_window_moves_by_whole_columns():
    def shown(last):
        return window(Axis("time", [0, last]), 600, None, 60, growing=True)

    assert shown(1_001) == shown(1_009) == (400, 1_000)
    assert shown(1_010) == (410, 1_010)


def test_narrow_columns_come_several_at_a_time():
    """Each is a chart drawn anew; a chart that is nearly empty fills at once."""

    def moves(begin, end):
        shown = [window(Axis("time", [0, last / 10]), 600, None, 60, growing=True) for last in range(10 * begin, 10 * end)]
        return [after[1] - before[1] for before, after in itertools.pairwise(shown) if after != before]

    assert set(moves(1, 15)) == {1.0}
    assert set(moves(16, 59)) == {5.0}
    assert min(moves(61, 119)) >= 5.0


def test_a_growing_window_of_everything_moves_by_whole_columns():
    def shown(last):
        return window(Axis("time", [3, last]), None, None, 60, growing=True)

    assert shown(1_001) == shown(1_007) == (0, 992)
    assert shown(1_025) == (0, 1_024)


def test_a_finished_window_ends_with_its_last_sample():
    assert window(Axis("time", [0, 1_001]), 600, None, 60, growing=False) == (401, 1_001)
    assert window(Axis("time", [7, 7]), 600, None, 60, growing=False) == (7, 8)
    assert window(Axis("time", [math.nan]), 600, None, 60, growing=False) is None


def test_within_keeps_only_what_is_shown():
    told = store(*({"at": t, "running": t} for t in range(10)))
    part, places = within(told, axis(told), 3, 6)
    assert list(part.column("running")) == [3, 4, 5, 6] == list(places.at)
    assert len(within(told, axis(told), 50, 60)[0]) == 0


def test_newest_before_a_moment():
    assert newest_before([1, 2, 3], [7, math.nan, 9], 2.5) == (1, 7)
    assert newest_before([1], [7], 0) is None


def test_stacked_holds_the_newest_of_what_is_above():
    assert stacked(([1, 2, 3], [10, 10, 20]), ([1, 3], [5, 6])) == ([1, 2, 3], [15, 15, 26])
    assert stacked(([1], [10]), ([], [])) == ([], [])


POINTS = st.lists(st.tuples(st.one_of(st.integers(-5, 105), st.floats()), st.one_of(st.integers(-5, 5), st.floats())), max_size=40)


@given(POINTS, st.booleans())
def test_points_in_order_are_found_as_those_in_none(points, in_order):
    points = sorted(points, key=lambda point: point[0]) if in_order else points
    xs, ys = [x for x, _ in points], [y for _, y in points]
    one_by_one = [(x, y) for x, y in points if 0 <= x <= 100 and is_usable(x, y)]
    places, values = buckets._inside(xs, ys, 0, 100)
    assert list(zip(places, values, strict=True)) == sorted(one_by_one, key=lambda point: point[0])


def test_a_column_that_no_sample_tells_has_no_points():
    timeline = store({"at": 1.0, "running": 4.0})
    places = Axis("time", timeline.column("at"))
    assert over_ranks(timeline, places, "swa_usage", 15.0) == ([], [])
    assert over_ranks(timeline, places, "running", 15.0) == ([1.0], [4.0])
