"""Since when a server has nothing to do, by pages and answers as releases give them."""

from metric_pages import load, rank_labels, scrape, series

from kvtui.domain.motion import MotionWatch
from kvtui.domain.resting import DOUBT_S, NO_REST, PROBE_TOKENS
from kvtui.parse.loads import read_loads


def page(at, *, running=0, queued=0, used=0, tokens=0.0):
    return scrape(
        [*load(running=running, queued=queued, used=used), series("realtime_tokens_total", tokens, mode="decode", **rank_labels())], at
    )


def loads(at, running=0, waiting=0):
    return read_loads({"loads": [{"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting}]}, at)


def rest(*told):
    watch = MotionWatch()
    for kind, one in told:
        getattr(watch, kind)(one)
    return watch.judge().rest


def pages(seconds, begin=0, **figures):
    return [("page", page(begin + at, **figures)) for at in range(seconds)]


def work(seconds, begin=0):
    return [("page", page(begin + at, running=8, queued=3, used=900 + at, tokens=200.0 * at)) for at in range(seconds)]


def test_nothing_read_tells_nothing():
    assert rest() == NO_REST


def test_a_server_at_rest_rests_since_the_first_look():
    got = rest(*pages(20))
    assert (got.since, got.worked) == (0, False)


def test_it_rests_since_its_last_work():
    got = rest(*work(10), *pages(20, 10, tokens=1_800.0))
    assert (got.since, got.worked) == (9, True)


def test_work_is_no_rest():
    assert rest(*work(30)).since is None


def test_gauges_that_read_zero_while_tokens_are_computed_are_late():
    got = rest(*pages(20), *[("page", page(20 + at, tokens=100.0 * at)) for at in range(5)])
    assert (got.since, got.worked) == (24, True)


def test_a_health_probe_is_no_work():
    assert rest(*[("page", page(at, tokens=PROBE_TOKENS / 2 * (at // 5))) for at in range(60)]).since == 0


def test_gauges_that_still_claim_work_are_doubted_until_loads_tell():
    old = [("page", page(10 + at, running=1, used=400, tokens=1_800.0)) for at in range(12)]
    doubt = rest(*work(10), *old)
    assert (doubt.since, doubt.doubtful) == (None, True)
    assert not rest(*work(10), *old[: int(DOUBT_S) - 1]).doubtful
    settled = rest(*work(10), *old, ("loads", loads(21.5)))
    assert (settled.since, settled.worked, settled.doubtful) == (10, True, False)


def test_an_answer_that_says_busy_settles_it_too():
    busy = rest(*work(10), ("page", page(20, running=1, used=400, tokens=1_800.0)), ("loads", loads(20.5, running=1)))
    assert (busy.since, busy.doubtful) == (None, False)


def test_running_requests_without_a_token_in_the_pool_are_none():
    assert rest(*pages(20, running=1)).since == 0


def test_loads_alone_tell():
    assert rest(("loads", loads(0, running=2)), ("loads", loads(1)), ("loads", loads(2))).since == 0
    assert rest(("loads", loads(0, running=2))).since is None


def test_loads_that_are_newer_than_the_page_count():
    told = [entry for at in range(10) for entry in (("page", page(at)), ("loads", loads(at + 0.5, waiting=1)))]
    assert rest(*told).since is None


def test_pages_without_gauges_or_counters_are_no_rest():
    silent = [("page", scrape([series("cache_hit_rate", 0.0, **rank_labels())], at)) for at in range(40)]
    assert rest(*silent).since is None
    assert rest(*silent, ("loads", loads(39))).since is not None, "an answer that says idle does tell"
