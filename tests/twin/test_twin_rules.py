"""Single rules of the scheduler, each seen from outside in a small run."""

import math
from dataclasses import replace

import pytest

from kvtui.domain.release import parse_release
from kvtui.twin import UNSET, Demand, Lengths, Server, Shape, StepTimes, Twin, TwinRequest, advance, replay, simulate, spread, summarise

TIMES = StepTimes(base_s=0.01, prefill_pass_s=0.001)
NEW, OLD = parse_release("0.5.23"), parse_release("0.5.9")


def burst(count, prompt, output, max_new=None, **more):
    return Demand(requests=tuple(TwinRequest(0.0, prompt, output, max_new or output, **more) for _ in range(count)))


def states(server, demand, **how):
    return list(simulate(server, demand, TIMES, **how))


def first_pass(server, demand):
    return next(state for state in states(server, demand) if state.kind == "prefill")


@pytest.mark.parametrize(
    ("release", "page", "admitted"), [("0.5.9", 1, 7), ("0.5.23", 1, 7), ("0.5.9", 64, 7), ("0.5.10.post1", 64, 7), ("0.5.12.post1", 64, 7)]
)
def test_a_burst_is_charged_in_full_and_clipped_at_4096(release, page, admitted):
    """facts/diagnoses.md 7: a pool of 33,377 tokens, prompts of 128 and an unset maximum admit 7 in one pass."""
    server = Server(33_377, 256, parse_release(release), page=page, chunk=None)
    assert first_pass(server, burst(20, 128, 300, UNSET)).admitted == admitted


@pytest.mark.parametrize(("release", "admitted"), [("0.5.9", 8), ("0.5.10.post1", 6), ("0.5.12.post1", 5), ("0.5.23", 5)])
def test_a_page_of_overhead_is_charged_from_0_5_10_and_tested_from_0_5_12(release, admitted):
    """18 pages: the k-th is let in while 128 < 1152 − 128k, 128 < 1152 − 192k, and 192 < 1152 − 192k."""
    server = Server(18 * 64, 256, parse_release(release), page=64, chunk=None)
    assert first_pass(server, burst(20, 64, 64)).admitted == admitted


def test_what_runs_is_charged_its_share_of_what_it_may_still_generate():
    twin = Twin(Server(10_000, 64, NEW, chunk=None), burst(3, 100, 50, 1000), TIMES)
    list(advance(twin, 0.1))
    produced = twin.batch.produced(twin.batch.members[0])
    assert twin.batch.reserved(0.5, 4096, fixed_in_full=True) == 0.5 * 3 * (1000 - produced)
    assert twin.batch.reserved(0.5, 100, fixed_in_full=True) == 0.5 * 3 * 100


@pytest.mark.parametrize(("release", "ratio"), [(OLD, 0.5), (NEW, 1.0)])
def test_requests_that_ignore_eos_are_charged_in_full_from_0_5_23(release, ratio):
    twin = Twin(Server(10_000, 64, release, chunk=None), burst(3, 100, 50, 1000, ignore_eos=True), TIMES)
    list(advance(twin, 0.1))
    left = 3 * (1000 - twin.batch.produced(twin.batch.members[0]))
    assert twin.batch.reserved(0.5, 4096, fixed_in_full=twin.server.rules.fixed_length_in_full) == ratio * left


def test_the_reservation_decays_in_600_steps_and_starts_again_when_idle():
    late = TwinRequest(60.0, 10, 5, 5)
    run = states(Server(10_000, 64, NEW), Demand(requests=(TwinRequest(0.0, 10, 700, 700), late)))
    decodes = [state for state in run if state.kind == "decode"]
    assert decodes[0].ratio == pytest.approx(0.098)
    single = states(Server(10_000, 64, NEW), Demand(requests=(TwinRequest(0.0, 10, 302, 302),)))
    assert single[-1].ratio == pytest.approx(0.7 - 301 * 0.602 / 600)
    idle = next(state for state in run if state.kind == "idle")
    assert idle.ratio == pytest.approx(0.7)


@pytest.mark.parametrize(("release", "ratio"), [("0.5.9", 0.7), ("0.5.10.post1", 0.7), ("0.5.12.post1", None), ("0.5.23", None)])
def test_all_finishing_at_once_resets_the_reservation_only_in_old_releases(release, ratio):
    """Two rounds of one cohort, the second waiting: up to 0.5.10 the empty pass in between counts as idle."""
    server = Server(4000, 2, parse_release(release), chunk=None)
    run = states(server, burst(4, 100, 101))
    second = [state for state in run if state.kind == "prefill"][-1]
    assert second.ratio == pytest.approx(ratio if ratio is not None else 0.7 - 100 * 0.602 / 600)


def test_the_first_refusal_closes_the_batch_until_a_request_leaves():
    """Room for the next comes free with the decay of the reservation, but nobody looks before a request leaves."""
    requests = (TwinRequest(0.0, 100, 400, 400), TwinRequest(0.0, 100, 300, 400), TwinRequest(0.1, 100, 20, 300))
    run = states(Server(1000, 64, NEW, chunk=None), Demand(requests=requests))
    joined = [state for state in run if state.kind == "prefill"]
    assert [state.admitted for state in joined] == [1, 1, 1]
    refused = next(state for state in run if state.full)
    first_leave = next(state for state in run if state.left)
    assert refused.at_s < first_leave.at_s
    assert joined[2].at_s > first_leave.at_s


def test_finished_requests_leave_before_admission_only_from_0_5_23():
    """Two cohorts: the old release decodes once more (or idles) before it looks at the queue."""
    requests = (TwinRequest(0.0, 10, 20, 20), TwinRequest(0.0, 10, 60, 60), TwinRequest(0.0, 10, 5, 5))
    waits = {}
    for release in (OLD, NEW):
        run = states(Server(1000, 2, release), Demand(requests=requests))
        end = next(state.at_s for state in run if state.left)
        waits[release] = next(state.at_s for state in run if state.kind == "prefill" and state.at_s > end) - end
    assert waits[NEW] == pytest.approx(0.001)
    assert waits[OLD] == pytest.approx(0.011)


def test_retraction_takes_the_least_produced_and_puts_it_last():
    """What it held is lost, what it has produced is kept. Ties: see the test with speculation."""
    requests = (TwinRequest(0.0, 100, 480, 480), TwinRequest(0.05, 150, 480, 480), TwinRequest(2.0, 600, 30, 40))
    twin = Twin(Server(1000, 64, NEW, chunk=None, conservativeness=0.0), Demand(requests=requests), TIMES, jump=False)
    state = next(state for state in iter(twin.step, None) if state.retracted)
    assert state.retracted == 1
    assert [live.asked.prompt for live in twin.queue] == [600, 150]
    back = twin.queue[-1]
    assert 300 < back.produced < twin.batch.produced(twin.batch.members[0])
    assert (back.prefix, back.filled) == (None, 0)


def test_the_ratio_after_a_retraction_counts_max_new_unclipped():
    server = Server(4000, 64, NEW, chunk=None, conservativeness=0.1)
    requests = (TwinRequest(0.0, 1000, 1400, 1500), TwinRequest(0.05, 1000, 1400, 1500))
    twin = Twin(server, Demand(requests=requests), TIMES, jump=False)
    ratio_before, produced = 0.0, 0
    for state in iter(twin.step, None):
        if state.retracted:
            assert state.ratio == pytest.approx((produced + 20) / (1500 + 1), rel=1e-9)
            break
        ratio_before = state.ratio
        produced = twin.batch.produced(twin.batch.members[0]) if twin.batch.members else 0
    else:
        pytest.fail("no retraction")
    assert ratio_before == pytest.approx(0.0098)


def test_min_new_tokens_counts_again_after_a_retraction():
    for forced in (False, True):
        server = Server(600, 64, NEW, chunk=None, conservativeness=0.0)
        outcomes = [outcome for state in states(server, burst(2, 100, 250, 390, forced_length=forced)) for outcome in state.left]
        retracted = next(outcome for outcome in outcomes if outcome.retractions)
        assert (retracted.output > 250) is forced
        assert retracted.output <= 390


@pytest.mark.parametrize(("release", "prompt"), [("0.5.9", 100), ("0.5.23", 150)])
def test_with_speculation_old_releases_retract_the_newest(release, prompt):
    """Both have produced the same; since 0.5.18 the longest prompt goes, as it does without speculation."""
    requests = (TwinRequest(0.0, 150, 270, 270), TwinRequest(0.0, 100, 270, 270))
    server = Server(800, 64, parse_release(release), chunk=None, conservativeness=0.0, accept_len=2.0, draft_tokens=64)
    twin = Twin(server, Demand(requests=requests), TIMES)
    next(state for state in iter(twin.step, None) if state.retracted)
    assert twin.queue[-1].asked.prompt == prompt


def test_the_accept_length_is_the_mean_gain():
    run = summarise(states(Server(10_000, 64, NEW, accept_len=2.5, draft_tokens=4), burst(1, 10, 1001)))
    assert run.decode_steps == 400


def test_a_long_prompt_is_prefilled_in_chunks_and_counts_as_a_sequence_each_time():
    run = [state for state in states(Server(10_000, 64, NEW, chunk=256), burst(1, 1000, 5)) if state.kind == "prefill"]
    assert [state.new_tokens for state in run] == [256, 256, 256, 232]
    assert [state.admitted for state in run] == [1, 0, 0, 0]
    assert [state.sequences for state in run] == [1, 1, 1, 1]


def test_max_prefill_tokens_ends_a_pass():
    run = first_pass(Server(10_000, 64, NEW, chunk=None, max_prefill_tokens=250), burst(5, 100, 5))
    assert run.admitted == 2


def test_the_running_cap_holds():
    run = summarise(states(Server(10_000, 3, NEW), burst(9, 100, 50)))
    assert run.peak_running == 3
    assert run.finished == 9


def test_a_shared_prefix_is_computed_once_and_held_once():
    demand = Demand(shape=Shape(Lengths(50), Lengths(20), Lengths(20), shared_prefix=500), clients=4, count=12, ramp_s=0.005)
    with_radix, without = (summarise(states(Server(10_000, 8, NEW, radix=radix), demand)) for radix in (True, False))
    assert without.cached_tokens == 0
    assert with_radix.cached_tokens == 11 * 500
    assert with_radix.prompt_tokens == 500 + 12 * 50
    assert with_radix.mean_usage < 0.5 * without.mean_usage


def test_a_hit_rate_shortens_prefill_but_not_what_a_request_holds():
    shape = Shape(Lengths(400), Lengths(20), Lengths(20), cached_share=0.75)
    run = summarise(states(Server(10_000, 8, NEW), Demand(shape=shape, clients=2, count=6)))
    assert run.cached_tokens == 6 * 300
    assert run.prompt_tokens == 6 * 100
    assert run.peak_usage >= 2 * 400 / 10_000


def test_without_radix_fixed_lengths_are_admitted_by_looking_ahead_to_their_end():
    """One ends before the other needs its room: what the reservation alone would refuse is let in."""
    requests = (TwinRequest(0.0, 300, 20, 20, ignore_eos=True), TwinRequest(0.0, 300, 350, 350, ignore_eos=True))
    ahead = first_pass(Server(1000, 8, NEW, chunk=None, radix=False), Demand(requests=requests))
    assert ahead.admitted == 2
    none = first_pass(Server(900, 8, NEW, chunk=None, radix=False), burst(2, 300, 250, ignore_eos=True))
    assert none.admitted == 1


def test_a_prompt_longer_than_the_pool_is_refused_and_its_client_goes_on():
    demand = Demand(requests=(TwinRequest(0.0, 5000, 5), TwinRequest(0.0, 50, 5)), clients=1)
    outcomes = [outcome.ending for state in states(Server(1000, 8, NEW), demand) for outcome in state.left]
    assert outcomes == ["refused", "finished"]


def test_a_request_that_outgrows_the_pool_alone_is_aborted():
    server = Server(200, 8, NEW, chunk=None, accept_len=2.0, draft_tokens=64)
    run = summarise(states(server, burst(1, 100, 90)))
    assert (run.aborted, run.finished) == (1, 0)


def test_a_restart_with_a_larger_pool_runs_more():
    """What was in flight waits anew, nothing is lost, and the reservation starts again."""
    shape = Shape(Lengths(200), Lengths(100), Lengths(100))
    twin = Twin(Server(2000, 64, NEW), Demand(shape=shape, clients=30), TIMES, seed=1)
    before = summarise(advance(twin, 20.0))
    flying = twin.in_flight
    twin.restart(replace(twin.server, pool_tokens=6000), down_s=5.0)
    assert twin.in_flight == flying == 30
    assert twin.ratio == pytest.approx(0.7)
    after = summarise(advance(twin, 60.0), from_s=30.0)
    assert after.mean_running > 2 * before.mean_running
    assert after.waiting_s.mean < before.latency_s.p99 + 30


def test_replays_spread_over_seeds():
    shape = Shape(Lengths(200, "lognormal", 0.8), Lengths(100, "lognormal", 0.5), Lengths(200))
    runs = replay(Server(4000, 64, NEW), Demand(shape=shape, rate_per_s=5.0), TIMES, seeds=range(4), until=60.0, from_s=10.0)
    low, mid, high = spread(runs)["mean_running"]
    assert low < mid < high
    assert spread(runs)["seconds"][1] == pytest.approx(50, abs=1)
    with pytest.raises(ValueError, match="one run"):
        spread([])


def test_poisson_arrivals_come_at_their_rate():
    shape = Shape(Lengths(20), Lengths(5), Lengths(5))
    run = summarise(states(Server(10_000, 64, NEW), Demand(shape=shape, rate_per_s=10.0), until=200.0))
    assert run.finished == pytest.approx(2000, rel=0.08)
    assert run.waiting_s.p50 < 0.02


def test_a_closed_loop_never_has_more_in_flight_than_clients():
    twin = Twin(Server(3000, 4, NEW), Demand(shape=Shape(Lengths(20), Lengths(30)), clients=7), TIMES)
    assert all(twin.in_flight <= 7 for _ in advance(twin, 10.0))


def test_a_run_that_finishes_nothing_says_nan_not_zero():
    run = summarise([])
    assert math.isnan(run.tok_per_s)
    assert math.isnan(run.latency_s.mean)
    assert run.finished == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Server(0, 1),
        lambda: Server(1000, 0),
        lambda: Server(1000, 1, conservativeness=math.nan),
        lambda: Server(1000, 1, accept_len=0.5),
        lambda: Server(1000, 1, page=64, chunk=32),
        lambda: Server(64, 1, page=64, context_len=2),
        lambda: Server(1 << 60, 1),
        StepTimes,
        lambda: StepTimes(base_s=math.inf),
        lambda: StepTimes(measured=((2, 0.1), (1, 0.1))),
        lambda: TwinRequest(-1.0, 1, 1),
        lambda: TwinRequest(0.0, 0, 1),
        lambda: TwinRequest(0.0, 10, 1, shared_prefix=11),
        lambda: Lengths(0),
        lambda: Lengths(math.nan),
        lambda: Lengths(10, "sample"),
        Demand,
        lambda: Demand(shape=Shape(Lengths(1), Lengths(1))),
        lambda: Demand(requests=(TwinRequest(0.0, 1, 1),), think_s=-1.0),
        lambda: list(simulate(Server(1000, 8), Demand(shape=Shape(Lengths(1), Lengths(1)), clients=1), TIMES)),
    ],
)
def test_impossible_inputs_are_named(wrong):
    with pytest.raises(ValueError, match=r"."):
        wrong()


def test_step_times_between_and_beyond_what_was_measured():
    times = StepTimes(measured=((1, 0.010), (5, 0.018), (10, 0.028)))
    assert times.decode_s(5) == 0.018
    assert times.decode_s(3) == pytest.approx(0.014)
    assert times.decode_s(20) == pytest.approx(0.048)
    assert StepTimes(measured=((4, 0.02),)).decode_s(64) == 0.02
    assert StepTimes(base_s=0.01, per_running_s=0.001).decode_s(10) == pytest.approx(0.02)
