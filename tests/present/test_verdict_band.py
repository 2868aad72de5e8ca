"""The verdicts over time above the charts, on the page of why, in the report, and in the strip of a scrubbed screen."""

from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.periods import Period
from kvtui.present.line import cells, line_cells, plain
from kvtui.present.periods import SHOWN, lines, sentence, sign, times
from kvtui.present.report_doc import document
from kvtui.present.report_json import report_json
from kvtui.present.report_text import report_text
from kvtui.present.state import ViewState
from kvtui.present.timeline import timeline_model
from kvtui.present.verdict import strip
from kvtui.present.verdict_band import band
from kvtui.present.why import why

T = b.NOW - 600
CLIENT, KV = sign("client", "high")[0], sign("kv-capacity", "medium")[0]
PERIODS = (
    Period(T, T + 200, "client", "The clients send too little", "high"),
    Period(T + 200, T + 400, "healthy", "Nothing limits this server", "high"),
    Period(T + 450, None, "kv-capacity", "KV capacity limits concurrency", "medium", "cuda-graph", "The batch outgrew the graphs", "low"),
)


def past(**changes):
    return b.founding(periods=PERIODS, **changes)


def test_each_period_has_its_sign_and_its_word_under_its_time():
    told = band(PERIODS, (T, T + 600), 61, None, 6)
    legend, main, step = (plain(line) for line in told)
    assert legend.startswith(f"verdict  {KV} KV capacity limits concurrency since 14:09; before, 14:")
    wide = plain(band(PERIODS, (T, T + 600), 121, None, 6)[0])
    assert wide.endswith("since 14:09; before, 14:05–14:08: ✓ Nothing limits this server")
    assert main == f" main│{CLIENT} client ━━━━━━━━━━━✓ healthy ━━━━━━━━━━━    {KV} kv-capacity ━━"
    assert step == " step│" + " " * 45 + "? cuda-graph ━━━"
    assert {line_cells(line) for line in told[1:]} == {67}


def test_a_long_word_gives_way_to_a_short_one_and_that_to_the_sign():
    assert "✓ Nothing limits this server ━" in plain(band(PERIODS, (T, T + 600), 181, None, 6)[1])
    assert "✓ healt… " in plain(band(PERIODS, (T, T + 600), 25, None, 6)[1])
    assert plain(band(PERIODS, (T, T + 600), 13, None, 6)[1])[6:] == f"{CLIENT}━━━✓━━━━{KV}━━━"


def test_the_verdict_under_the_cursor_is_named():
    legend, main, _ = band(PERIODS, (T, T + 600), 61, T + 300, 6)
    assert "✓ Nothing limits this server 14:05–14:08" in plain(legend)
    assert plain(main)[6 + 30] == "│"
    assert "no samples there" in plain(band(PERIODS, (T, T + 600), 61, T + 425, 6)[0])


@pytest.mark.parametrize("size", [(116, 36), (76, 20), (40, 9), (40, 8), (5, 3), (1, 1)])
@pytest.mark.parametrize("cursor", [None, T + 300])
def test_the_band_takes_rows_from_the_charts_and_stands_on_their_axis(size, cursor):
    model = timeline_model(ViewState(past(), cursor=cursor), *size, 600.0)
    assert len(model.band) + sum(1 + strip.rows for strip in model.strips) == size[1]
    assert all(line_cells(line) <= size[0] for line in model.band)
    assert bool(model.band) == (size[1] > 7)


def test_a_name_that_would_break_the_screen_does_not_break_the_band():
    evil = "[red]\x1b[2J\u202e\n" + "漢" * 90
    told = band((Period(T, None, "client", evil, "high"),), (T, T + 600), 61, None, 6)
    assert all(line_cells(line) <= 67 for line in told)
    assert "\x1b" not in plain(told[1]) + plain(told[0])


def test_why_says_since_when_and_what_was_before():
    page = "\n".join(plain(line) for line in why(ViewState(past()), 200))
    assert "; before: Nothing limits this server 14:05–14:08" in page
    assert page.count("Nothing limits this server") == 2
    assert "Verdicts over time" not in "\n".join(plain(line) for line in why(ViewState(b.founding()), 100))


def test_the_report_tells_the_periods():
    told = report_json(past())["history"]
    assert [(entry["id"], entry["step"]) for entry in told] == [("client", None), ("healthy", None), ("kv-capacity", "cuda-graph")]
    assert told[-1]["until"] is None
    assert told[1]["from"] == told[0]["until"] == "2025-11-29 14:05:20"
    assert "Over time: client" in report_text(document(past(), "server.log"))
    assert "Over time" not in report_text(document(b.founding(), "server.log"))


def test_a_long_history_is_cut_at_its_old_end():
    many = tuple(Period(T + 10 * i, T + 10 * (i + 1), "client" if i % 2 else "healthy", "x", "high") for i in range(40))
    assert sentence(many).startswith("Over time: 28 earlier; ")
    assert len(lines(many)) == SHOWN
    days = (PERIODS[0], replace(PERIODS[1], begin=T + 90_000, end=T + 99_000))
    assert "2025-11-29 1" in sentence(days)


def test_a_period_inside_one_minute_is_told_with_seconds():
    short = Period(T + 5, T + 30, "client", "x", "high")
    assert times(short) == "14:02:05–14:02:30"
    assert times(short, dated=True) == "2025-11-29 14:02:05–14:02:30"
    assert times(replace(short, end=None)) == "since 14:02"


def shown(state, width=100, rows=4):
    return [plain(line) for line in strip(state, width, rows).lines]


def test_a_scrubbed_strip_says_what_is_of_now_and_what_was_then():
    now, then, *rest = shown(ViewState(past(), cursor=T + 300))
    assert now.startswith("▌✖ now: KV capacity limits concurrency")
    assert now.rstrip().endswith("⏎ why")
    assert "✓ Nothing limits this server 14:05–14:08" in then
    assert then.startswith("▌  at 14:")
    assert len(rest) == len(shown(ViewState(past()))) - 2
    assert all("now:" in line for line in rest if line.strip("▌ "))
    assert rest[0].startswith("▌  now: ")
    assert not any("now:" in line for line in shown(ViewState(past())))
    for width in (60, 78, 100, 140):
        assert all(cells(line) <= width and "…" not in line for line in shown(ViewState(past(), cursor=T + 300), width))


def test_a_scrubbed_strip_of_two_rows_keeps_two():
    assert len(shown(ViewState(past(), cursor=T + 300), rows=2)) == len(shown(ViewState(past()), rows=2))
    assert "Nothing limits this server" in shown(ViewState(past(), cursor=T + 300), rows=2)[1]


def test_a_strip_that_does_not_know_the_past_says_so():
    assert "not known" in shown(ViewState(b.founding(), cursor=T + 300))[1]
    assert "no samples then" in shown(ViewState(past(), cursor=T + 425))[1]
    nothing = shown(ViewState(b.founding(findings=()), cursor=T + 300))
    assert nothing[0] == "▌– now: What limits concurrency: not judged from what was read"
