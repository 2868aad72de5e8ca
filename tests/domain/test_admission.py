from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.admission import (
    Interval,
    admission_band,
    fits,
    need_interval,
    ratio_interval,
    remaining_interval,
    reservation_share,
)


def exact(value: float) -> Interval:
    return Interval(value, value, "stated")


# Measured on real schedulers: pool, m, need, ratio, remaining, low end, high end, running seen.
MEASURED = [
    (4096, 308, 798, 0.098, 489, 8.03, 10.28, 9.25),
    (6144, 310, 796, 0.1191, 483, 13.37, 15.53, 15.09),
    (4096, 309, 795, 0.098, 486, 8.03, 10.26, 9.21),
    (32768, 132, 4115, 0.098, 4002, 47.83, 55.69, 48.86),
    (8192, 362, 1354, 0.1676, 1002, 11.35, 13.91, 13.57),
]


@pytest.mark.parametrize(("pool", "resident", "need", "ratio", "remaining", "low", "high", "seen"), MEASURED)
def test_band_holds_what_real_schedulers_ran(pool, resident, need, ratio, remaining, low, high, seen):
    band = admission_band(pool=pool, resident=resident, need=exact(need), ratio=exact(ratio), remaining=exact(remaining), running_cap=None)
    assert band.low == pytest.approx(low, rel=0.01)
    assert band.high == pytest.approx(high, rel=0.01)
    assert band.low <= seen <= band.high


def test_founding_story_admits_46():
    band = admission_band(pool=116_171, resident=2050, need=exact(5096), ratio=exact(0.098), remaining=exact(3500), running_cap=48)
    assert band.high - 1 == pytest.approx(46.4, abs=0.1)
    assert band.usage_high == pytest.approx(0.82, abs=0.03)
    assert not band.capped


def test_running_never_grows_where_two_do_not_fit():
    band = admission_band(pool=8192, resident=81, need=exact(4106), ratio=exact(0.098), remaining=exact(4024), running_cap=64)
    assert band.low == 1.0
    assert band.high == pytest.approx(9.6, abs=0.1)


def test_a_candidate_larger_than_the_pool_runs_never():
    band = admission_band(pool=1000, resident=100, need=exact(1200), ratio=exact(0.1), remaining=exact(0), running_cap=None)
    assert (band.low, band.high) == (0.0, 0.0)


def test_cap_below_the_band_is_told():
    band = admission_band(pool=32768, resident=189, need=exact(276), ratio=exact(0.098), remaining=exact(98), running_cap=4)
    assert band.capped


@pytest.mark.parametrize(("pool", "resident"), [(0, 100.0), (-5, 100.0), (100, 0.0), (100, math.nan), (100, math.inf)])
def test_sizes_that_make_no_sense_are_refused(pool, resident):
    with pytest.raises(ValueError, match="positive"):
        admission_band(pool=pool, resident=resident, need=exact(1), ratio=exact(0), remaining=exact(0), running_cap=None)


@given(
    st.integers(1, 10**7),
    st.floats(1, 10**5),
    st.floats(0, 10**5),
    st.floats(0, 10**5),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 4096),
    st.floats(0, 4096),
)
def test_unknown_terms_only_widen_the_band(pool, resident, need_a, need_b, ratio_a, ratio_b, left_a, left_b):
    def interval(a: float, b: float) -> Interval:
        return Interval(min(a, b), max(a, b), "any")

    wide = admission_band(
        pool=pool,
        resident=resident,
        need=interval(need_a, need_b),
        ratio=interval(ratio_a, ratio_b),
        remaining=interval(left_a, left_b),
        running_cap=None,
    )
    sharp = admission_band(
        pool=pool, resident=resident, need=exact(need_a), ratio=exact(ratio_a), remaining=exact(left_a), running_cap=None
    )
    assert 0 <= wide.low <= sharp.low <= sharp.high <= wide.high
    assert 0 <= wide.usage_low <= wide.usage_high <= 1
    assert 0 <= wide.reserved.low <= wide.reserved.high < 1


def test_ratio_floor_start_and_retraction():
    plain = ratio_interval(conservativeness=None, dp_attention=False)
    assert (plain.low, plain.high) == (pytest.approx(0.098), 0.5)
    dp = ratio_interval(conservativeness=1.0, dp_attention=True)
    assert (dp.low, dp.high) == (pytest.approx(0.0294), pytest.approx(0.21))
    raised = ratio_interval(conservativeness=0.1, dp_attention=False, after_retraction=0.62)
    assert raised.high == 0.62
    assert raised.low == pytest.approx(0.0098)
    assert ratio_interval(conservativeness=math.nan, dp_attention=False).low == pytest.approx(0.098)


def test_answers_are_charged_up_to_the_clip():
    assert need_interval(prompt=100, output=50, max_new=32_768).high == 4196
    assert need_interval(prompt=100, output=50, max_new=32_768).low == need_interval(prompt=100, output=50, max_new=8192).low
    unknown = need_interval(prompt=100, output=50)
    assert (unknown.low, unknown.high) == (150, 4196)
    assert need_interval(prompt=100, output=None, context_len=1000).high == 1000
    assert remaining_interval(output=200, max_new=600).low == 500
    assert remaining_interval(output=200).high == 4096


def test_shares():
    assert reservation_share(resident=500, ratio=0.098, remaining=4096) == pytest.approx(0.445, abs=0.001)
    assert reservation_share(resident=0, ratio=0, remaining=0) == 0
    assert fits(4096, 308) == pytest.approx(13.3, abs=0.01)
    assert fits(4096, 0) == 0
