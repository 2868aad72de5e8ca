"""What-ifs are anchored at the reported pool and follow the law, not the common shortcut."""

import pytest
from builders import CELL, HEADROOM, PRE, TOKENS, account, known
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.reading import Known, Missing
from kvtui.domain.what_if import fraction_for, is_capped, tokens_at, what_if

GIB = 1 << 30


def test_the_founding_case_at_093_doubles_where_scaling_by_the_fraction_says_nine_per_cent():
    seen = what_if(account(0.85), 0.93)
    assert seen.tokens.value == pytest.approx(231_100, abs=60)
    assert (seen.tokens.value - TOKENS) / TOKENS == pytest.approx(0.99, abs=0.005)
    assert seen.shortcut_tokens.value == pytest.approx(TOKENS * 0.93 / 0.85, abs=1)
    assert (seen.shortcut_tokens.value - TOKENS) / TOKENS == pytest.approx(0.094, abs=0.002)


@pytest.mark.parametrize(
    ("fraction", "tokens"), [(0.88, 159_277), (0.90, 188_017), (0.91, 202_388), (0.92, 216_759), (0.94, 245_500), (0.95, 259_871)]
)
def test_the_worked_table_of_the_founding_box(fraction, tokens):
    assert what_if(account(0.85), fraction).tokens.value == pytest.approx(tokens, abs=25)


def test_today_is_the_reported_pool_itself():
    assert what_if(account(0.85), 0.85).tokens.value == TOKENS


def test_headroom_is_todays_minus_pre_times_the_change():
    assert what_if(account(0.85), 0.90).headroom_gib.value == pytest.approx(HEADROOM - PRE * 0.05)


def test_a_cap_holds_the_pool_when_the_fraction_rises_and_gives_way_when_it_falls():
    capped = account(0.85, tokens_reported=known(100_000, 9), cap_tokens=known(100_000, 3))
    assert is_capped(capped)
    up = what_if(capped, 0.93)
    assert up.capped
    assert up.tokens.value == 100_000
    assert up.headroom_gib.value == pytest.approx(HEADROOM)
    down = what_if(capped, 0.80)
    assert not down.capped
    assert 40_000 < down.tokens.value < 50_000


def test_missing_inputs_give_a_reason_not_a_number():
    seen = what_if(account(0.85, pre_gib=Missing("no weight-begin line")), 0.9)
    assert isinstance(seen.tokens, Missing)
    assert "no weight-begin line" in seen.tokens.reason


def test_the_pool_never_goes_below_zero():
    assert what_if(account(0.85), 0.70).tokens.value == 0


def test_only_a_share_becomes_kv_where_a_state_pool_takes_a_ratio():
    whole = what_if(account(0.85), 0.90).tokens.value - TOKENS
    half = what_if(account(0.85, kv_share=0.5), 0.90).tokens.value - TOKENS
    assert half == pytest.approx(whole / 2, abs=1)


@pytest.mark.parametrize("fraction", [0, 1, 1.2, -0.1])
def test_a_fraction_outside_zero_to_one_is_refused(fraction):
    with pytest.raises(ValueError, match="between 0 and 1"):
        what_if(account(0.85), fraction)


@given(st.floats(0.78, 0.98))
def test_turning_the_law_round_gives_the_fraction_back(fraction):
    sums = account(0.85)
    tokens = tokens_at(sums, fraction)
    assert isinstance(tokens, Known)
    if tokens.value:
        back = fraction_for(sums, tokens.value)
        assert back.value == pytest.approx(fraction, abs=2 * CELL / (PRE * GIB))
