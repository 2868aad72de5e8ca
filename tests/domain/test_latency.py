"""Quantiles out of differences of histograms."""

import math

import pytest
from metric_pages import buckets, load, scrape

from kvtui.domain.latency import LatencyMeter, Quantile, quantile
from kvtui.domain.reading import Missing


def page(at, counts, total=0.0, cut=False):
    return scrape([*load(), *buckets("time_to_first_token_seconds", counts, total), "sglang:num_pages 1"], at, cut=cut)


def counts(*values, limits=("0.1", "0.2", "1.0", "+Inf")):
    return dict(zip(limits, values, strict=True))


def test_only_what_came_since_counts():
    meter = LatencyMeter()
    meter.push(page(0, counts(1000, 1000, 1000, 1000), 50.0))
    got = meter.push(page(10, counts(1000, 1050, 1100, 1100), 80.0)).ttft
    assert got.count == 100
    assert got.mean == pytest.approx(0.3)
    assert got.p50 == Quantile(0.1, 0.2, pytest.approx(0.2))
    assert got.p90 == Quantile(0.2, 1.0, pytest.approx(0.84))
    assert got.p90.coarse
    assert got.p50.coarse


def test_the_ends_are_known_only_by_their_limits():
    first = quantile((0.1, 0.2, math.inf), [100, 100, 100], 0.5)
    assert first == Quantile(0.0, 0.1, None)
    assert first.coarse
    last = quantile((0.1, 0.2, math.inf), [0, 0, 10], 0.5)
    assert last == Quantile(0.2, math.inf, None)
    assert quantile((0.0, 1.0, math.inf), [10, 10, 10], 0.5).value == 0.0
    assert not quantile((1.0, 1.4, math.inf), [0, 10, 10], 0.5).coarse


def test_the_window_rolls():
    meter = LatencyMeter(window_s=60)
    meter.push(page(0, counts(0, 0, 0, 0)))
    for at in range(1, 200):
        got = meter.push(page(at, counts(10 * min(at, 100), 10 * at, 10 * at, 10 * at))).ttft
    assert got.span_s == 60
    assert got.p50.low == 0.1


def test_few_observations_tell_nothing():
    meter = LatencyMeter()
    meter.push(page(0, counts(0, 0, 0, 0)))
    assert meter.push(page(1, counts(4, 4, 4, 4))).ttft == Missing("fewer than 5 observations in the last 1 s")


@pytest.mark.parametrize(
    "then",
    [counts(1, 2, 3, 4), {"0.5": 2000.0, "+Inf": 2000.0}],
    ids=["restart", "other buckets"],
)
def test_a_restart_or_other_buckets_begin_anew(then):
    meter = LatencyMeter()
    meter.push(page(0, counts(1000, 1000, 1000, 1000)))
    assert meter.push(page(1, then)).ttft == Missing("a latency needs two pages")


def test_half_a_page_is_not_compared():
    meter = LatencyMeter()
    meter.push(page(0, counts(0, 0, 0, 0)))
    meter.push(page(1, counts(0, 50, 50, 50)))
    got = meter.push(page(2, counts(0, 0, 0, 0), cut=True)).ttft
    assert got.count == 50


def test_what_the_page_lacks_is_missing():
    got = LatencyMeter().push(scrape(load(), version="0.4.6"))
    assert got.queue_time == Missing("in /metrics from 0.5.3 on; this server is 0.4.6")
