"""The columns of a history: what is never told takes no room, and a view stays what it was."""

import math

from kvtui.domain.samples import COLUMNS, DECODE, SampleStore


def nan(values):
    return [value for value in values if not math.isnan(value)] == []


def test_a_column_takes_no_room_before_its_first_value():
    store = SampleStore()
    store.extend([{"at": float(second), "kind": DECODE} for second in range(1_000)])
    timeline = store.view()
    assert sum(len(column) for column in timeline.columns) == 2_000
    assert nan(timeline.column("usage"))
    assert len(timeline.column("usage")) == 1_000
    assert math.isnan(timeline.value("usage", -1))
    assert timeline.last("usage") is None


def test_a_view_does_not_see_a_column_that_begins_later():
    store = SampleStore()
    store.append({"at": 1.0})
    store.append({"at": 2.0})
    before = store.view()
    store.append({"at": 3.0, "usage": 0.5})
    after = store.view()
    assert nan(before.column("usage"))
    assert len(before) == 2
    assert nan(after.column("usage")[:2])
    assert after.column("usage")[2] == 0.5
    assert after.last("usage") == (0.5, 3.0)
    assert after.slice(1, 3).value("usage", 1) == 0.5


def test_keeping_some_samples_leaves_views_alone():
    store = SampleStore()
    store.extend([{"at": float(second), "running": second} for second in range(10)])
    before = store.view()
    store.keep([1, 4, 9])
    store.append({"at": 10.0, "running": 10, "queued": 1})
    assert list(store.view().column("running")) == [1, 4, 9, 10]
    assert store.view().value("queued", -1) == 1
    assert list(before.column("running")) == list(range(10))


def test_samples_without_a_time_or_a_line():
    store = SampleStore()
    store.append({"kind": DECODE, "running": 1})
    timeline = store.view()
    assert timeline.span is None
    assert len(timeline.since(5.0)) == 1
    assert len(timeline.between_lines(1, 9)) == 1
    assert list(timeline.where(DECODE)) == [0]
    assert timeline.last("running")[0] == 1
    assert set(COLUMNS) > {"at", "line"}
