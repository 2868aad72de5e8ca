"""What a body of /metrics is, and which of its samples are kept."""

import math

import pytest
from metric_pages import body, load, series

from kvtui.parse.exposition import LINE_LIMIT, wanted_lines


def test_only_wanted_families_are_kept():
    page = wanted_lines(body([*load(), series("eviction_duration_seconds_bucket", 3, le="1"), "# HELP sglang:x y", "python_gc 1"]))
    assert page.kind == "sglang"
    assert page.whole
    assert len(page.samples) == 5
    assert {key.split(b"{")[0] for key, _ in page.samples} == {
        b"sglang:num_running_reqs",
        b"sglang:num_queue_reqs",
        b"sglang:token_usage",
        b"sglang:num_used_tokens",
        b"sglang:gen_throughput",
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"<!doctype html><html>", "html"),
        (b'{"error":"Unauthorized"}', "json"),
        (b"\x00\x01\x02PK\x03\x04" * 50, "binary"),
        (bytes(range(128, 256)) * 4, "binary"),
        (b"# HELP vllm:num_requests_running x\nvllm:num_requests_running 3\n", "vllm"),
        (b"# TYPE smg_worker_pool_size gauge\nsmg_worker_pool_size 2\n", "router"),
        (b"sgl_router_requests_total 2\n", "router"),
        (b"# HELP sglang:num_running_reqs x\n# TYPE sglang:num_running_reqs gauge\n", "no-series"),
        (b"# HELP node_load1 x\n# TYPE node_load1 gauge\nnode_load1 2\n", "prometheus"),
        (b"node_load1 2\n", "prometheus"),
        (b"It works!\n", "text"),
    ],
)
def test_what_is_not_a_page_of_sglang_is_told_apart(text, kind):
    assert wanted_lines(text).kind == kind


def test_a_torn_last_number_is_not_believed():
    whole = body([series("num_running_reqs", 48)])
    torn = wanted_lines(whole + b'sglang:num_queue_reqs{tp_rank="0"} 1')
    assert [value for _, value in torn.samples] == [48.0]
    assert not torn.whole
    assert not wanted_lines(whole, cut=True).whole


def test_hostile_lines_are_left_out_and_told():
    good = series("num_running_reqs", 4)
    for bad in ("1_000", "0x10", "", "4 5 6", "9" * 60, "running"):
        page = wanted_lines(body([good, f'sglang:num_queue_reqs{{a="b"}} {bad}']))
        assert [value for _, value in page.samples] == [4.0]
        assert not page.whole
    long = wanted_lines(body([good, 'sglang:num_queue_reqs{a="' + "x" * LINE_LIMIT + '"} 1']))
    assert len(long.samples) == 1


def test_values_as_prometheus_writes_them():
    page = wanted_lines(
        body(["sglang:fwd_occupancy NaN", "sglang:num_used_tokens 2.624512e+06 1700000000000", "sglang:num_queue_reqs +Inf"])
    )
    values = dict(page.samples)
    assert math.isnan(values[b"sglang:fwd_occupancy"])
    assert values[b"sglang:num_used_tokens"] == 2_624_512
    assert values[b"sglang:num_queue_reqs"] == math.inf


def test_a_brace_in_a_label_does_not_end_the_labels():
    page = wanted_lines(body(['sglang:num_running_reqs{model_name="a}b 7"} 3']))
    assert page.samples == ((b'sglang:num_running_reqs{model_name="a}b 7"}', 3.0),)


def test_an_excerpt_shows_no_secret_and_no_control_character():
    page = wanted_lines(b"<html>\x1b[31m api_key=sk-abcdefghijkl")
    assert "sk-abc" not in page.excerpt
    assert "\x1b" not in page.excerpt


@pytest.mark.parametrize(
    ("end", "broken"),
    [
        (b"", False),
        (b'sglang:token_usage{tp_rank="0"} 0.5', False),
        (b'sglang:token_usage{tp_rank="0"} NaN', False),
        (b'sglang:token_usage{tp_rank="0"} 0.', True),
        (b'sglang:num_used_tokens{tp_rank="0"} 15', True),
        (b"sglang:token_usage{tp_ra", True),
        (b"# HELP sglang:tok", True),
        (b"other_family 1", True),
    ],
)
def test_a_page_that_ends_within_a_line_is_broken_off(end, broken):
    page = wanted_lines(b'sglang:num_running_reqs{tp_rank="0"} 4.0\n' + end)
    assert (page.kind, page.broken_off) == ("sglang", broken)
    assert not wanted_lines(b"sglang:num_running_reqs 4.0\n" + end, cut=True).broken_off
