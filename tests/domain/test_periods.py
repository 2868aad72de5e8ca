"""Since when a verdict holds, and what came before it."""

from dataclasses import replace

from kvtui.domain.finding import Finding
from kvtui.domain.periods import LONGEST, Period, at_time, dated, extended, joined, since, with_earlier


def found(name, confidence="high", since=None, axis="concurrency"):
    return Finding(name, name.title(), "s", axis, confidence, since)


KV, CLIENT, NOTHING = found("kv-capacity"), found("client"), found("not-enough-data", "low")
STEP = found("cuda-graph", "medium", axis="step")


def period(begin, end, name, **more):
    return replace(Period(begin, end, name, name.title(), "high"), **more)


def played(*told):
    periods = ()
    for at, *findings in told:
        periods = extended(periods, findings, at)
    return periods


def test_a_change_ends_one_period_and_begins_the_next():
    assert played((100, CLIENT), (110, CLIENT), (120, KV), (130, KV)) == (period(100, 120, "client"), period(120, None, "kv-capacity"))


def test_nothing_new_is_the_same_object():
    periods = played((100, CLIENT))
    assert extended(periods, [found("client", "medium")], 110) is periods
    assert extended(periods, [], 110) is periods


def test_a_period_has_the_highest_confidence_that_it_had():
    periods = played((100, found("client", "low")), (110, found("client", "high")), (120, found("client", "medium")))
    assert periods == (period(100, None, "client"),)


def test_a_verdict_begins_when_the_load_did_not_when_it_was_shown():
    assert played((100, CLIENT), (160, found("kv-capacity", since=140)))[-1].begin == 140
    # A window that reaches back before the other verdict says nothing of when that one ended.
    assert played((100, CLIENT), (160, found("kv-capacity", since=50)))[-1].begin == 160


def test_the_first_verdict_may_be_older_than_the_watch():
    assert played((600, found("kv-capacity", since=20)))[0].begin == 20


def test_what_could_not_be_told_yet_is_told_by_what_is_found_next():
    assert played((100, NOTHING), (115, found("client", since=20))) == (period(20, None, "client"),)
    assert [p.id for p in played((100, NOTHING), (115, found("client", since=108)))] == ["not-enough-data", "client"]


def test_a_step_verdict_that_comes_and_goes_does_not_move_the_primary_one():
    periods = played((100, KV), (200, KV, STEP), (300, KV))
    assert [(p.begin, p.step) for p in periods] == [(100, None), (200, "cuda-graph"), (300, None)]
    assert since(periods) == 100


def test_a_clock_that_goes_back_starts_anew():
    assert played((1_000, CLIENT), (1_100, KV), (50, KV)) == (period(50, None, "kv-capacity"),)


def test_what_is_kept_is_bounded():
    assert len(played(*((at, CLIENT if at % 2 else KV) for at in range(3 * LONGEST)))) == LONGEST


def test_neighbours_are_joined_and_a_long_silence_is_not():
    told = joined([period(0, 100, "client"), period(103, 200, "client"), period(204, 300, "kv-capacity"), period(900, 999, "kv-capacity")])
    assert [(p.begin, p.end, p.id) for p in told] == [(0, 204, "client"), (204, 300, "kv-capacity"), (900, 999, "kv-capacity")]
    assert since(told) == 900


def test_earlier_periods_end_where_the_watch_began():
    told = with_earlier((period(0, 50, "healthy"), period(50, None, "client")), (period(70, None, "kv-capacity"),))
    assert [(p.begin, p.end, p.id) for p in told] == [(0, 50, "healthy"), (50, 70, "client"), (70, None, "kv-capacity")]
    assert with_earlier(told, ()) == told
    assert with_earlier((period(50, None, "client"),), (period(70, None, "client"),)) == (period(50, None, "client"),)


def test_the_period_of_a_time():
    told = (period(0, 50, "healthy"), period(50, 70, "client"), period(90, None, "kv-capacity"))
    assert [found.id if (found := at_time(told, at)) else None for at in (-1, 10, 50, 70, 80, 90, 1e9)] == [
        None, "healthy", "client", "client", None, "kv-capacity", "kv-capacity",
    ]  # fmt: skip


def test_the_primary_verdict_is_as_old_as_its_periods_say():
    told = (period(20, None, "kv-capacity"),)
    assert dated((found("kv-capacity", since=400), STEP), told)[0].since == 20
    assert dated((found("kv-capacity", since=5),), told)[0].since == 5
    assert dated((found("client", since=400),), told)[0].since == 400
    assert dated((NOTHING,), told)[0].since is None
