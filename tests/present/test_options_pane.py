import re
from dataclasses import replace

import builders as b
import pytest
from options.option_build import workload

from kvtui.domain.estimate import Range
from kvtui.options.of_analysis import context_of
from kvtui.options.registry import estimates
from kvtui.present.line import line_cells, plain
from kvtui.present.options import copied, detail, options, plan_copied
from kvtui.present.plan_pane import plan_lines, planned, proposed
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


def real(fraction=None, **changes):
    """The founding case with the levers' own estimates."""
    bare = b.founding(workload=workload(), findings=(b.FINDINGS[0],))
    analysis = replace(bare, estimates=estimates(context_of(bare)))
    return ViewState(analysis, fraction=fraction, estimates=estimates(context_of(analysis, fraction)), **changes)


def text(lines):
    return "\n".join(plain(line).rstrip() for line in lines)


def test_marks_make_a_plan_that_is_computed_not_added():
    marked = real(0.93, plan=frozenset({"raise-fraction", "fp8-kv", "drop-draft"}))
    shown = "\n".join(rows(options(marked, 120, 30, None)))
    assert "plan of 2: --mem-fraction-static 0.93 --kv-cache-dtype fp8_e4m3" in shown
    line = next(line for line in shown.splitlines() if line.startswith(" together: "))
    assert "462,24" in line
    assert "(+298%)" in line
    assert "tok/s (about " in line
    assert "headroom 0.89 GiB ✖ too thin" in line
    assert planned(marked).flags == ("--mem-fraction-static 0.93", "--kv-cache-dtype fp8_e4m3")


def test_the_plan_is_copied_as_a_whole_command():
    copied_plan = plan_copied(real(0.93, plan=frozenset({"raise-fraction", "fp8-kv"})))
    assert copied_plan == (
        "python -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp 8 --trust-remote-code"
        " --mem-fraction-static 0.93 --kv-cache-dtype fp8_e4m3"
    )
    assert plan_copied(real()) == ""
    bare = replace(real(plan=frozenset({"raise-fraction"})), analysis=replace(b.founding(), frame=replace(b.founding().frame, boots=())))
    assert plan_copied(bare) == "--mem-fraction-static 0.90"


def test_the_detail_shows_the_plan_and_marks_what_changes():
    marked = real(plan=frozenset({"raise-fraction", "max-running-requests"}))
    lines = detail(marked.estimates[0], 100, marked)
    shown = text(lines)
    for part in (
        "plan of 2",
        "one stream",
        "running        50 → ",
        "◆ --mem-fraction-static 0.90 --max-running-requests",
        "the command in the log",
    ):
        assert part in shown
    changed = {span.text.strip() for line in lines for span in line if span.tone == "changed"}
    assert "0.90" in changed
    assert "--tp" not in changed
    alone = text(detail(real().estimates[0], 100, real()))
    assert "◆ --mem-fraction-static 0.90" in alone
    assert "plan of" not in alone
    assert "command" not in text(detail(real().estimates[0], 100))


def test_conflicts_are_said_in_the_plan_line():
    marked = real(plan=frozenset({"dp-attention", "more-gpus"}))
    assert "do not go together: both reshape" in "\n".join(rows(options(marked, 140, 15, None)))
    assert "conflict" in text(detail(marked.estimates[0], 120, marked))


def test_the_best_safe_plan_is_proposed_with_its_command():
    state_a = real()
    found = proposed(state_a)
    assert found is not None
    shown = text(plan_lines(found, state_a, 100, "best safe plan"))
    assert "best safe plan of 2" in shown
    assert "--mem-fraction-static 0.91" in shown
    assert proposed(ViewState(b.bare())) is None
    *_, effect, flags = rows(options(state_a, 140, 20, None))
    assert effect.startswith(" best safe plan: 202,3")
    assert flags == " --mem-fraction-static 0.91 --max-running-requests 192"
    told = [rows(options(state_a, width, 20, None))[-2] for width in range(80, 120)]
    # Before the headroom is left out its unit is.
    assert any(re.search(r"headroom \d\.\d+ ✓ enough", row) for row in told)
    assert not any("best safe" in row for row in rows(options(state_a, 140, 11, None)))
    marked = rows(options(real(plan=frozenset({"fp8-kv"})), 140, 20, None))
    assert not any("best safe" in row for row in marked)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_plan_fits_its_width_and_hostile_words_stay_harmless(width):
    evil = replace(b.BOOTS[1], launch_command="python -m sglang.launch_server --model-path '\x1b[2J[red]" + "W" * 300 + "' --tp 8")
    founded = real(plan=frozenset({"raise-fraction"}))
    made = replace(founded, analysis=replace(founded.analysis, frame=replace(founded.analysis.frame, boots=(evil,), chosen=0)))
    for line in detail(made.estimates[0], width, made):
        assert line_cells(line) <= width
        assert "\x1b" not in plain(line)
    assert "\x1b" not in plan_copied(made)


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
    for part in ("--mem-fraction-static 0.91", "basis: fit of 38 samples", "medium: 2.8 GiB", "restart        yes", "within 0.2% of this"):
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


def test_a_long_name_takes_the_column_of_a_pool_that_stays_as_it_is():
    long = "chunked-prefill-size 8,192 → 4,096"
    base = state()
    today = base.analysis.account.tokens_reported.value
    first = base.estimates[0]
    for tokens, told in ((today, long), (today + 1, f"{today + 1:,}")):
        changed = replace(base, estimates=(replace(first, title=long, tokens=tokens), *base.estimates[1:]))
        row = rows(options(changed, 58, 15, None))[1]
        assert told in row
        assert (long in row) is (tokens == today)
        assert line_cells(options(changed, 58, 15, None).lines[1]) <= 58
