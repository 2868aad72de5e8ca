from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtui.present.cuts import Edge
from kvtui.present.line import line_cells, plain
from kvtui.present.plot import Limit, Mark, Plot, Series, x_ticks, y_ticks
from kvtui.views.widgets import chart as module
from kvtui.views.widgets.chart import GUTTER, chart
from kvtui.views.widgets.gpu_bars import edge_style

ANY = st.floats(allow_nan=True, allow_infinity=True)
POINTS = st.lists(st.tuples(ANY | st.floats(0, 100), ANY | st.floats(0, 100)), max_size=12)


def plot(*ys, y1=100.0, **more):
    run = tuple((float(x), float(y)) for x, y in enumerate(ys))
    return Plot(0.0, max(1.0, len(ys) - 1.0), 0.0, y1, series=(Series("one", "kv-used", (run,)),), y_ticks=y_ticks(0, y1, 8), **more)


def text(drawn):
    return [plain(line) for line in drawn]


def finite_only(made, width, height, marker="braille"):
    """Draws, and checks what plotext was given: it ends the process at the first nan."""
    given_to_plotext = []
    real = module.plt.figure.signal

    def watched(xs, ys, **more):
        assert all(math.isfinite(v) for v in (*xs, *ys))
        given_to_plotext.extend([*xs, *ys])
        return real(xs, ys, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.plt.figure, "signal", watched)
        drawn = chart.__wrapped__(made, width, height, marker)
    assert len(drawn) == max(0, height)
    assert all(line_cells(line) <= max(0, width) for line in drawn)
    return given_to_plotext


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(POINTS, max_size=3), max_size=3), st.integers(-2, 90), st.integers(-2, 24), st.sampled_from(["braille", "hd"]))
@example([[[(1.0, math.nan), (math.nan, 2.0), (2.0, math.inf), (3.0, -math.inf), (4.0, 1e300), (5.0, 5.0)]]], 60, 10, "braille")
def test_only_finite_numbers_are_passed(runs, width, height, marker):
    series = tuple(Series(str(i), "kv-used", tuple(tuple(run) for run in each)) for i, each in enumerate(runs))
    finite_only(
        Plot(0.0, 100.0, 0.0, 100.0, series, x_ticks=x_ticks("time", 0, 100, 60), y_ticks=y_ticks(0, 100, 8)), width, height, marker
    )


def test_points_that_are_numbers_are_all_passed():
    assert finite_only(plot(1.0, math.nan, 3.0), 60, 10) == [0.0, 2.0, 1.0, 3.0]


@settings(max_examples=60, deadline=None)
@given(ANY, ANY, ANY, ANY, ANY, ANY)
def test_no_edge_limit_or_mark_breaks_it(x0, x1, y0, y1, limit, at):
    series = (Series("one", "kv-used", (((0.0, 1.0), (1.0, 2.0)),)),)
    limits = (Limit("band", min(limit, 50.0), limit), Limit("cap", limit, limit))
    for x, y in ((x0, y0), (0.0, 0.0)):
        made = Plot(x, x1, y, y1, series, limits, (Mark(at, "▼", "warn"),), at, limit, x_ticks("time", x, x1, 60), y_ticks(y, y1, 8))
        finite_only(made, 60, 10)


def test_a_value_stands_on_its_row_and_its_label_too():
    drawn = text(chart(plot(*[50.0] * 60), 66, 12))
    rows = [i for i, line in enumerate(drawn) if any("\u2801" <= c <= "\u28ff" for c in line)]
    labelled = [i for i, line in enumerate(drawn) if line.startswith("   50┤")]
    assert len(rows) == 1
    assert abs(rows[0] - labelled[0]) <= 1


def test_rows_agree_with_plotext():
    for rows in (2, 5, 11, 20):
        for value in (0, 3, 17, 31, 44, 69, 88, 99, 100):
            one = plot(*[float(value)] * 60)
            lines = module._plotext(one, 60, rows, "braille").split("\n")
            drawn = [i for i, line in enumerate(lines) if any(c != " " and red == 0 for c, red in module._cells(line))]
            assert drawn == [module._row(one, float(value), rows)], (rows, value)


def test_a_gap_stays_a_gap():
    series = Series("one", "kv-used", (((0.0, 50.0), (10.0, 50.0)), ((90.0, 50.0), (100.0, 50.0))))
    drawn = text(chart(Plot(0.0, 100.0, 0.0, 100.0, (series,)), 106, 6))
    line = next(line for line in drawn if "\u2800" < max(line) <= "\u28ff")
    assert line[GUTTER + 20 : GUTTER + 80].strip() == ""
    assert line[GUTTER : GUTTER + 9].strip()
    assert line[GUTTER + 91 :].strip()


def test_a_band_is_shaded_and_keeps_its_ground_under_a_line():
    drawn = chart(plot(*[50.0] * 60, limits=(Limit("admits", 40.0, 60.0),)), 66, 11)
    shaded = [line for line in drawn if any((span.tone == "warn" and "░" in span.text) or isinstance(span, Edge) for span in line)]
    assert 2 <= len(shaded) <= 4
    over = [span for line in drawn for span in line if isinstance(span, Edge)]
    assert {span.tone for span in over} == {"kv-used", "warn"}
    assert {span.under for span in over} == {"warn"}
    assert all(set(span.text) == {"░"} for span in over if span.tone == "warn")
    # One shade from edge to edge, and no line in it that is no stroke.
    assert {edge_style(span).partition(" on ")[2] for span in over} == {"$severity-warning 25%"}
    assert not any("underline" in edge_style(span, blend=False) for span in over)


def test_marks_and_the_begin_of_a_verdict_do_not_fade_into_a_band():
    drawn = chart(plot(*[10.0] * 60, limits=(Limit("admits", 40.0, 100.0),), marks=(Mark(20.0, "▼", "warn"),), since=30.0), 66, 11)
    over = [span for line in drawn for span in line if isinstance(span, Edge)]
    assert {glyph: edge_style(span).partition(" on ")[0] for span in over for glyph in span.text} == {
        "░": "$severity-warning 25%",
        "▼": "$severity-warning",
        "┊": "$severity-warning",
    }


def test_the_row_of_a_line_has_its_value_at_the_axis():
    def labels(*limits):
        made = replace(plot(*[10.0] * 60, y1=80.0, limits=limits), y_ticks=y_ticks(0, 80, 10))
        drawn = text(chart(made, 66, 11))
        return [line[: GUTTER - 1].strip() for line in drawn if line[: GUTTER - 1].strip()]

    # Ten rows from 0 to 80: 32 and 40 are one row.
    assert "40" in labels()
    assert "32" in labels(Limit("cap 32", 32.0, 32.0, "bad"))
    assert "40" not in labels(Limit("cap 32", 32.0, 32.0, "bad"))
    # The axis begins at 0, whatever lies close to it; a band has no one value.
    assert labels(Limit("a limit", 1.0, 1.0), Limit("admits", 38.0, 42.0)) == labels()
    assert all(len(line) <= 66 for line in text(chart(plot(1.0, y1=20_000.0, limits=(Limit("x", 12_345.0, 12_345.0),)), 66, 11)))


def test_a_heavy_line_is_twice_as_thick():
    def ink(*, heavy):
        drawn = text(
            chart(replace(plot(*[50.0] * 60), series=(Series("running", "kv-used", (((0.0, 50.0), (59.0, 50.0)),), heavy=heavy),)), 66, 11)
        )
        return sum((ord(char) - 0x2800).bit_count() for line in drawn for char in line if "\u2800" <= char <= "\u28ff")

    assert ink(heavy=True) == 2 * ink(heavy=False) > 0


def test_a_cap_is_a_dashed_line_and_one_above_the_chart_is_not_drawn():
    assert any("╌" * 20 in line for line in text(chart(plot(10.0, 20.0, limits=(Limit("cap", 80.0, 80.0, "bad"),)), 60, 8)))
    assert not any("╌" in line for line in text(chart(plot(10.0, 20.0, limits=(Limit("cap", 2_048.0, 2_048.0, "bad"),)), 60, 8)))


def test_cursor_since_and_marks_stand_at_their_moment():
    made = plot(*[10.0] * 101, cursor=50.0, since=25.0, marks=(Mark(75.0, "▼", "warn"),))
    top = text(chart(made, 107, 8))[0]
    assert (top.index("│", GUTTER), top.index("┊"), top.index("▼")) == (GUTTER + 50, GUTTER + 25, GUTTER + 75)


def test_what_is_above_runs_along_the_edge():
    assert any("\u2801" <= c <= "\u28ff" for c in text(chart(plot(900.0, 900.0), 60, 8))[0])


def test_time_labels_stand_under_their_moment():
    made = Plot(0.0, 100.0, 0.0, 1.0, x_ticks=x_ticks("time", 0, 100, 60))
    axis = text(chart(made, 67, 5))[-1]
    assert axis.index("╵00:00:30") == GUTTER + 18
    assert len(axis) == 67


@pytest.mark.parametrize("size", [(0, 0), (5, 3), (GUTTER + 1, 5), (40, 1), (-3, -3)])
def test_no_room_is_blank(size):
    assert set(text(chart(plot(1.0, 2.0), *size))) <= {""}


@pytest.mark.parametrize("height", [6, 7, 8, 9, 12])
def test_what_stays_below_a_level_is_not_drawn_above_it(height):
    low = plot(*[0.86] * 40, y1=1.0, limits=(Limit("full from 0.90", 0.9, 0.9),))
    rows = text(chart(low, 60, height))
    dashed = next(n for n, row in enumerate(rows) if "╌" in row or "0.9" in row)
    stroke = min(n for n, row in enumerate(rows) if any("\u2801" <= c <= "\u28ff" for c in row))
    assert dashed <= stroke


def test_no_round_value_stands_in_the_row_beside_a_level():
    drawn = text(chart(plot(*[27.0] * 40, y1=50.0, limits=(Limit("limit", 35.9, 35.9), Limit("full speed", 21.5, 21.5))), 60, 8))
    labels = [(n, row[: GUTTER - 1].strip()) for n, row in enumerate(drawn) if row[: GUTTER - 1].strip()]
    assert {"35.9", "21.5", "0"} <= {label for _, label in labels}
    assert {label for n, label in labels if any(abs(n - m) == 1 and other in {"35.9", "21.5"} for m, other in labels)} <= {
        "35.9",
        "21.5",
        "0",
    }
