"""Why, where from, the lines that matter, and help."""

import builders as b
import pytest

from kvtui.domain.events import Event
from kvtui.domain.frame import Frame
from kvtui.present.help import help_lines
from kvtui.present.line import line_cells, plain
from kvtui.present.loglines import MOST, entries
from kvtui.present.loglines import lines as log_lines
from kvtui.present.state import ViewState
from kvtui.present.where import where
from kvtui.present.why import why


def text(lines):
    return "\n".join(plain(line) for line in lines)


def test_why_has_proof_with_its_place_what_was_ruled_out_and_the_fix_with_flags():
    shown = text(why(ViewState(b.founding(), estimates=b.estimates()), 110))
    assert "the cap of 2,048 is not touched [log line 41,290]" in shown.replace("  [", " [")
    assert "running-cap: 50 run, the cap is 2,048" in shown
    assert "raise fraction to 0.91: --mem-fraction-static 0.91" in shown
    assert "max_total_num_tokens=188,000" in shown
    assert "dcgmi dmon -e 1005" in shown


def test_why_without_a_verdict_says_so():
    assert "No verdict" in text(why(ViewState(b.founding(findings=())), 80))


def test_where_gives_each_number_its_origin_or_the_reason_why_it_is_missing():
    shown = text(where(ViewState(b.founding()), 110))
    assert "free before weights  94.04 GiB  log line 1,118: Load weight begin, minimum of 8 ranks" in shown
    assert "draft weights          unknown  no draft model" in shown


def test_log_has_events_and_memory_lines_in_order_with_line_numbers():
    found = entries(b.founding().frame)
    assert [e.line for e in found] == sorted(e.line for e in found)
    assert {"boot", "memory", "retract"} <= {e.kind for e in found}
    shown = text(log_lines(b.founding().frame, 140))
    assert "41,118  13:50:00  · memory            TP0  free before weights: 94.04 GiB" in shown
    assert "69,900  14:11:00  ▲ retract" in shown
    assert "(×3)" in shown


def test_log_is_bounded_and_says_what_it_leaves_out():
    many = tuple(Event("warning", None, n, "x") for n in range(MOST + 5))
    shown = log_lines(Frame(now=None, finished=True, events=many), 80)
    assert "5 older ones are not shown." in text(shown)
    assert len(shown) < MOST + 10


def test_an_empty_log_is_a_sentence():
    assert "No event and no memory line" in text(log_lines(b.bare().frame, 80))


def test_help_explains_words_and_keys():
    shown = text(help_lines((("Everywhere", (("q", "quit", "leave"),)),), 80))
    assert "q  quit: leave" in shown
    assert "headroom" in shown


@pytest.mark.parametrize("analysis", [b.founding(), b.bare(), b.hostile()])
def test_no_page_is_wider_than_its_box_and_none_carries_control_characters(analysis):
    state = ViewState(analysis, estimates=analysis.estimates)
    for lines in (why(state, 60), where(state, 60), log_lines(analysis.frame, 60)):
        assert all(line_cells(line) <= 60 for line in lines)
        assert "\x1b" not in text(lines)
