"""Header, verdict strip, tabs and footer."""

from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.frame import SourceHealth
from kvtui.domain.reading import Known
from kvtui.present.frame_bars import footer, tabs
from kvtui.present.header import header
from kvtui.present.line import line_cells, plain
from kvtui.present.state import ViewState
from kvtui.present.verdict import strip


def strip_text(state, width=120):
    return [plain(line) for line in strip(state, width).lines]


def test_header_names_the_server():
    assert " Kimi-K2.5 · SGLang 0.5.9 · TP8 · MLA · KV bfloat16 · boot 2 of 2 " in plain(header(ViewState(b.founding()), 120))


def test_header_names_the_class_of_a_model_without_a_name():
    poor = b.bare()
    identity = replace(poor.account.identity, architecture=Known("KimiK25ForConditionalGeneration"))
    line = plain(header(ViewState(replace(poor, account=replace(poor.account, identity=identity))), 120))
    assert "KimiK25ForConditionalGeneration · SGLang" in line
    assert "model unknown" not in line


def test_header_says_what_is_unknown_and_what_failed():
    dead = SourceHealth("log", "x.log", "failed", reason="permission denied")
    poor = b.bare()
    line = plain(header(ViewState(replace(poor, frame=replace(poor.frame, sources=(dead,)))), 120))
    assert "model unknown" in line
    assert "SGLang of unknown version" in line
    assert "✖ log failed" in line


def several(*told, now):
    sources = tuple(SourceHealth(name, "", state, last_at=at) for name, state, at in told)
    poor = b.founding()
    return plain(header(ViewState(replace(poor, frame=replace(poor.frame, sources=sources, now=now))), 120))


def test_a_server_that_hangs_is_not_live_and_its_time_does_not_go_back():
    rest = (("server_info", "live", b.NOW - 40), ("loads", "live", b.NOW - 5), ("host", "live", b.NOW + 60))
    assert "● live 14:12:00" in several(("metrics", "live", b.NOW), *rest, now=b.NOW + 1)
    assert "● live 14:12:00  ✖ metrics" in several(("metrics", "failed", b.NOW), *rest, now=b.NOW + 8)
    assert "▲ newest 14:12:00, 31s ago  ✖ metrics" in several(("metrics", "failed", b.NOW), *rest, now=b.NOW + 31)


def test_a_log_that_ended_is_as_old_as_it_is():
    told = (("log", "ended", b.NOW), ("nvml", "failed", None), ("host", "failed", None))
    assert "● ended 2025-11-29 14:12:00" in several(*told, now=b.NOW + 3_600)


def test_header_says_that_it_is_paused():
    assert "paused at 14:12:00" in plain(header(ViewState(b.founding(), paused_at=b.NOW), 120))


def test_the_strip_tells_the_first_verdict_its_proof_and_the_step():
    lines = strip_text(ViewState(b.founding()))
    assert len(lines) == 3
    assert lines[0].startswith("▌✖ KV capacity limits concurrency")
    assert lines[0].rstrip().endswith("since 14:04  ⏎ why")
    assert lines[1].startswith("▌  50 run, 97 wait")
    assert lines[2].startswith("▌▲ All-reduce over PCIe limits the step")


def test_a_step_that_was_found_first_leads_with_its_proof():
    client = replace(b.FINDINGS[0], id="client", title="The clients send too little", sentence="Nothing waits.")
    step = replace(b.FINDINGS[1], title="Clocks are held down", sentence="GPU 2 is slow.")
    lines = strip_text(ViewState(b.founding(findings=(step, client))))
    assert lines[0].startswith("▌▲ Clocks are held down")
    assert lines[1].startswith("▌  GPU 2 is slow.")
    assert lines[2].startswith("▌○ The clients send too little  Nothing waits.")
    assert [line[:24].strip() for line in strip_text(ViewState(b.founding(findings=(step,))))][2].startswith("▌– What limits concurr")


def test_a_long_proof_wraps_into_the_rows_it_has():
    finding = replace(b.FINDINGS[0], sentence="word " * 25)
    state = ViewState(b.founding(findings=(finding,)))
    assert strip_text(state, 80)[1].endswith("…")
    two = [plain(line).rstrip() for line in strip(state, 80, 4).lines]
    assert (two[1] + two[2]).count("word") == 25


def test_the_step_takes_the_rows_that_the_first_verdict_does_not_need():
    step = replace(b.FINDINGS[1], sentence="First clause of it, a second one that is longer than the first: and the end.")
    short = replace(b.FINDINGS[0], sentence="50 run.")
    lines = [plain(line).rstrip() for line in strip(ViewState(b.founding(findings=(short, step))), 80, 4).lines]
    assert lines[1] == "▌  50 run."
    assert " ".join((lines[2] + lines[3].removeprefix("▌ ")).split()).endswith("longer than the first: and the end.")
    long = replace(b.FINDINGS[0], sentence="word " * 25)
    lines = [plain(line).rstrip() for line in strip(ViewState(b.founding(findings=(long, step))), 80, 4).lines]
    assert lines[3].endswith("First clause of it.")


def test_a_proof_without_room_gives_way_to_its_title():
    step = replace(b.FINDINGS[1], sentence="word " * 25)
    lines = [plain(line).rstrip() for line in strip(ViewState(b.founding(findings=(b.FINDINGS[0], step))), 80, 2).lines]
    assert lines[1].startswith(f"▌▲ {step.title}")
    assert "word" not in lines[1]
    assert "…" not in lines[1]


def test_on_a_short_screen_the_proof_stands_behind_the_title():
    lines = [plain(line).rstrip() for line in strip(ViewState(b.founding()), 110, 2).lines]
    assert len(lines) == 2
    assert lines[0].startswith("▌✖ KV capacity limits concurrency  50 run, 97 wait")


def test_banners_are_a_last_line():
    lines = strip_text(ViewState(b.founding(findings=(*b.FINDINGS, b.BANNER))))
    assert lines[3] == "▌✖ Headroom is thin: 2 requests were retracted 3 times in the last minute"


def test_a_banner_that_was_found_first_leads():
    failed = replace(b.BANNER, id="headroom", title="Out of memory while serving")
    lines = strip_text(ViewState(b.founding(findings=(failed,))))
    assert "Out of memory while serving" in lines[0]
    assert len(lines) == 3
    lines = strip_text(ViewState(b.founding(findings=(failed, *b.FINDINGS))))
    assert "Out of memory while serving" in lines[0]
    assert "KV capacity" in lines[3]


def test_an_axis_without_a_verdict_says_so():
    assert "not judged" in strip_text(ViewState(b.bare()))[2]


@pytest.mark.parametrize("analysis", [b.founding(), b.bare(), b.hostile()])
@pytest.mark.parametrize("width", [1, 20, 60, 120])
def test_nothing_is_wider_than_the_screen(analysis, width):
    state = ViewState(analysis)
    assert line_cells(header(state, width)) <= width
    assert all(line_cells(line) <= width for line in strip(state, width).lines)


def test_tabs_mark_the_current_one_without_colour():
    assert plain(tabs(["GPU", "Server"], 1, 80)) == "  1 GPU  [2 Server] "


def test_footer_always_ends_with_help_and_quit():
    keys = [("x", "cross")] * 30 + [("?", "help"), ("q", "quit")]
    shown = plain(footer(keys, 40))
    assert shown.endswith(" ? help  q quit ")
    assert len(shown) <= 40


def test_a_title_is_not_said_twice():
    twice = replace(b.FINDINGS[0], title="Start failed", sentence="Start failed: an exception in the capture", since=None)
    assert strip_text(ViewState(b.founding(findings=(twice,))))[1].rstrip() == "▌  An exception in the capture"
