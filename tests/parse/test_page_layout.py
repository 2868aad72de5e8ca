"""A page like the one before is merged without being sorted again, and comes to the same."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_pages import buckets, load, rank_labels, series

from kvtui.domain.release import parse_release
from kvtui.domain.scrape import Scrape
from kvtui.parse import page_layout
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.page_layout import Merger
from kvtui.parse.scrape_merge import merge
from kvtui.sources.exposition_reader import PageReader

NEW, OLD = parse_release("0.5.23"), parse_release("0.5.6")


def ranks(count, **more):
    return [line for dp in range(count) for line in load(dp=dp, tp=dp, **more)]


PAGES = {
    "one rank": load(),
    "eight ranks": ranks(8),
    "tensor ranks that all report": [line for tp in range(4) for line in load(tp=tp)],
    "pipeline stages": [*load(pp=0), *load(pp=1)],
    "two roles": [*load(engine="decode"), *load(engine="prefill")],
    "no labels": [series("num_running_reqs", 4), series("token_usage", 0.5)],
    "priorities": [*load(priority=""), *load(priority="1")],
    "modes": [
        *ranks(2),
        *(series("realtime_tokens_total", 9, mode=mode, **rank_labels(dp=0)) for mode in ("decode", "prefill_compute", "prefill_cache")),
        *(series("cuda_graph_passes_total", 9, mode=mode, **rank_labels(dp=0)) for mode in ("decode_a", "decode_b", "decode_none")),
    ],
    "histograms": [
        line
        for name in ("time_to_first_token_seconds", "queue_time_seconds")
        for dp in range(2)
        for line in buckets(name, {"0.1": 1, "1.0": 4, "+Inf": 5}, **rank_labels(dp=dp))
    ],
    "histograms of tensor ranks": [
        line for tp in range(2) for line in buckets("queue_time_seconds", {"0.1": 1, "+Inf": 5 + tp}, **rank_labels(tp=tp))
    ],
    "buckets that do not fit": [
        *buckets("queue_time_seconds", {"0.1": 1, "+Inf": 5}, **rank_labels(dp=0)),
        *buckets("queue_time_seconds", {"0.2": 1, "+Inf": 5}, **rank_labels(dp=1)),
    ],
    "constants": [
        *load(),
        *(
            series(name, 3, **rank_labels(tp=tp))
            for name in ("max_total_num_tokens", "page_size", "weight_memory_usage_gb")
            for tp in range(2)
        ),
        *(series("graph_memory_usage_gb", 2, phase=phase, **rank_labels()) for phase in ("decode", "prefill")),
    ],
    "pages by a label": [*load(), series("cache_config_info", 1, page_size="64", num_pages="100", **rank_labels())],
    "pages by a gauge": [*load(), series("num_pages", 100, **rank_labels(dp=0)), series("num_pages", 90, **rank_labels(dp=1))],
    "counters": [
        *load(),
        *(series(name, 5, model_name="m") for name in ("prompt_tokens_total", "generation_tokens_total", "num_requests_total")),
        *(series("http_requests_active", 2, endpoint=path) for path in ("/generate", "/metrics")),
    ],
}
VALUES = st.one_of(st.just(0.0), st.floats(0, 1e6), st.sampled_from([math.nan, math.inf, -1.0, 1e19]))


def samples(lines):
    page, reader = wanted_lines(("\n".join(lines) + "\n").encode()), PageReader()
    return [(reader._series(key), value) for key, value in page.samples]


def same(one, other):
    assert isinstance(one, Scrape)
    # NaN differs from itself, and a merged page holds none.
    return one == other


@pytest.mark.parametrize("name", PAGES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_page_after_page_is_merged_as_alone(name, data):
    found, merger = samples(PAGES[name]), Merger()
    for at in range(4):
        values = data.draw(st.lists(st.floats(0, 1e6) if at < 2 else VALUES, min_size=len(found), max_size=len(found)))
        page = [(one, value) for (one, _), value in zip(found, values, strict=True)]
        release, whole = data.draw(st.sampled_from([None, OLD, NEW])), data.draw(st.booleans())
        assert same(merger.merge(page, float(at), release, whole=whole), merge(page, float(at), release, whole=whole))


def test_series_that_come_and_go():
    merger = Merger()
    for name in (*PAGES, *reversed(PAGES), "eight ranks", "eight ranks"):
        page = samples(PAGES[name])
        assert same(merger.merge(page, 1.0, NEW), merge(page, 1.0, NEW)), name


def test_the_same_series_are_sorted_once(monkeypatch):
    merger, page = Merger(), samples(PAGES["eight ranks"])
    merger.merge(page, 1.0, NEW)
    monkeypatch.setattr(page_layout.rules, "sort_out", None)
    assert merger.merge([(one, value + 1) for one, value in page], 2.0, NEW).row(("unified", 7, 0)).running.value == 5
