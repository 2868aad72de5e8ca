"""Counters to rates: windows, restarts, half pages, set clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_pages import load, rank_labels, scrape, series

from kvtui.domain.rates import RateMeter
from kvtui.domain.reading import Known, Missing


def page(at, decode=0, compute=0, cache=0, dps=(None,), version="0.5.23", extra=(), cut=False, running=4, tput=100.0):
    lines = []
    for dp in dps:
        where = rank_labels(dp=dp)
        lines += load(dp=dp, running=running, tput=tput)
        if version != "0.5.6":
            lines += [
                series("realtime_tokens_total", n, mode=mode, **where)
                for mode, n in (("decode", decode), ("prefill_compute", compute), ("prefill_cache", cache))
            ]
    return scrape([*lines, *extra, "sglang:num_pages 1"], at, version, cut=cut)


def test_rates_of_the_moment_come_from_realtime_counters():
    meter = RateMeter()
    first = meter.push(page(0, 1000, 500, 0))
    assert first.gen_tok_s == Missing("a rate needs two pages")
    rates = meter.push(page(1, 1300, 700, 200))
    assert rates.gen_tok_s.value == 300
    assert rates.input_tok_s.value == 200
    assert rates.cached_tok_s.value == 200
    assert rates.cache_hit.value == 0.5
    assert rates.per_stream.value == 75
    assert "realtime_tokens_total" in str(rates.gen_tok_s.where)


def test_the_window_is_ten_seconds():
    meter = RateMeter()
    for at in range(31):
        rates = meter.push(page(at, 100 * at if at <= 20 else 2000 + 10 * (at - 20)))
    assert rates.gen_tok_s.value == 10


def test_data_parallel_ranks_add_up():
    meter = RateMeter()
    meter.push(page(0, 0, dps=(0, 1)))
    rates = meter.push(page(1, 50, dps=(0, 1)))
    assert rates.gen_tok_s.value == 100
    assert [rank.gen_tok_s.value for rank in rates.ranks] == [50, 50]


def test_a_restart_is_seen_and_gives_no_negative_rate():
    meter = RateMeter()
    meter.push(page(0, 1000))
    meter.push(page(1, 1100))
    rates = meter.push(page(2, 30))
    assert rates.reset_at == 2
    assert isinstance(rates.gen_tok_s, Missing)
    assert meter.push(page(3, 80)).gen_tok_s.value == 50


def test_a_server_that_went_away_is_another_one_even_with_larger_counters():
    meter = RateMeter()
    meter.push(page(0, 1000))
    meter.forget(1.0)
    rates = meter.push(page(9, 5000))
    assert isinstance(rates.gen_tok_s, Missing)
    assert rates.reset_at == 1.0


def test_a_series_that_appears_stood_at_zero():
    meter = RateMeter()
    meter.push(page(0))
    assert meter.push(page(1)).retracted_min.value == 0
    meter = RateMeter()
    meter.push(page(0))
    retracted = series("num_retracted_requests_total", 3, **rank_labels())
    rates = meter.push(page(60, extra=[retracted]))
    assert rates.retracted_min.value == 3


def test_half_a_page_is_not_compared():
    meter = RateMeter()
    meter.push(page(0, 0))
    meter.push(page(1, 100))
    half = scrape(load(), 2, cut=True)
    assert meter.push(half).gen_tok_s.value == 100
    back = meter.push(page(3, 300))
    assert back.gen_tok_s.value == 100
    assert back.reset_at is None


def test_a_clock_set_back_begins_anew():
    meter = RateMeter()
    meter.push(page(1000, 0))
    meter.push(page(1001, 100))
    assert isinstance(meter.push(page(10, 200)).gen_tok_s, Missing)
    assert meter.push(page(11, 300)).gen_tok_s.value == 100


def test_before_realtime_counters_the_gauge_is_taken_and_named():
    meter = RateMeter()
    meter.push(page(0, version="0.5.6", tput=70))
    rates = meter.push(page(1, version="0.5.6", tput=80))
    assert rates.gen_tok_s.value == 80
    assert isinstance(rates.retracted_min, Missing)
    assert "gen_throughput" in str(rates.gen_tok_s.where)
    assert rates.ranks[0].gen_tok_s.value == 80


def test_counters_that_move_at_the_end_of_a_request_are_means_of_a_minute():
    def ended(prompt, output, requests, cached):
        names = {
            "prompt_tokens_total": prompt,
            "generation_tokens_total": output,
            "num_requests_total": requests,
            "cached_tokens_total": cached,
        }
        return [series(name, n, model_name="m") for name, n in names.items()]

    meter = RateMeter()
    meter.push(page(0, version="0.5.6", extra=ended(0, 0, 0, 0)))
    rates = meter.push(page(30, version="0.5.6", extra=ended(3000, 900, 6, 1500)))
    assert rates.finished_tok_s.value == 30
    assert rates.requests_s.value == pytest.approx(0.2)
    assert (rates.output_tokens.value, rates.prompt_tokens.value) == (150, 500)
    assert rates.cache_hit.value == 0.5
    idle = meter.push(page(95, version="0.5.6", extra=ended(3000, 900, 6, 1500)))
    assert isinstance(idle.output_tokens, Missing)
    assert isinstance(idle.cache_hit, Missing)


def test_graph_share_and_idle_share():
    def passes(graph, eager, idle):
        where = rank_labels()
        return [
            series("cuda_graph_passes_total", graph, mode="decode_cuda_graph", **where),
            series("cuda_graph_passes_total", eager, mode="decode_none", **where),
            series("scheduler_idle_seconds_total", idle, **where),
        ]

    meter = RateMeter()
    meter.push(page(0, extra=passes(0, 0, 0)))
    rates = meter.push(page(10, extra=passes(90, 10, 2.5)))
    assert rates.graph_share.value == 0.9
    assert rates.ranks[0].idle_share == Known(0.25, 10, rates.ranks[0].idle_share.where)


@given(st.lists(st.floats(0.01, 9), min_size=1, max_size=40), st.lists(st.sampled_from([1.0, 10.0, 60.0]), min_size=1, max_size=4))
def test_a_window_begins_where_a_walk_back_from_the_newest_page_ends(gaps, windows):
    meter, at = RateMeter(), 1_000.0
    meter.push(page(at))
    for gap in gaps:
        at += gap
        meter.push(page(at))
        marks = list(meter._marks)
        for window in windows:
            walk = marks[-2]
            for mark in reversed(marks[:-1]):
                walk = mark
                if marks[-1].at - mark.at >= window - 1e-6:
                    break
            assert meter._base(window) is walk
