"""Merge rules of facts/observability.md 1.2 and 6."""

import math

from metric_pages import body, buckets, load, rank_labels, scrape, series

from kvtui.domain.reading import Known, Missing
from kvtui.sources import exposition_reader
from kvtui.sources.exposition_reader import PageReader


def value(reading):
    assert isinstance(reading, Known), reading
    return reading.value


def test_data_parallel_ranks_add_up_and_usage_shows_the_fullest():
    got = scrape([*load(running=8, queued=1, usage=0.97, dp=0, tp=0), *load(running=3, queued=2, usage=0.08, dp=1, tp=1)])
    assert value(got.sum("running").reading) == 11
    assert value(got.sum("queued").reading) == 3
    usage = got.highest("usage")
    assert (value(usage.reading), usage.low, usage.high) == (0.97, 0.08, 0.97)
    assert value(got.gen_tput().reading) == 200


def test_tensor_ranks_that_all_report_are_replicas():
    got = scrape([line for tp in range(8) for line in load(running=48 - (tp == 0), used=1000, tp=tp)])
    assert len(got.ranks) == 1
    assert value(got.sum("running").reading) == 48
    assert value(got.sum("used_tokens").reading) == 1000


def test_pipeline_stages_hold_the_same_requests():
    got = scrape([*load(running=5, usage=0.4, tput=90, pp=0), *load(running=5, usage=0.6, tput=100, pp=1)])
    assert len(got.ranks) == 2
    assert value(got.sum("running").reading) == 5
    assert value(got.highest("usage").reading) == 0.6
    assert value(got.gen_tput().reading) == 100


def test_constants_of_every_rank_count_once():
    constants = [series("max_total_num_tokens", 4096, **rank_labels(tp=tp)) for tp in range(8)]
    got = scrape([*load(tp=0), *constants])
    assert len(got.ranks) == 1
    assert value(got.pool_tokens().reading) == 4096


def test_the_pool_is_the_smallest_stage_of_each_data_parallel_rank():
    pools = [series("max_total_num_tokens", 100 + 10 * pp, **rank_labels(dp=dp, pp=pp)) for dp in (0, 1) for pp in (0, 1)]
    got = scrape([*(line for dp in (0, 1) for pp in (0, 1) for line in load(dp=dp, pp=pp)), *pools])
    assert value(got.pool_tokens().reading) == 200


def test_a_priority_breakdown_is_not_counted_beside_its_total():
    lines = [*load(running=9, priority=""), *load(running=4, priority="1"), *load(running=5, priority="2")]
    lines += [series("prompt_tokens_total", n, priority=p) for p, n in (("", 70), ("1", 30), ("2", 40))]
    got = scrape(lines)
    assert value(got.sum("running").reading) == 9
    assert value(got.counters.prompt_tokens) == 70


def test_one_rank_that_does_not_tell_makes_the_sum_unknown():
    lines = [*load(dp=0), *load(dp=1), series("num_grammar_queue_reqs", 2, **rank_labels(dp=0))]
    got = scrape(lines).sum("grammar_queued").reading
    assert isinstance(got, Missing)
    assert "1 of 2" in got.reason


def test_a_release_without_rank_labels_says_so():
    got = scrape([series("num_running_reqs", 3, model_name="m", engine_type="unified")], version="0.4.6")
    assert value(got.sum("running").reading) == 3
    assert any("labels no ranks" in note for note in got.notes)
    assert not scrape(load()).notes


def test_old_names_are_understood():
    where = rank_labels()
    got = scrape(
        [
            *load(),
            series("num_prefill_infight_queue_reqs", 3, **where),
            series("num_prefill_prealloc_queue_reqs", 2, **where),
            series("total_retracted_reqs", 7, **where),
            series("cache_config_info", 1, page_size="64", num_pages="1000"),
        ],
        version="0.4.10",
    )
    row = got.ranks[0]
    assert value(row.inflight_queued) == 3
    assert value(row.bootstrap_queued) == 2
    assert value(row.retracted_total) == 7
    assert value(row.page_size) == 64
    assert got.extra["num_pages"] == 1000


def test_used_evictable_and_free_are_apart_where_exact_and_reasoned_where_not():
    where = rank_labels()
    lines = [series(f"kv_{name}_tokens", n, **where) for name, n in (("used", 100), ("evictable", 300), ("available", 600))]
    row = scrape([*load(), *lines]).ranks[0]
    assert [value(r) for r in (row.kv_used_tokens, row.kv_evictable_tokens, row.kv_available_tokens)] == [100, 300, 600]
    old = scrape(load(), version="0.5.9").ranks[0].kv_evictable_tokens
    assert old == Missing("in /metrics from 0.5.12 on; this server is 0.5.9")


def test_counters_by_mode_and_graph_passes():
    where = rank_labels()
    row = scrape(
        [
            *load(),
            series("realtime_tokens_total", 11, mode="prefill_compute", **where),
            series("realtime_tokens_total", 22, mode="prefill_cache", **where),
            series("realtime_tokens_total", 33, mode="decode", **where),
            series("cuda_graph_passes_total", 5, mode="decode_cuda_graph", **where),
            series("cuda_graph_passes_total", 2, mode="decode_none", **where),
            series("cuda_graph_passes_total", 9, mode="prefill_none", **where),
        ]
    ).ranks[0]
    assert (value(row.prefill_compute_total), value(row.prefill_cache_total), value(row.decode_total)) == (11, 22, 33)
    assert (value(row.graph_passes_total), value(row.eager_passes_total)) == (5, 2)


def test_not_a_number_is_missing_and_impossible_values_are_named():
    got = scrape([*load(), series("new_token_ratio", "NaN", **rank_labels()), series("num_grammar_queue_reqs", -3, **rank_labels())])
    assert isinstance(got.ranks[0].new_token_ratio, Missing)
    assert isinstance(got.ranks[0].grammar_queued, Missing)
    assert got.notes == ("Values of the page that are no numbers, or cannot be true, were left out: 1.",)
    assert got.usable
    spoilt = scrape([line.rsplit(" ", 1)[0] + " NaN" for line in load()])
    assert (spoilt.refused, spoilt.usable) == (5, False)
    assert isinstance(scrape([*load(), series("max_total_num_tokens", "1e300", **rank_labels())]).ranks[0].pool_tokens, Missing)


def test_a_pool_of_zero_is_not_set_yet():
    got = scrape([*load(), series("max_total_num_tokens", 0, **rank_labels())]).pool_tokens().reading
    assert isinstance(got, Missing)


def test_hostile_labels_do_not_make_ranks():
    got = scrape([*load(running=2), *load(running=9, dp="99999999"), *load(running=9, dp="-1"), *load(running=9, tp="0x1")])
    assert [row.key for row in got.ranks] == [("unified", 0, 0)]
    assert value(got.sum("running").reading) == 2
    model = scrape([series("num_running_reqs", 1, model_name="\x1b[2J[bold]m")]).model
    assert "\x1b" not in model


def test_series_that_the_parser_refuses_make_a_page_not_whole():
    got = scrape(body([*load(running=2), "sglang:num_queue_reqs{tp_rank=0} 3", 'sglang:num_queue_reqs{a="1",a="2"} 3']))
    assert not got.whole
    assert value(got.sum("running").reading) == 2


def test_roles_are_not_added():
    got = scrape([*load(running=2, engine="decode"), *load(running=5, engine="prefill")])
    assert got.role == "decode"
    assert value(got.sum("running").reading) == 2
    assert any("several roles" in note for note in got.notes)


def test_server_counters_add_over_their_own_labels():
    got = scrape(
        [
            *load(),
            series("prompt_tokens_total", 10, is_streaming="true", engine_type="unified"),
            series("prompt_tokens_total", 5, is_streaming="false", engine_type="unified"),
            series("cached_tokens_total", 3, cache_source="device"),
            series("cached_tokens_total", 4, cache_source="host"),
            series("http_requests_active", 40, endpoint="/generate", method="POST"),
            series("http_requests_active", 2, endpoint="/metrics", method="GET"),
        ]
    ).counters
    assert (value(got.prompt_tokens), value(got.cached_tokens), value(got.http_active)) == (15, 7, 40)


def test_memory_of_every_rank_is_listed_and_graph_phases_add_up():
    lines = [series("weight_memory_usage_gb", 16.6 + tp, **rank_labels(tp=tp)) for tp in (0, 1)]
    lines += [
        series("graph_memory_usage_gb", gb, phase=phase, **rank_labels(tp=0)) for phase, gb in (("decode", 1.5), ("draft_decode", 0.5))
    ]
    gpus = scrape([*load(), *lines]).gpus
    assert [(gpu.tp, value(gpu.weight_gib)) for gpu in gpus] == [(0, 16.6), (1, 17.6)]
    assert value(gpus[0].graph_gib) == 2.0
    assert isinstance(gpus[1].graph_gib, Missing)


def test_histograms_add_over_ranks_and_streaming_not_over_tensor_ranks():
    counts = {"0.1": 1, "1.0": 4, "+Inf": 5}
    lines = [line for flag in ("true", "false") for line in buckets("time_to_first_token_seconds", counts, 2.0, is_streaming=flag)]
    lines += [line for dp in (0, 1) for tp in (0, 1) for line in buckets("queue_time_seconds", counts, 3.0, **rank_labels(dp=dp, tp=tp))]
    lines += buckets("queue_time_seconds", counts, 3.0, **rank_labels(dp=0, pp=1))
    got = scrape([*load(dp=0), *lines])
    assert got.ttft.counts == (2, 8, 10)
    assert got.ttft.total == 4.0
    assert got.ttft.limits == (0.1, 1.0, math.inf)
    assert got.queue_time.counts == (2, 8, 10)
    assert got.queue_time.total == 6.0
    assert value(got.ranks[0].admitted_total) == 5


def test_buckets_that_do_not_fit_together_are_no_histogram():
    lines = [
        *buckets("time_to_first_token_seconds", {"0.1": 1, "+Inf": 2}, a="1"),
        *buckets("time_to_first_token_seconds", {"0.2": 1, "+Inf": 2}, a="2"),
    ]
    assert isinstance(scrape([*load(), *lines]).ttft, Missing)
    assert isinstance(scrape([*load(), *buckets("time_to_first_token_seconds", {"0.1": 1})]).ttft, Missing)


def test_a_server_whose_series_never_repeat_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(exposition_reader, "_BYTES_LIMIT", 50_000)
    reader = PageReader()
    for turn in range(3):
        scrape([series("num_running_reqs", 1, model_name="x" * 1000 + f"{turn}-{i}") for i in range(100)], reader=reader)
        assert sum(map(len, reader._known)) < 60_000
