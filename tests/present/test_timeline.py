from __future__ import annotations

import math
from dataclasses import replace

import builders
import pytest

from kvtui.domain.samples import DECODE, SampleStore
from kvtui.present.line import line_cells, plain
from kvtui.present.state import ViewState
from kvtui.present.timeline import SPANS, timeline_model, zoomed


def names(model):
    return [strip.plot.series[-1].name for strip in model.strips]


@pytest.mark.parametrize("size", [(116, 36), (76, 20), (40, 8), (5, 3), (1, 1)])
@pytest.mark.parametrize("span", [60.0, 600.0, None])
@pytest.mark.parametrize("make", [builders.founding, builders.bare, builders.hostile])
def test_it_fits(size, span, make):
    for cursor in (None, builders.NOW - 200, math.inf):
        model = timeline_model(ViewState(make(), cursor=cursor), *size, span)
        assert sum(1 + strip.rows for strip in model.strips) in ({0, size[1]})
        assert all(line_cells(strip.legend) <= size[0] for strip in model.strips)


def test_every_signal_of_the_server_has_a_chart():
    model = timeline_model(ViewState(builders.founding()), 116, 60, 600.0)
    assert names(model) == ["running", "KV usage", "generate tok/s", "prefill tok/s", "cache hit, % of prompt tokens", "retracted requests"]


def test_charts_without_room_are_reached_by_scrolling():
    shown = timeline_model(ViewState(builders.founding()), 76, 20, 600.0)
    assert names(shown) == ["running", "KV usage"]
    assert "↑↓ 4 more" in plain(shown.note)
    assert names(timeline_model(ViewState(builders.founding()), 76, 20, 600.0, 99)) == [
        "cache hit, % of prompt tokens",
        "retracted requests",
    ]


def test_the_verdict_and_retractions_are_marked():
    plot = timeline_model(ViewState(builders.founding()), 116, 36, 600.0).strips[0].plot
    assert plot.since == builders.NOW - 480
    assert [mark.at for mark in plot.marks] == [builders.NOW - 60]


def test_retractions_are_spikes_of_their_count():
    model = timeline_model(ViewState(builders.founding()), 116, 60, 600.0)
    assert model.strips[-1].plot.series[0].high == 3
    assert model.strips[-1].plot.series[0].runs[0][1] == (builders.NOW - 60, 3.0)


def test_zoom_stops_at_both_ends():
    assert zoomed(600.0, -1) == 300.0
    assert zoomed(SPANS[0], -1) == SPANS[0]
    assert zoomed(None, 1) is None


def test_the_cursor_can_go_to_all_that_was_kept():
    store = SampleStore()
    for t in range(0, 4_000, 10):
        store.append({"at": float(t), "running": 1, "queued": 0, "kind": DECODE, "dp": 0, "pp": 0})
    base = builders.founding()
    analysis = replace(base, frame=replace(base.frame, timeline=store.view(), events=()))
    model = timeline_model(ViewState(analysis), 80, 20, 600.0)
    assert model.ends == (0, 3_990)
    assert (model.cursor, model.length) == (3_990, 600)
    whole = timeline_model(ViewState(analysis), 80, 20, None)
    assert (whole.strips[0].plot.x0, whole.strips[0].plot.x1) == (0, 3_990)
    assert "everything kept" in plain(whole.heading)


def test_values_at_the_cursor_are_said():
    store = SampleStore()
    for t in range(2_000):
        store.append({"at": float(t), "running": t // 10, "queued": 3, "usage": 0.5, "gen_tput": 800, "kind": DECODE, "dp": 0, "pp": 0})
    base = builders.founding()
    analysis = replace(base, frame=replace(base.frame, timeline=store.view(), events=()))
    said = plain(timeline_model(ViewState(analysis, cursor=1_003.5), 140, 20, None).heading)
    assert said.endswith("at 00:16:43  running 100  queued 3  KV usage 0.5  tok/s 800")
    assert "running" not in plain(timeline_model(ViewState(analysis), 100, 20, None).heading)


def test_charts_are_made_again_only_where_more_than_the_cursor_moved():
    analysis = builders.founding()
    first = timeline_model(ViewState(analysis), 80, 20, 600.0)
    scrubbed = timeline_model(ViewState(analysis, cursor=builders.NOW - 100), 80, 20, 600.0, 0, before=first.charts)
    assert scrubbed.charts is first.charts
    assert scrubbed.strips[0].plot.cursor == builders.NOW - 100
    other = replace(analysis, account=replace(analysis.account, running_cap=builders.known(60)))
    assert timeline_model(ViewState(other), 80, 20, 600.0, 0, before=first.charts).charts is not first.charts
    assert timeline_model(ViewState(analysis), 90, 20, 600.0, 0, before=first.charts).charts is not first.charts


@pytest.mark.parametrize("span", [600.0, None])
def test_a_growing_log_makes_charts_once_a_column(span):
    base = builders.founding()
    whole = builders.timeline(300)
    charts, made = None, 0
    for count in range(300, 340):
        timeline = builders.timeline(count).slice(0, count) if count < 300 else whole.slice(0, count - 40)
        analysis = replace(base, frame=replace(base.frame, finished=False, now=timeline.value("at", -1), timeline=timeline))
        model = timeline_model(ViewState(analysis), 100, 20, span, before=charts)
        made += model.charts is not charts
        charts = model.charts
    assert 2 <= made <= 20, "40 samples over 80 s; a column is 6.4 s or 8 s"
