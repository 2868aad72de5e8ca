import math
from dataclasses import replace

import pytest
from options.option_build import KIMI, account, context, workload

from kvtui.domain.reading import Missing
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import SizingError
from kvtui.domain.sizing.deployment import Deployment
from kvtui.options.effect import observed
from kvtui.options.of_plan import context_of_plan
from kvtui.options.registry import estimates
from kvtui.options.stated import Stated, what_would_it_take, with_stated

QUIET = {"workload": workload(running=1.0, queued=0.0, resident=None, tok_s=math.nan, prompt=None)}


def answer(made, stated):
    said = with_stated(made, stated)
    return said, what_would_it_take(said, estimates(said), stated)


def test_64_users_of_4k_and_500():
    stated = Stated(users=64, prompt=4_000, output=500)
    made, told = answer(context(**QUIET), stated)
    assert made.limit == "kv-capacity"
    # need 4,000 + 500 … 4,096 and 63 further charges of 4,250 and a reservation near the floor
    assert 63 * 4_250 < told.needed_tokens < 63 * 5_200
    assert told.fraction > 0.95
    assert "64 requests of 4,250 tokens" in told.sentence
    assert told.meets
    assert all(plan.tokens >= told.needed_tokens for plan in told.meets)
    assert told.basis[:3] == ("requests in flight: 64, stated", "prompt: 4,000, stated", "answer: 500, stated")


def test_what_fits_today_is_said():
    made, told = answer(context(**QUIET), Stated(users=10, prompt=1_000, output=500))
    assert made.limit == "client"
    assert "today's settings serve it" in told.sentence
    assert told.meets == ()


def test_a_cap_below_the_pool_is_the_limit():
    held = account(running_cap=replace(account().running_cap, value=8))
    made, told = answer(context(account=held, **QUIET), Stated(users=40, prompt=500, output=500))
    assert made.limit == "running-cap"
    assert observed(made) == Missing(observed(made).reason)
    assert made.rank_load()[0].value == 8
    assert told.sentence


def test_a_target_is_met_by_the_least_risk_first():
    made, told = answer(context(), Stated(target_tok_s=1_000))
    assert made == context()
    assert told.meets[0].options == ("raise-fraction",)
    assert told.meets[0].tok_s.mid >= 1_000
    assert "throughput: 835 tok/s, measured" in told.basis
    assert "no one or two levers are known to reach it" in answer(context(), Stated(target_tok_s=50_000))[1].sentence


def test_a_lever_of_unknown_speed_that_gives_the_pool_is_named():
    _, told = answer(context(**QUIET), Stated(users=64, prompt=4_000, output=500, target_tok_s=9_000))
    assert told.meets == ()
    assert "TP 8 → 16" in told.sentence
    assert told.sentence.endswith("would give the pool, and the speed has to be measured")


def test_a_waiting_time_is_a_goal():
    made = context(workload=workload(output=1_000.0))
    assert "today's settings serve it" in answer(made, Stated(target_wait_s=200))[1].sentence
    told = answer(made, Stated(target_wait_s=70))[1]
    assert told.meets
    assert all(plan.wait_s[1] <= 70 for plan in told.meets)


def test_more_users_on_a_measured_server_keep_its_throughput():
    made = with_stated(context(), Stated(users=300))
    now = observed(made)
    assert now.running + now.queued == pytest.approx(300)
    assert now.tok_s == pytest.approx(835, rel=0.1)
    other = with_stated(context(), Stated(users=300, prompt=8_000, output=2_000))
    assert isinstance(observed(other), Missing)


def test_nothing_said_and_nothing_measured():
    assert with_stated(context(), Stated()) == context()
    assert "say how many users" in answer(context(None, account=account(tokens_reported=Missing("?"), tokens_predicted=Missing("?")), workload=workload(running=0.0, resident=None)), Stated(users=5))[1].sentence  # fmt: skip
    for value in (float("nan"), -1.0, 1e30, 0.0):
        assert with_stated(context(), Stated(users=value, prompt=value, output=value)) is not None


# a server that does not run


def planned(**changes):
    given = {
        "release": parse_release("0.5.9"),
        "tp": 8,
        "pre": 94.04,
        "post": 21.71,
        "fraction": 0.85,
        "kv_dtype": "auto",
        "page_size": 1,
        "context_len": 262_144,
    }
    return Deployment(**{**given, **changes})  # fmt: skip


def test_a_plan_without_a_server_has_the_same_levers():
    made = context_of_plan(KIMI, planned())
    told = {e.id: e for e in estimates(made)}
    assert told["fp8-kv"].tokens == 2 * made.pool
    assert told["raise-fraction"].flags == ("--mem-fraction-static 0.86",)
    assert told["raise-fraction"].tokens - made.pool == pytest.approx(14_369, abs=2)
    assert told["dp-attention"].tokens is not None
    assert told["hicache"].host_gb == pytest.approx(8 * 2 * 8.164, rel=0.01)
    assert told["dcp"].applies is False
    _, said = answer(made, Stated(users=64, prompt=1_000, output=500))
    assert "64 requests of 1,250 tokens" in said.sentence


def test_a_plan_that_cannot_be_sized_says_so():
    with pytest.raises(SizingError):
        context_of_plan(KIMI, planned(fraction=0.5))
    with pytest.raises(ValueError, match="needed"):
        context_of_plan(KIMI, planned(post=None))


def test_a_forced_cap_is_known_to_the_levers():
    made = context_of_plan(KIMI, planned(spec="EAGLE3", steps=3, topk=1, draft_tokens=4))
    assert made.cap == 48
    assert "48 set by speculative" in made.account.running_cap_why
