from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.estimate import Range
from kvtui.present.line import line_cells, plain
from kvtui.present.options import copied, detail, options, plan_copied, plan_flags
from kvtui.present.state import ViewState


def state(fraction=None, **changes):
    return ViewState(b.founding(), estimates=b.estimates(fraction), **changes)


def rows(shown):
    return [plain(line).rstrip() for line in shown.lines]


def test_columns_and_the_unfolded_row():
    shown = rows(options(state(), 58, 15, "raise-fraction"))
    assert shown[0].split() == ["option", "tokens", "fits", "tok/s"]
    assert shown[1] == "▸ ▲ raise fraction to 0.91     202,385    99  1,000…1,170"
    assert shown[2] == "    headroom 2.77 GiB ▲ tight · risk medium · restart"


def test_an_unknown_gain_is_not_a_number():
    assert rows(options(state(), 58, 15, "raise-fraction"))[3].endswith("? measure")


def test_what_does_not_apply_says_why():
    shown = options(state(), 100, 15, "raise-fraction")
    line = next(line for line in shown.lines if "cap max_new_tokens" in plain(line))
    assert "the reservation is clipped at 4,096 already" in plain(line)
    assert {span.tone for span in line if span.text.strip()} == {"dim"}


def test_marks_make_a_plan_with_the_fraction_part_exact():
    marked = state(0.93, plan=frozenset({"raise-fraction", "fp8-kv", "drop-draft"}))
    shown = "\n".join(rows(options(marked, 100, 15, None)))
    assert "plan of 2: --mem-fraction-static 0.93 --kv-cache-dtype fp8_e4m3" in shown
    assert "the fraction gives 231,123 tokens (+99 %), exactly; the others are not added up" in shown
    assert plan_flags(marked) == ("--mem-fraction-static 0.93", "--kv-cache-dtype fp8_e4m3")
    assert plan_copied(marked) == "--mem-fraction-static 0.93 --kv-cache-dtype fp8_e4m3"


def test_the_pointed_row_is_in_sight_however_small_the_pane():
    for height in range(3, 12):
        shown = options(state(), 58, height, "drop-draft")
        assert len(shown.lines) <= height
        assert any("▸" in plain(line) for line in shown.lines)


def test_no_options_is_said_with_a_reason():
    assert "No option can be estimated yet" in plain(options(ViewState(b.bare()), 80, 10, None).lines[0])


def test_a_large_pane_shows_the_option_in_full():
    assert any(plain(line).startswith("  verify") for line in options(state(), 98, 30, "raise-fraction").lines)
    assert not any("verify" in plain(line) for line in options(state(), 58, 15, "raise-fraction").lines)


def test_detail_has_flags_basis_risk_and_check():
    shown = "\n".join(plain(line) for line in detail(b.estimates()[0], 100))
    for part in ("--mem-fraction-static 0.91", "basis: fit of 38 samples", "medium: 2.8 GiB", "restart        yes", "within 0.2 % of this"):
        assert part in shown


def test_host_memory_is_converted_from_decimal_gigabytes():
    assert "122.0 GiB over all ranks (131.0 decimal GB)" in "\n".join(plain(line) for line in detail(b.estimates()[2], 100))


def test_what_is_copied_is_one_safe_line():
    evil = replace(b.estimates()[0], flags=("--a 1\n", "rm -rf /\x1b[A"))
    assert "\n" not in copied(evil)
    assert "\x1b" not in copied(evil)


@pytest.mark.parametrize("size", [(1, 1), (20, 4), (58, 15)])
def test_fits_its_pane_whatever_the_numbers(size):
    wild = replace(
        b.estimates()[0],
        tokens=10**30,
        fits=float("inf"),
        tok_s=Range(float("nan"), 0, float("inf"), "x"),
        headroom_gib=float("nan"),
        title="W" * 400,
    )
    shown = options(ViewState(b.hostile(), estimates=(wild,)), *size, "raise-fraction")
    assert len(shown.lines) <= size[1]
    assert all(line_cells(line) <= size[0] for line in shown.lines)
    detail(wild, size[0])
