"""A share of time read off a line through intervals, and only where a line is there."""

import random

import pytest

from kvtui.domain.fitting import fit_share


def intervals(fixed, per_token, noise, n=40, seed=1):
    rng = random.Random(seed)  # noqa: S311
    work = [rng.uniform(2_000, 20_000) for _ in range(n)]
    return work, [fixed + per_token * w + rng.gauss(0, noise) for w in work]


@pytest.mark.parametrize(("fixed", "per_token"), [(0.2, 1e-4), (1.0, 1e-4), (0.05, 3e-4)])
def test_the_share_is_that_of_the_line(fixed, per_token):
    work, seconds = intervals(fixed, per_token, noise=0.02)
    true = per_token * sum(work) / (fixed * len(work) + per_token * sum(work))
    assert fit_share(work, seconds).share == pytest.approx(true, abs=0.02)


def test_time_that_came_from_elsewhere_gives_no_share():
    work, seconds = intervals(0.5, 1e-5, noise=0.5)
    assert fit_share(work, seconds) is None


def test_few_intervals_or_equal_work_give_no_share():
    work, seconds = intervals(0.2, 1e-4, noise=0.0, n=11)
    assert fit_share(work, seconds) is None
    assert fit_share([100.0] * 20, [1.0 + i for i in range(20)]) is None


def test_less_time_for_more_work_gives_no_share():
    work = [float(i) for i in range(20)]
    assert fit_share(work, [30 - w for w in work]) is None


def test_a_share_is_never_above_one():
    work = [1_000.0 + 100 * i for i in range(20)]
    assert fit_share(work, [(w - 900) * 1e-3 for w in work]).share == 1.0


def test_absurd_claims_give_no_share():
    assert fit_share([1e300] * 19 + [1.0], [1.0 + i for i in range(20)]) is None


def test_one_interval_far_out_does_not_set_the_slope():
    work, seconds = intervals(1.0, 4e-5, noise=0.02, n=120)
    usual = fit_share(work, seconds).share
    assert fit_share([250_000.0, *work], [17.0, *seconds]).share == pytest.approx(usual, abs=0.02)
