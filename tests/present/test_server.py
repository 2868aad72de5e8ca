from __future__ import annotations

import itertools
import math
from dataclasses import replace

import builders
import pytest

from kvtui.domain.admission import Band, Interval
from kvtui.domain.events import Event
from kvtui.domain.reading import Known
from kvtui.domain.samples import DECODE, PREFILL, SampleStore
from kvtui.present.figures import age, figure
from kvtui.present.glyphs import BLOCKS
from kvtui.present.history import put_back
from kvtui.present.line import line_cells, plain
from kvtui.present.plot import Limit, Plot, Series, legend, round_up, spark, x_ticks, y_ticks
from kvtui.present.server import server_model
from kvtui.present.state import ViewState

SOME = Interval(0.1, 0.2, "by hand")
BAND = Band(44.2, 55.8, 2_048, 0.80, 0.86, SOME, SOME, "by hand")


def founding(**changes):
    return builders.founding(band=BAND, **changes)


def rows(model):
    return [plain(row) for row in model.rows]


def timed(*samples, now=None, finished=True, **account):
    store = SampleStore()
    for sample in samples:
        store.append({"kind": DECODE, "dp": 0, "pp": 0, **sample})
    base = founding()
    return replace(
        base,
        frame=replace(base.frame, timeline=store.view(), events=(), now=now, finished=finished),
        account=replace(base.account, **account),
    )


@pytest.mark.parametrize("size", [(57, 12), (76, 14), (96, 22), (30, 5), (9, 2), (1, 1)])
@pytest.mark.parametrize("cursor", [None, builders.NOW - 300, 0.0, math.inf, math.nan])
@pytest.mark.parametrize("make", [founding, builders.bare, builders.hostile])
def test_it_fits(size, cursor, make):
    model = server_model(ViewState(make(), cursor=cursor), *size)
    assert len(model.rows) + model.chart_rows <= size[1]
    assert all(line_cells(row) <= size[0] for row in model.rows)


def test_founding_case_in_a_quarter_of_the_screen():
    shown = rows(server_model(ViewState(founding()), 57, 12))
    assert "52" in shown[0]
    assert "cap 2,048 · ▲admits 44–55" in shown[0]
    assert "97" in shown[1]
    assert "▲retracted 3" in shown[1]
    assert "0.93" in shown[2]
    assert "ceiling 0.80–0.86" in shown[2]
    assert "tok/s · 15.9 a stream" in shown[3]
    assert "4%" in shown[4]
    assert "in 900" in shown[4]


def test_each_signal_has_its_row_where_there_is_room():
    labels = [row[:9].strip() for row in rows(server_model(ViewState(founding()), 76, 14))[:7]]
    assert labels == ["running", "queued", "KV usage", "generate", "prefill", "cache hit", "retracted"]


def test_the_limit_that_is_touched_is_marked():
    free = timed({"at": 1, "running": 10, "queued": 0}, {"at": 2, "running": 10, "queued": 0})
    assert "▲" not in rows(server_model(ViewState(free), 57, 12))[0]
    at_cap = timed({"at": 1, "running": 32, "queued": 4}, running_cap=Known(32))
    assert "▲at the cap 32" in rows(server_model(ViewState(at_cap), 57, 12))[0]
    at_band = timed({"at": 1, "running": 45, "queued": 4})
    assert "▲admits 44–55" in rows(server_model(ViewState(at_band), 57, 12))[0]


def test_a_band_given_by_the_caller_stands_in():
    analysis = replace(founding(), band=None)
    assert "admits 40–50" in rows(server_model(ViewState(analysis), 57, 12, (40.9, 50.2)))[0]
    assert "admits" not in rows(server_model(ViewState(analysis), 57, 12))[0]


def test_values_are_those_at_the_cursor():
    analysis = timed({"at": 0, "running": 5, "queued": 0}, {"at": 100, "running": 9, "queued": 1}, {"at": 110, "running": 20, "queued": 3})
    at = server_model(ViewState(analysis, cursor=107), 57, 12)
    assert " 9 " in at.rows[0][1].text + " "
    assert rows(at)[0].endswith(" 7s")
    assert "00:01:47" in plain(at.note)
    assert at.plot.cursor == 107
    assert server_model(ViewState(analysis), 57, 12).rows[0][1].text.strip() == "20"


def test_the_window_follows_a_cursor_far_back():
    analysis = timed(*({"at": float(t), "running": t // 100, "queued": 0} for t in range(0, 7_200, 10)))
    model = server_model(ViewState(analysis, cursor=1_000), 57, 12)
    assert model.plot.x0 <= 1_000 <= model.plot.x1
    assert model.plot.x1 - model.plot.x0 == pytest.approx(600)
    assert model.rows[0][1].text.strip() == "10"


def test_an_old_value_is_marked_as_old():
    analysis = timed({"at": 0, "running": 5, "gen_tput": 70}, *({"at": float(t), "running": 5} for t in range(0, 400, 2)))
    generate = server_model(ViewState(analysis), 57, 12).rows[3]
    assert (generate[-1].text.strip(), generate[-1].tone) == ("6m", "warn")
    assert generate[1].tone == "dim"


def test_what_the_log_does_not_say_is_a_dash_with_a_reason():
    shown = rows(server_model(ViewState(timed({"at": 1, "running": 3})), 57, 12))
    assert "–" in shown[1]
    assert "not in this stretch" in shown[1]
    assert "no batch line yet" in rows(server_model(ViewState(builders.bare()), 60, 12))[0]


def test_the_chart_changes_only_when_a_column_is_complete():
    samples = [{"at": float(t), "running": 5 + t % 3, "queued": 0} for t in range(1_200)]

    def plot(count):
        return server_model(ViewState(timed(*samples[:count], now=float(count - 1), finished=False)), 57, 12).plot

    plots = [plot(n) for n in range(1_150, 1_190)]
    changes = sum(a != b for a, b in itertools.pairwise(plots))
    assert 3 <= changes <= 5, "a column of 51 over 600 s is 11.8 s"


def test_data_parallel_ranks_are_added_and_so_are_their_limits():
    analysis = timed({"at": 1, "running": 45, "queued": 1, "dp": 0}, {"at": 1.5, "running": 46, "queued": 2, "dp": 1})
    model = server_model(ViewState(analysis), 60, 12)
    assert model.rows[0][1].text.strip() == "91"
    assert "cap 4,096 · ▲admits 88–111" in rows(model)[0]
    assert "2 DP ranks" in plain(model.heading)


def test_a_log_without_times_counts_lines():
    analysis = timed({"line": 100, "running": 4, "queued": 0}, {"line": 900, "running": 6, "queued": 2})
    model = server_model(ViewState(analysis), 57, 12)
    assert (model.plot.x0, model.plot.x1) == (100, 900)
    assert any("line" in tick.text for tick in model.plot.x_ticks)
    assert "800 lines" in plain(model.heading)


def test_tokens_a_stream_are_of_one_decode_line():
    analysis = timed(
        {"at": 1, "running": 10, "gen_tput": 200.0}, {"at": 2, "running": 1, "kind": PREFILL, "new_token": 5, "cached_token": 0}
    )
    assert "20 a stream" in rows(server_model(ViewState(analysis), 57, 12))[3]


def test_a_window_begins_where_the_load_begins():
    analysis = timed({"at": 0, "running": 0}, *({"at": 1_000.0 + t, "running": 5} for t in range(0, 200, 2)))
    plot = server_model(ViewState(analysis), 57, 12).plot
    assert (plot.x0, plot.x1) == (1_000, 1_198)


def test_a_long_queue_does_not_flatten_what_runs():
    model = server_model(ViewState(timed(*({"at": float(t), "running": 50, "queued": 9_000} for t in range(60)))), 96, 22)
    assert model.plot.y1 <= 4.5 * 55.8
    assert "↑ to 9,050" in plain(model.rows[-1])


def test_cache_hit_is_weighted_by_tokens():
    analysis = timed(
        {"at": 1, "running": 1, "kind": PREFILL, "new_token": 100, "cached_token": 900},
        {"at": 2, "running": 1, "kind": PREFILL, "new_token": 1_000, "cached_token": 0},
    )
    assert "45%" in rows(server_model(ViewState(analysis), 57, 12))[4]


def test_retractions_count_requests():
    assert put_back(Event("retract", 0, 1, "", fields={"retracted": 4.0})) == 4
    assert put_back(Event("retract", 0, 1, "", count=2)) == 2
    assert put_back(Event("retract", 0, 1, "", fields={"retracted": math.inf})) == 1


def test_spark():
    assert spark([0, 1, 4, 8, math.nan, math.inf], 8) == "▁▁▄█  "
    assert spark([9, -1], 8) == "█▁"
    assert spark([1], 0) == "▁"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (50, "50"),
        (0.87, "0.87"),
        (4.2, "4.2"),
        (16.7, "16.7"),
        (1_532.4, "1,532"),
        (2.1e7, "21.0M"),
        (3e9, "3.0G"),
        (math.nan, "?"),
        (1e20, "1e+20"),
    ],
)
def test_figures_are_short(value, text):
    assert figure(value) == text


def test_ages_are_short():
    assert [age(s) for s in (5, 59, 60, 7_200, 200_000, math.nan)] == ["5s", "59s", "1m", "2h", "2d", "?"]


def test_what_is_new_is_not_told_to_the_second():
    assert {age(s) for s in (-3, 0, 1.5, 4.99)} == {"<5s"}


def test_ticks_are_round_and_have_room():
    ticks = x_ticks("time", 50_521.0, 51_121.0, 51)
    assert [tick.text for tick in ticks] == ["14:05", "14:10"]
    assert [tick.text for tick in x_ticks("time", 0, 20, 60)] == ["00:00:00", "00:00:05", "00:00:10", "00:00:15", "00:00:20"]
    assert [tick.at for tick in y_ticks(0, 150, 8)] == [0, 50, 100, 150]
    for high in range(3, 16):
        places = [tick.at * (high - 1) / 100 for tick in y_ticks(0, 100, high)]
        assert all(after - before >= 2 for before, after in itertools.pairwise(places)), high
    assert x_ticks("time", 0, 1e14, 20)
    assert [round_up(v) for v in (0, 1, 101, 151, 1_999)] == [1, 1, 120, 160, 2_000]


def test_the_legend_drops_whole_entries():
    plot = Plot(0, 1, 0, 1, series=(Series("running", "kv-used", (), heavy=True), Series("queued", "label", ())))
    assert plain(legend(plot, 12)).strip() == "━ running"
    assert plain(legend(plot, 60)).split() == ["━", "running", "─", "queued"]


def test_the_legend_rather_names_what_is_drawn():
    limits = (Limit("cap 2,048", 2_048, 2_048, "bad"), Limit("admits 3–5", 3, 5))
    plot = Plot(0, 9, 0, 9, series=(Series("running", "kv-used", ()),), limits=limits, since=4)
    assert plain(legend(plot, 70)) == "━ running  ╌ cap 2,048 ↑ above  ░ admits 3–5  ┊ verdict since"
    assert plain(legend(plot, 50)) == "━ running  ░ admits 3–5  ┊ verdict since"


def test_a_legend_of_two_lines_takes_the_place_of_the_blank_row():
    def drawn(width):
        model = server_model(ViewState(founding()), width, 22)
        return [row for row in rows(model)[-2:] if row], model.chart_rows

    (wide, high), (narrow, same) = drawn(96), drawn(60)
    assert "verdict since" in wide[-1]
    assert len(narrow) == 2
    assert "verdict since" in " ".join(narrow)
    assert same >= high


def test_an_empty_queue_does_not_contradict_a_verdict_on_another_queue():
    def queue(*names):
        found = tuple(replace(builders.FINDINGS[0], id=name) for name in names)
        analysis = replace(timed(*({"at": float(t), "running": 3, "queued": 0} for t in range(9))), findings=found)
        return next(row for row in rows(server_model(ViewState(analysis), 96, 22)) if row.startswith("queued"))

    assert "nobody waits" in queue("client")
    assert "none here, but see the verdict" in queue("client", "pd-queue")
    assert "none here, but see the verdict" in queue("grammar")


def test_before_the_first_sample_no_retraction_is_told_of():
    model = server_model(ViewState(timed(*({"at": 1_000.0 + t, "running": 3} for t in range(9)), now=1_008.0, finished=False)), 96, 22)
    running, retracted = (next(row for row in rows(model) if row.startswith(name)) for name in ("running", "retracted"))
    begin = next(i for i, char in enumerate(running) if char in BLOCKS)
    assert begin > 20
    assert next(i for i, char in enumerate(retracted) if char in BLOCKS) in {begin, begin - 1}


def test_a_server_at_rest_generates_nothing_whatever_the_last_line_says():
    load = [{"at": 100.0 + i, "running": 1, "queued": 0, "usage": 0.1, "gen_tput": 39.9} for i in range(10)]
    still = timed(*load, {"at": 130.0, "running": 0, "queued": 0, "usage": 0.0}, now=130.0, finished=False)
    idle = replace(still, findings=(replace(still.findings[0], at_rest=True),))
    (row,) = (row for row in rows(server_model(ViewState(idle), 76, 14)) if row.startswith("generate"))
    assert row.split()[1] == "0"
    assert row.rstrip().endswith("tok/s · last 39.9")
    (row,) = (row for row in rows(server_model(ViewState(still), 76, 14)) if row.startswith("generate"))
    assert row.split()[1] == "39.9"
    (row,) = (row for row in rows(server_model(ViewState(idle, cursor=105.0), 76, 14)) if row.startswith("generate"))
    assert row.split()[1] == "39.9"


def test_a_pool_that_is_nearly_empty_has_a_low_course():
    samples = [{"at": 100.0 + i, "running": 4, "queued": 0, "usage": 1.0, "gen_tput": 400.0, "swa_usage": 0.06} for i in range(60)]
    (row,) = (row for row in rows(server_model(ViewState(timed(*samples)), 76, 20)) if row.startswith("SWA use"))
    assert "▁" in row
    assert "█" not in row
