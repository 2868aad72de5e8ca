from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.reading import Missing
from kvtui.domain.what_if import what_if
from kvtui.present.aside import headroom_judgement, ladder
from kvtui.present.formula import formula
from kvtui.present.line import line_cells, plain
from kvtui.present.state import ViewState


def text(analysis, at=None, width=58, height=16):
    account = analysis.account
    state = ViewState(analysis, fraction=at, what_if=what_if(account, at) if at is not None else None)
    return "\n".join(plain(line) for line in formula(state, width, height).lines)


def test_today_is_written_out_with_origins_and_the_difference():
    shown = text(b.founding())
    assert "rest = 21.71 − 94.04 × (1 − 0.85)" in shown
    assert "7.60 GiB" in shown
    assert "70,272 B" in shown
    assert "(512 + 64) × 61 layers × 2 B" in shown
    assert "116,187" in shown
    assert "116,171  log line 1,290" in shown
    assert "+16  +0.01% ✓ within rounding" in shown


def test_the_founding_what_if_shows_the_gain_and_refutes_the_shortcut():
    shown = text(b.founding(), 0.93)
    assert "◂ 0.93 ▸  today 0.85" in shown
    assert "231,123  +114,952 (+99%)" in shown
    assert "rest = 21.71 − 94.04 × (1 − 0.93)" in shown
    assert "15.13 GiB  was 7.60" in shown
    assert "0.89 GiB  ✖ too thin, was 8.41" in shown
    said = " ".join(shown.replace("\u00a0", " ").split())
    assert "Scaling tokens by the fraction would say 127,104 (+9%). That is wrong: the weights stay as they are" in said
    assert "each 0.01 moves pre ÷ 100 = 0.94 GiB = 14,369 tokens" in said


def test_a_difference_beyond_rounding_brings_its_causes():
    account = b.account(tokens_reported=b.known(110_000, 1_290), causes=("another process held 1.2 GiB",))
    shown = text(b.founding(account=account))
    assert "▲ beyond rounding" in shown
    assert "· another process held 1.2 GiB" in shown


def test_a_rest_that_its_inputs_do_not_give_is_pointed_out():
    printed = b.account(rest_gib=b.known(6.10, 1_205))
    assert "6.10 GiB  log line 1,205; written out 7.60" in text(b.founding(account=printed), width=80)
    reserve = b.account(rest_gib=b.known(7.10, 1_205), extras_gib=b.known(0.5, 1_200))
    assert "× (1 − 0.85) − 0.50" in text(b.founding(account=reserve))
    assert "7.10 GiB  0.50 taken off besides" in text(b.founding(account=reserve))


def test_a_cap_is_named_instead_of_a_gain():
    account = b.account(cap_tokens=b.known(b.TOKENS, 14))
    assert "max_total_tokens caps the pool" in text(b.founding(account=account), 0.9)


def test_weights_that_leave_no_room():
    shown = text(b.founding(), 0.7)
    assert "the weights leave no room" in shown
    assert "−6.50 GiB" in shown


def test_every_missing_figure_is_said_with_its_reason():
    shown = text(b.bare("no start in it"))
    assert shown.count("unknown, because no start in it") == 1
    assert shown.count("unknown, as above") >= 4
    assert "0.00" not in shown


def test_a_long_reason_goes_on_below_its_row_and_is_cut_with_a_sign():
    account = b.account(tokens_predicted=Missing(" ".join(["word"] * 60)))
    shown = text(b.founding(account=account), height=30)
    assert shown.count("word") > 10
    assert "word…" in shown


def test_a_figure_that_is_not_a_number_is_not_shown_as_one():
    shown = text(b.hostile())
    assert " nan" not in shown
    assert "what was read is not a number" in " ".join(shown.split())


@pytest.mark.parametrize("analysis", [b.founding(), b.bare(), b.hostile(), b.founding(account=b.account(pre_gib=Missing("x" * 300)))])
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (58, 16), (98, 28)])
def test_fits_its_pane(analysis, size):
    state = ViewState(analysis)
    lines = formula(state, *size).lines
    assert len(lines) <= size[1]
    assert all(line_cells(line) <= size[0] for line in lines)


def test_headroom_is_judged_in_words():
    assert [headroom_judgement(v).word for v in (-0.1, 1.9, 2.9, 3.0)] == ["not enough", "too thin", "tight", "enough"]


def test_the_ladder_spreads_over_the_room_and_marks_the_what_if():
    account = b.account()
    rows = [plain(line) for line in ladder(account, what_if(account, 0.9), 13)]
    assert len(rows) == 13
    assert rows[2].split()[:2] == ["0.86", "130,540"]
    assert next(row for row in rows if "▸" in row).split()[:2] == ["▸", "0.90"]
    assert len(ladder(account, None, 3)) == 3
    assert ladder(account, None, 2) == ()
    assert ladder(replace(account, fraction=Missing("unset")), None, 13) == ()
