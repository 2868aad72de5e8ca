"""The page of why draws the series that prove each verdict, with the levels that decided it."""

import itertools
import math
import re
from dataclasses import replace
from functools import lru_cache

import builders as b
import pytest
from scenarios.confusion import log_frame, metrics_frame

from kvtui.domain.picture import SIGNALS, Level, Picture
from kvtui.domain.settings import Thresholds
from kvtui.engine.analyse import analyse
from kvtui.present import proof_plots, proof_series
from kvtui.present.copied import pane_text
from kvtui.present.entries import entries, entry_text
from kvtui.present.history import history
from kvtui.present.line import Drawn, line_cells, plain
from kvtui.present.load_plot import load_plot
from kvtui.present.pictures import Pictures, _until
from kvtui.present.plot import legends
from kvtui.present.state import ViewState
from kvtui.present.why import why
from kvtui.scenarios import SCENARIOS, build
from kvtui.views.widgets.chart import chart

WITHOUT = {
    "startup-failure": "there is no load yet; its arithmetic is the proof",
    "not-enough-data": "there is nothing to draw",
    "hardware-fault": "a line of the kernel or the driver is the proof",
    "host-pressure": "no series of the host is kept",
    "clocks": "no series of the clocks is kept",
    "leftover-flags": "settings are no series",
    "measurement": "how it was measured is no series",
}
"""Verdicts that have no picture, and why."""
VIEWS = [(name, view) for name, scenario in SCENARIOS.items() for view in scenario.views]


@lru_cache(maxsize=100)
def analysis_of(name, view):
    incident = build(SCENARIOS[name], "plain")
    return analyse(log_frame(incident) if view == "log" else metrics_frame(incident))


def state_of(name, view="log"):
    analysis = analysis_of(name, view)
    return ViewState(analysis, estimates=analysis.estimates)


def page(state, width=100):
    return why(state, width, Pictures(chart))


def plots_of(name, signal, view="log"):
    """The charts of the first verdict that has such a picture."""
    state = state_of(name, view)
    told = history(state.analysis, None, 600.0, 80)
    pictures = [picture for finding in state.analysis.findings for picture in finding.pictures if picture.signal == signal]
    return proof_plots.proof_plots(pictures[0], state, told, load_plot(state, told, None, 90, 8))


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_every_verdict_has_its_picture_and_every_level_is_named_in_it(name, view):
    state = state_of(name, view)
    for width in (60, 74, 114):
        lines = page(state, width)
        text = " ".join(" ".join(plain(line) for line in lines).split())
        assert all(line_cells(line) <= width for line in lines)
        for number, finding in enumerate(state.analysis.findings):
            assert bool(finding.pictures) != (finding.id in WITHOUT), finding.id
            for picture in finding.pictures[: 2 if number < 2 else 1]:
                assert picture.seen in text, finding.id
                for level in picture.levels:
                    assert f"╌ {level.text}" in text, f"{finding.id}: no {level.text} in the legend at {width}"


def test_every_signal_is_drawn_by_something():
    drawn = {*proof_plots._MADE, *proof_plots._QUEUES, "memory"}
    assert drawn == set(SIGNALS)


def test_without_what_draws_the_page_has_the_words_alone():
    state = state_of("kv-full")
    lines = why(state, 100)
    assert not any(isinstance(line[0], Drawn) for line in lines if line)
    assert "picture" not in "".join(plain(line) for line in lines)


def test_the_level_of_usage_is_the_one_that_the_person_set():
    incident = build(SCENARIOS["kv-full"], "plain")
    analysis = analyse(log_frame(incident), thresholds=Thresholds(usage_full=0.8))
    text = "".join(plain(line) for line in page(ViewState(analysis)))
    assert "full from 0.80" in text


def test_the_chart_reaches_up_to_its_level_and_takes_it_in_place_of_the_cap():
    (plot,) = plots_of("client", "load")
    (level,) = (limit for limit in plot.limits if "would fit" in limit.text)
    assert level.low <= plot.y1
    same = Picture("load", "x", (Level(2_048, "largest"),))
    state = state_of("client")
    told = history(state.analysis, None, 600.0, 80)
    (drawn,) = proof_plots.proof_plots(same, state, told, load_plot(state, told, None, 90, 8))
    assert [limit.text for limit in drawn.limits if limit.low == 2_048] == ["largest"]


def test_a_band_too_wide_to_say_anything_is_left_out():
    state = state_of("client")
    told = history(state.analysis, None, 600.0, 80)
    load = load_plot(state, told, (10.0, 300.0), 90, 8)
    (plot,) = proof_plots.proof_plots(Picture("load", "x"), state, told, load)
    assert all(limit.low == limit.high for limit in plot.limits)


def test_a_band_that_is_not_drawn_takes_no_room():
    state = state_of("giant")
    told = history(state.analysis, None, 600.0, 80)
    load = load_plot(state, told, (9.0, 51.0), 90, 8)
    (plot,) = proof_plots.proof_plots(Picture("load", "x"), state, told, load)
    high = max(one.high for one in plot.series)
    assert load.y1 >= 51
    assert high <= plot.y1 <= 1.3 * high


@pytest.mark.parametrize("name", ["prefill", "radix-off"])
def test_prefill_takes_as_much_in_the_chart_as_in_the_verdict(name):
    state = state_of(name)
    told = history(state.analysis, None, 600.0, 80)
    xs, ys = proof_series.prefill_points(told, state.analysis.workload, 0)
    steps = dict(zip(*proof_series.step_points(told), strict=True))
    took = [steps.get(x, 0.0) for x in xs]
    mean = sum(y * t for y, t in zip(ys, took, strict=True)) / sum(took)
    assert mean == pytest.approx(100 * state.analysis.workload.ranks[0].prefill_share.value, rel=0.1)
    (plot,) = plots_of(name, "prefill-share")
    (level,) = plot.limits
    assert sum(y >= level.low for y in ys) >= 0.8 * len(ys) >= 8


def test_prefill_that_is_not_known_is_not_drawn():
    state = state_of("prefill")
    told = history(state.analysis, None, 600.0, 80)
    assert proof_series.prefill_points(told, None, 0) == ([], [])
    assert proof_series.prefill_points(told, state.analysis.workload, 7) == ([], [])


def test_a_step_is_what_running_requests_and_their_throughput_say():
    state = state_of("bandwidth-bound")
    finding = next(f for f in state.analysis.findings if f.id == "decode-bandwidth")
    (plot,) = plots_of("bandwidth-bound", "step")
    values = sorted(y for run in plot.series[0].runs for _, y in run)
    limits, full = (limit.low for limit in plot.limits)
    # The sentence tells the median step; the highest level is where it would not be a limit any more.
    told = float(finding.sentence.split("A decode step of ")[1].split(" ms")[0])
    assert values[len(values) // 2] == pytest.approx(told, rel=0.2)
    assert full < told < limits


def test_a_step_goes_on_where_decode_lines_hold_prefill():
    (plot,) = plots_of("pcie-allreduce", "step")
    places = [x for run in plot.series[0].runs for x, _ in run]
    assert len(plot.series[0].runs) == 1
    assert (
        max(after - before for before, after in itertools.pairwise(places))
        > history(state_of("pcie-allreduce").analysis, None, 600.0, 80).gap
    )


def test_a_page_as_wide_as_a_large_screen_has_the_taller_charts():
    low, high = (sum(isinstance(line[0], Drawn) for line in page(state_of("cap-set"), width) if line) for width in (90, 103))
    assert high >= low + 6


def test_what_a_verdict_is_about_is_said_in_words():
    text = "\n".join(plain(line) for line in page(state_of("foreign")))
    assert "the server as a whole, confidence" in text
    assert "how many run, confidence" in text


def test_retractions_are_a_rate_over_what_was_watched_counted_once_a_group():
    state = state_of("retraction")
    (plot,) = plots_of("retraction", "retractions")
    events = [e for e in state.analysis.frame.events if e.kind == "retract"]
    first = history(state.analysis, None, 600.0, 80).ends[0]
    points = [point for run in plot.series[0].runs for point in run]
    for x, y in points:
        seen = sum(e.count for e in events if x - 60 < e.at <= x and (e.rank.tp or 0) == 0)
        assert y == pytest.approx(seen * 60 / min(60, max(15, x - first)))
    assert max(y for _, y in points) >= 1


def test_of_retractions_that_were_let_go_nothing_is_drawn(monkeypatch):
    state = state_of("retraction")
    told = history(state.analysis, None, 600.0, 80)
    monkeypatch.setattr(proof_series, "MANY", 1)
    run = proof_series.retractions_a_minute(state.analysis, told)
    assert run[0][0] >= min(e.at for e in state.analysis.frame.events if e.kind == "retract")


def test_a_page_opened_with_the_time_cursor_set_says_what_is_of_now():
    state = state_of("kv-full")
    first = state.analysis.frame.timeline.value("at", 0)
    text = " ".join(plain(line) for line in page(replace(state, cursor=first + 20)))
    assert "What follows is of now" in text
    assert "What follows is of now" not in " ".join(plain(line) for line in page(state))


def test_ranks_are_compared_by_their_own_samples():
    (plot,) = plots_of("dp-uneven", "rank-queues")
    idle, busy = plot.series
    assert (busy.name, idle.name) == ("DP0 waiting", "DP1 waiting")
    assert idle.high == 0
    assert busy.high > 10


def test_a_silence_is_drawn_up_to_now():
    state = state_of("stuck")
    lines = page(state)
    axis = next(plain(line) for line in lines if line and isinstance(line[0], Drawn) and "└" in plain(line))
    curve = [plain(line) for line in lines if line and isinstance(line[0], Drawn)][1:8]
    last = max(line.rstrip("╌ ┊│").rfind(c) for line in curve for c in line if "⠁" <= c <= "⣿")
    assert len(axis) - last > 20


def test_a_fix_that_leaves_no_memory_stands_last():
    analysis = analysis_of("prefill", "log")
    left = {e.id: e.headroom_gib for e in analysis.estimates}
    thin = [left[fix] is not None and left[fix] < 0 for fix in analysis.findings[0].fixes]
    assert any(thin)
    assert thin == sorted(thin)


def test_a_server_at_rest_is_drawn_up_to_now():
    state = state_of("kv-full")
    told = history(state.analysis, None, 600.0, 80)
    load = load_plot(state, told, None, 90, 8)
    later = replace(state, analysis=replace(state.analysis, frame=replace(state.analysis.frame, now=told.stop + 90)))
    rests = replace(state.analysis.findings[0], at_rest=True)
    assert _until(load, rests, later, told).x1 == pytest.approx(told.stop + 90)
    assert _until(load, state.analysis.findings[0], later, told).x1 == told.stop


def test_charts_that_add_up_ranks_say_so():
    texts = {name: "\n".join(plain(line) for line in page(state_of(name))) for name in ("kv-full", "dp-uneven")}
    assert "together" not in texts["kv-full"]
    # Those of uneven ranks name the two that are compared.
    assert "in pictures, 2 ranks together" not in texts["dp-uneven"].split("evidence")[0]
    uneven = state_of("dp-uneven").analysis
    both = replace(uneven, findings=(replace(state_of("kv-full").analysis.findings[0]),))
    assert "in pictures, 2 ranks together" in "\n".join(plain(line) for line in page(ViewState(both)))


def test_a_fix_says_what_it_would_bring_and_is_copied_without_it():
    state = ViewState(b.founding(), estimates=b.estimates())
    lines = why(state, 110)
    told = [entry_text([lines[n] for n in one]) for one in entries(lines)]
    assert "--mem-fraction-static 0.91" in told
    gain = told[told.index("--mem-fraction-static 0.91") + 1]
    assert "tok/s" in gain
    assert "; basis: " in gain
    assert "headroom" in gain
    assert re.search(r"pool [\d,]+ tokens", gain)
    assert re.search(r"\d requests fit", gain)


def test_a_fix_that_cannot_be_estimated_says_why():
    estimates = tuple(replace(e, tok_s=None, tok_s_why="no decode line") for e in b.estimates())
    text = "".join(plain(line) for line in why(ViewState(b.founding(), estimates=estimates), 110))
    assert "gain not estimated: no decode line" in text


def test_gains_of_a_stated_load_are_not_set_against_today():
    state = state_of("kv-full")
    assert "tok/s (+" in "".join(plain(line) for line in why(state, 110))
    stated = replace(state, stated=object())
    assert "tok/s (" not in "".join(plain(line) for line in why(stated, 110))


def test_a_page_is_copied_without_what_is_drawn():
    text = pane_text("Why", page(state_of("kv-full")))
    assert not any("⠀" < char <= "⣿" for char in text)
    assert "╌" not in text
    assert "Running stays at what admission holds" in text


def test_no_entry_of_a_page_holds_a_chart():
    lines = page(state_of("kv-full"))
    for one in entries(lines):
        assert not any(isinstance(lines[n][0], Drawn) for n in one)


def test_a_legend_in_several_lines_cuts_no_entry():
    (plot,) = plots_of("client", "load")
    whole = "  ".join(plain(line) for line in legends(plot, 1_000))
    for width in (30, 40, 60):
        lines = legends(plot, width)
        assert all(line_cells(line) <= width for line in lines)
        assert "  ".join(plain(line) for line in lines) == whole


def test_hostile_samples_draw_or_are_left_out():
    analysis = b.hostile()
    pictures = tuple(Picture(signal, "look", (Level(math.inf, "never"), Level(math.nan, "none")), (0, 1)) for signal in SIGNALS)
    findings = tuple(replace(finding, pictures=pictures) for finding in b.founding().findings)
    for one in (replace(analysis, findings=findings), replace(b.founding(), findings=findings), replace(b.bare(), findings=findings)):
        for width in (20, 60, 110):
            assert all(line_cells(line) <= width for line in page(ViewState(one), width))
