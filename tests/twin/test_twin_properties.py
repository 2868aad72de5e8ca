"""What holds for every workload: tokens are conserved, limits are kept, jumping changes nothing."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.domain.release import parse_release
from kvtui.twin import Demand, Lengths, Server, Shape, StepTimes, Twin, TwinRequest, simulate, summarise

TIMES = StepTimes(base_s=0.01, per_running_s=0.0007, per_token_s=3e-7, prefill_pass_s=0.004, prefill_token_s=2e-5)
RELEASES = ["0.4.6.post5", "0.5.3.post3", "0.5.9", "0.5.10.post1", "0.5.12.post1", "0.5.18", "0.5.23"]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def servers(draw):
    page = draw(st.sampled_from([1, 1, 4, 16]))
    accept = draw(st.sampled_from([1.0, 1.0, 1.0, 2.4]))
    return Server(
        pool_tokens=draw(st.integers(120, 3000)) + page * 8,
        running_cap=draw(st.integers(1, 24)),
        release=parse_release(draw(st.sampled_from(RELEASES))),
        page=page,
        chunk=draw(st.sampled_from([None, 64, 256])),
        max_prefill_tokens=draw(st.sampled_from([100, 16384])),
        conservativeness=draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])),
        radix=draw(st.booleans()),
        accept_len=accept,
        draft_tokens=4 if accept > 1 else 0,
    )


@st.composite
def requests(draw):
    shared = draw(st.sampled_from([0, 0, 20, 64]))
    prompt = shared + draw(st.integers(1, 300))
    output = draw(st.integers(1, 120))
    return TwinRequest(
        draw(st.floats(0, 8)),
        prompt,
        output,
        output + draw(st.integers(0, 200)),
        shared_prefix=shared,
        group=draw(st.sampled_from(["a", "b"])),
        cached=0 if shared else draw(st.integers(0, prompt)),
        ignore_eos=draw(st.sampled_from([False, False, True])),
        forced_length=draw(st.booleans()),
    )


@st.composite
def demands(draw):
    return Demand(
        requests=tuple(draw(st.lists(requests(), min_size=1, max_size=25))),
        clients=draw(st.sampled_from([0, 0, 3, 12])),
        think_s=draw(st.sampled_from([0.0, 0.05])),
    )


def play(server, demand, **how):
    return list(simulate(server, demand, TIMES, until=200.0, **how))


@quick
@given(servers(), demands())
def test_tokens_and_requests_are_conserved(server, demand):
    twin = Twin(server, demand, TIMES)
    states = []
    while twin.now < 200 and (state := twin.step(200.0)) is not None:
        states.append(state)
        check_pool(twin)
    left = [outcome for state in states for outcome in state.left]
    unfinished = [*twin.batch.members, *twin._fresh, *twin.queue, *([twin._chunked] if twin._chunked else [])]
    assert len(left) + len(unfinished) + len(twin._arrivals._due) <= len(demand.requests)
    produced = sum(outcome.output for outcome in left)
    produced += sum(twin.batch.produced(live) if live in twin.batch.members else live.produced for live in unfinished)
    assert sum(state.generated for state in states) == produced
    for outcome in left:
        assert outcome.arrival_s <= outcome.admitted_s <= outcome.first_s <= outcome.end_s
    if not unfinished and twin._arrivals.next_at == float("inf"):
        assert twin.pool.used == 0


def check_pool(twin):
    """What the pool counts as used is what its requests hold, each shared prefix once; and it never exceeds the pool."""
    pool = twin.pool
    held = sum(twin.batch.held(live, pool) for live in twin.batch.members)
    waiting = [*twin._fresh, *([twin._chunked] if twin._chunked else [])]
    held += sum(pool.paged(live.filled - live.shared) for live in waiting)
    held += sum(prefix.tokens for prefix in pool._prefixes.values() if prefix.holders)
    assert held == pool.used <= pool.size
    readers = sum(live.prefix is not None for live in [*twin.batch.members, *waiting])
    assert readers == sum(prefix.holders for prefix in pool._prefixes.values())
    assert pool._evictable_tokens == sum(pool._evictable.values()) >= 0
    slow = sum(min(live.max_new - twin.batch.produced(live), 4096) for live in twin.batch.members)
    slow += sum(min(live.max_new - live.produced, 4096) for live in twin.batch.stale)
    assert twin.batch.reserved(1.0, 4096, fixed_in_full=False) == slow


@quick
@given(servers(), demands())
def test_limits_are_kept(server, demand):
    for state in play(server, demand):
        assert 0 <= state.running <= server.running_cap
        assert 0 <= state.used <= server.usable_tokens
        assert 0 <= state.ratio <= 1
        assert state.seconds >= 0


@quick
@given(servers(), demands())
def test_jumping_equals_stepping(server, demand):
    """The states of the jumping run are those of the step by step run at the same times, to the last bit."""
    jumped, stepped = play(server, demand), iter(play(server, demand, jump=False))
    for state in jumped:
        singles = [next(stepped)]
        while sum(single.steps for single in singles) < state.steps:
            singles.append(next(stepped))
        last = singles[-1]
        assert (state.kind, state.at_s, state.running, state.queued, state.ratio, state.full) == (
            last.kind,
            last.at_s,
            last.running,
            last.queued,
            last.ratio,
            last.full,
        )
        assert state.used == last.used
        assert state.left == tuple(outcome for single in singles for outcome in single.left)
        for counted in ("steps", "generated", "retracted", "admitted", "new_tokens"):
            assert getattr(state, counted) == sum(getattr(single, counted) for single in singles)
    assert next(stepped, None) is None


@quick
@given(servers(), st.integers(0, 5), st.integers(1, 12))
def test_one_seed_gives_one_history(server, seed, clients):
    shape = Shape(Lengths(60, "lognormal", 0.6), Lengths(30, "uniform", 20), Lengths(80))
    demand = Demand(shape=shape, clients=clients, count=20)
    first = play(server, demand, seed=seed)
    assert first == play(server, demand, seed=seed)
    assert first != play(server, demand, seed=seed + 1)


@quick
@given(
    st.integers(1, 6), st.integers(200, 2000), st.integers(1, 1500), st.integers(20, 150), st.integers(10, 60), st.sampled_from(RELEASES)
)
def test_without_retraction_more_pool_never_means_fewer_running(seed, room, more, prompt, output, release):
    """Equal requests, all there from the start: as much work in no more decode steps, so never fewer a step."""
    # Room for one whole request: in a smaller pool the server cuts the output short.
    pool = prompt + output + room
    server = Server(pool, 64, parse_release(release), chunk=None)
    demand = Demand(shape=Shape(Lengths(prompt), Lengths(output), Lengths(output)), clients=30, count=60)
    small = summarise(simulate(server, demand, TIMES, seed=seed))
    large = summarise(simulate(replace(server, pool_tokens=pool + more), demand, TIMES, seed=seed))
    if small.retractions or large.retractions:
        return
    assert large.peak_running >= small.peak_running
    assert large.decode_steps <= small.decode_steps
    # Weighed by time the prefill stalls count too, which fall differently.
    assert large.mean_running >= small.mean_running * 0.97


@quick
@given(servers(), demands(), st.lists(st.floats(0.01, 3), min_size=1, max_size=20))
def test_driving_it_with_a_clock_changes_nothing(server, demand, waits):
    whole = summarise(simulate(server, demand, TIMES))
    twin, clock, states = Twin(server, demand, TIMES), 0.0, []
    for wait in waits:
        clock += wait
        while twin.now < clock and (state := twin.step(clock)) is not None:
            states.append(state)
    while (state := twin.step()) is not None:
        states.append(state)
    driven = summarise(states)
    assert (driven.decode_steps, driven.generated, driven.retractions, driven.finished, driven.admissions) == (
        whole.decode_steps,
        whole.generated,
        whole.retractions,
        whole.finished,
        whole.admissions,
    )
    assert driven.latency_s == whole.latency_s
