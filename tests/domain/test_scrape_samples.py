"""Pages and loads as rows of a SampleStore."""

import pytest
from metric_pages import load, rank_labels, scrape, series

from kvtui.domain.load_samples import load_rows_between
from kvtui.domain.samples import DECODE, PREFILL, SampleStore
from kvtui.domain.scrape_samples import SampleFeed, events_between, rows_between
from kvtui.domain.workload import observe
from kvtui.parse.loads import read_loads


def page(
    at, running=4, used=400, tput=100.0, compute=0, cache=0, admitted=0, lengths=None, passes=0, retracted=None, dp=None, usage=0.4, **more
):
    where = rank_labels(dp=dp)
    lines = [
        *load(running=running, used=used, tput=tput, usage=usage, dp=dp),
        series("realtime_tokens_total", compute, mode="prefill_compute", **where),
        series("realtime_tokens_total", cache, mode="prefill_cache", **where),
        series("queue_time_seconds_count", admitted, **where),
        series("max_total_num_tokens", 1000, **where),
        series("cuda_graph_passes_total", passes, mode="decode_cuda_graph", **where),
    ]
    lines += [series(name, value, **where) for name, value in more.items()]
    if lengths is not None:
        lines.append(series("decode_sum_seq_lens", lengths, **where))
    if retracted is not None:
        lines.append(series("num_retracted_requests_total", retracted, **where))
    return scrape(lines, at)


def test_a_page_that_repeats_gives_no_row():
    assert len(rows_between(None, page(0))) == 1
    assert rows_between(page(0), page(1)) == ()


def test_a_decode_row_has_the_columns_of_a_batch_line():
    row = rows_between(page(0), page(1, running=5, used=500, tput=120))[0]
    assert row["kind"] == DECODE
    assert (row["at"], row["dp"], row["running"], row["tokens"], row["gen_tput"], row["usage"]) == (1, 0, 5, 500, 120, 0.4)
    store = SampleStore()
    store.append(row)
    assert store.view().value("running", 0) == 5


def test_a_throughput_that_did_not_move_belongs_to_another_batch():
    assert "gen_tput" not in rows_between(page(0), page(1, running=5))[0]


def test_usage_is_exact_where_it_agrees_with_the_rounded_gauge():
    assert rows_between(None, page(0, kv_used_tokens=404))[0]["usage"] == 0.404
    assert rows_between(None, page(0, kv_used_tokens=999))[0]["usage"] == 0.4
    assert rows_between(None, page(0, full_token_usage=0.2))[0]["usage"] == 0.2


def test_prefill_rows_come_from_counters():
    rows = rows_between(page(0), page(2, compute=900, cache=100, admitted=3))
    assert [row["kind"] for row in rows] == [PREFILL]
    assert (rows[0]["new_token"], rows[0]["cached_token"], rows[0]["new_seq"], rows[0]["input_tput"]) == (900, 100, 3, 450)


def test_a_restart_between_two_pages_gives_no_negative_tokens():
    rows = rows_between(page(0, compute=900), page(1, compute=10))
    assert all(row["kind"] == DECODE for row in rows)
    assert events_between(page(0, retracted=5), page(1, retracted=2)) == ()


def test_retractions_become_events():
    event = events_between(page(0), page(1, retracted=3, dp=None))[0]
    assert (event.kind, event.at, event.fields["retracted"]) == ("retract", 1, 3)
    assert events_between(None, page(1, retracted=3)) == ()


def test_only_pages_after_a_decode_tick_are_decode_rows_where_that_can_be_told():
    feed = SampleFeed()
    kinds = []
    for at in range(40):
        prefill = at % 3 == 2
        rows = feed.push(
            page(at, running=3 if prefill else 4, used=700 if prefill else 400 + at, tput=100 + at, lengths=400 + at, passes=30 * at)
        )
        kinds.append((prefill, len(rows)))
    assert all(count == (0 if prefill else 1) for prefill, count in kinds)
    assert feed.steps_per_row == pytest.approx(30 * 39 / 27)


def test_where_prefixes_are_shared_every_page_counts():
    feed = SampleFeed()
    assert sum(len(feed.push(page(at, used=900 + at, lengths=400))) for at in range(10)) == 10


def test_the_rules_workload_is_right_on_metrics_alone():
    feed, store = SampleFeed(), SampleStore()
    # 10 running, 250 steps a second, 100 prompt tokens and 50 generated ones a request: 50 requests a second
    for at in range(60):
        used = 400 + at % 2
        for row in feed.push(
            page(at, running=10, used=used, lengths=used, tput=2500 + at, passes=250 * at, compute=5000 * at, admitted=50 * at)
        ):
            store.append(row)
    got = observe(store.view(), [], pool_tokens=1000, decode_interval=round(feed.steps_per_row))
    assert got.running.value == 10
    assert got.prompt.value == pytest.approx(100)
    assert got.output.value == pytest.approx(50, rel=0.05)
    assert got.input_tput.value == pytest.approx(5000, rel=0.05)


def test_loads_make_rows_where_there_is_no_page():
    def answer(at, **row):
        return read_loads({"loads": [{"timestamp": at, "dp_rank": 0, "num_running_reqs": 4, "gen_throughput": 50.0, **row}]}, at)

    first = load_rows_between(None, answer(1))
    assert first[0]["running"] == 4
    assert load_rows_between(answer(1), answer(2)) == ()
    moved = load_rows_between(answer(1), answer(2, num_running_reqs=5))
    assert moved[0]["running"] == 5
    assert "gen_tput" not in moved[0]
