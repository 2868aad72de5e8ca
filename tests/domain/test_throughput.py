import math
import random

import pytest

from kvtui.domain.estimate import Range
from kvtui.domain.reading import Missing
from kvtui.domain.samples import DECODE, PREFILL, SampleStore
from kvtui.domain.step_samples import clean_samples
from kvtui.domain.throughput import Curve, StepSample, fit, gain, predict, prior


def samples(batches, a=0.0288, c=0.000266, noise=0.0, seed=1):
    rng = random.Random(seed)  # noqa: S311  # noise for a test, not a secret
    return [StepSample(r, (a + c * r) * (1 + rng.gauss(0, noise))) for r in batches]


def test_gain_is_the_saturating_curve_of_story_a():
    # facts/diagnoses.md 2.2: E 0.65 at 50 running is R0 92.9; 81 running give +33%, 112 give +56%
    r0 = 50 * 0.65 / 0.35
    assert gain(50, 81, r0) == pytest.approx(1.331, abs=0.003)
    assert gain(50, 112, r0) == pytest.approx(1.563, abs=0.003)
    assert Curve(r0, r0, r0, "").elasticity(50) == pytest.approx(0.65)


@pytest.mark.parametrize(
    ("resident", "low", "mid", "high"),
    [(1_000, 41, 59, 68), (1_500, 41, 59, 68), (8_500, 27, 30, 37), (64_000, 7, 11, 18), (1e9, 7, 11, 18)],
)
def test_prior_follows_the_context(resident, low, mid, high):
    told = prior(resident=resident, speculation=False)
    assert (told.r0_low, told.r0_mid, told.r0_high) == pytest.approx((low, mid, high))
    assert "prior" in told.basis
    assert told.samples == 0


def test_prior_of_speculation_and_pcie():
    assert prior(resident=2_000, speculation=True).r0_mid == 18
    plain, pcie = prior(resident=2_050, speculation=False), prior(resident=2_050, speculation=False, interconnect="pcie")
    assert pcie.r0_mid < plain.r0_mid
    assert (pcie.r0_low, pcie.r0_high) == (30, 97)
    assert "PCIe" in pcie.basis
    assert prior(resident=None, speculation=False).r0_mid == 43
    assert prior(resident=math.nan, speculation=False).r0_mid == 43


def test_fit_recovers_the_line():
    told = fit(samples([16, 20, 24, 28, 32, 36, 40, 48, 56, 60, 62, 64]))
    assert isinstance(told, Curve)
    assert told.r0_mid == pytest.approx(0.0288 / 0.000266, rel=1e-6)
    assert told.basis == "fit of 12 samples, 16 to 64 running"


def test_fit_interval_holds_the_truth_under_noise():
    truth, inside = 0.0288 / 0.000266, 0
    for seed in range(40):
        told = fit(samples(list(range(16, 65)) * 2, noise=0.03, seed=seed))
        if isinstance(told, Curve):
            inside += told.r0_low <= truth <= told.r0_high
    assert inside >= 30


def test_fit_withstands_outliers():
    points = samples(list(range(16, 65)), noise=0.01)
    points[5] = StepSample(points[5].running, points[5].step_s * 8)
    told = fit(points)
    assert isinstance(told, Curve)
    assert told.r0_mid == pytest.approx(0.0288 / 0.000266, rel=0.25)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([], "0 clean"),
        (samples(range(46, 57)), "11 clean"),
        (samples(list(range(46, 57)) * 6), "too narrow"),
        (samples([1, 2, 3, 4, 5, 6, 7] * 8), "0 clean"),
        (samples([50] * 30 + [16]), "too narrow"),
        (samples(list(range(16, 65)), c=0.0, noise=0.02), "slope"),
        (samples(list(range(16, 65)), c=-0.0002), "slope"),
        ([StepSample(math.nan, 1.0), StepSample(20, math.inf), StepSample(20, -1)] * 9, "0 clean"),
    ],
)
def test_fit_refuses_what_does_not_identify_the_slope(points, reason):
    told = fit(points)
    assert isinstance(told, Missing)
    assert reason in told.reason


def test_fit_drift_widens_the_interval_or_refuses():
    batches = [46 + i % 26 for i in range(120)]
    white = fit(samples(batches, noise=0.02))
    drifting = fit([StepSample(s.running, s.step_s * (1 + 0.1 * math.sin(i / 15))) for i, s in enumerate(samples(batches, noise=0.02))])
    assert isinstance(white, Curve)
    if isinstance(drifting, Curve):
        assert drifting.r0_high - drifting.r0_low > white.r0_high - white.r0_low


CURVE = Curve(41, 59, 68, "prior")


def test_predict_is_anchored_and_ordered():
    told = predict(running=50, tok_s=835, to=81, curve=CURVE)
    assert isinstance(told, Range)
    assert told.mid == pytest.approx(835 * gain(50, 81, 59))
    assert told.low < told.mid < told.high <= 835 * 81 / 50
    assert told.basis == "prior"


def test_predict_of_no_change_is_what_is():
    told = predict(running=50, tok_s=835, to=50, curve=CURVE)
    assert isinstance(told, Range)
    assert (told.low, told.mid, told.high) == (835, 835, 835)


def test_predict_of_a_doubling_has_the_low_side_seen_on_sglang():
    bare = predict(running=50, tok_s=1000, to=100, curve=CURVE)
    covered = predict(running=50, tok_s=1000, to=100, curve=CURVE, graphs_cover=True)
    drafted = predict(running=50, tok_s=1000, to=100, curve=CURVE, graphs_cover=True, speculation=True)
    assert isinstance(bare, Range)
    assert isinstance(covered, Range)
    assert isinstance(drafted, Range)
    assert bare.low / bare.mid <= 0.70
    assert covered.low / covered.mid > 0.8
    assert drafted.low == bare.low


def test_predict_dims_beyond_two_and_refuses_beyond_four():
    rough = predict(running=10, tok_s=100, to=35, curve=CURVE)
    assert isinstance(rough, Range)
    assert "rough: 3.5" in rough.basis
    for to in (41, 2):
        told = predict(running=10, tok_s=100, to=to, curve=CURVE)
        assert isinstance(told, Missing)
        assert "no prediction beyond 4" in told.reason


def test_predict_never_beats_growth_in_proportion():
    told = predict(running=1, tok_s=100, to=2, curve=Curve(1e6, 1e6, 1e6, ""))
    assert isinstance(told, Range)
    assert told.high <= 200


@pytest.mark.parametrize("wrong", [{"running": 0}, {"tok_s": 0}, {"to": math.inf}, {"running": math.nan}])
def test_predict_without_a_start(wrong):
    assert isinstance(predict(**{"running": 5, "tok_s": 50, "to": 6, "curve": CURVE, **wrong}), Missing)


def timeline(*rows):
    store = SampleStore()
    for i, row in enumerate(rows):
        store.append({"at": float(i), "line": i, "kind": DECODE, "dp": 0.0, "running": 20.0, "gen_tput": 400.0, "graph": 1.0, **row})
    return store.view()


def test_clean_samples_leave_out_what_does_not_tell_the_step_time():
    good = timeline({}, {}, {})
    assert clean_samples(good) == (StepSample(20, 0.05), StepSample(20, 0.05))
    assert clean_samples(timeline({}, {"kind": PREFILL}, {}, {})) == (StepSample(20, 0.05),)
    assert clean_samples(timeline({}, {"graph": 0.0}, {})) == (StepSample(20, 0.05),)
    assert len(clean_samples(timeline({"graph": 0.0}, {"graph": 0.0}))) == 1
    assert clean_samples(timeline({}, {"running": 23.0}, {"running": 23.0})) == (StepSample(23, 23 / 400),)
    assert clean_samples(timeline({}, {"running": 0.0, "gen_tput": 0.0}, {})) == ()
    assert clean_samples(timeline({}, {"accept_len": 2.0}, {"accept_len": 2.0})) == (StepSample(20, 0.1),)
    assert clean_samples(timeline()) == ()


def test_clean_samples_keep_ranks_apart():
    rows = [{"dp": float(i % 2), "running": 20.0 + 10 * (i % 2)} for i in range(4)]
    assert [s.running for s in clean_samples(timeline(*rows))] == [20, 30]
