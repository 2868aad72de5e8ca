from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log, boot, context

from kvtui.diagnose.registry import diagnose
from kvtui.diagnose.steady import HOLD_S, Steady, advance
from kvtui.domain.finding import Finding


def finding(verdict="kv-capacity", *, axis="concurrency", confidence="medium", since=None):
    return Finding(verdict, verdict, f"{verdict}.", axis, confidence, since)


KV, CAP, HEALTHY = finding(), finding("running-cap"), finding("healthy")
STUCK, NOTHING = finding("server-stuck"), finding("not-enough-data", confidence="low")


def play(steps, state=None):
    """Shown primary verdicts, one a second; ``steps``: findings and for how many seconds."""
    state, at, shown = state or Steady(), 0.0, []
    for found, seconds in steps:
        for _ in range(seconds):
            state = advance(state, found, at)
            shown.append(state.shown[0].id)
            at += 1
    return shown


def changes(shown):
    return [verdict for i, verdict in enumerate(shown) if i == 0 or verdict != shown[i - 1]]


def test_the_first_verdict_is_shown_at_once():
    assert advance(Steady(), (KV,), 0).shown == (KV,)
    assert changes(play([((NOTHING,), 20), ((KV,), 2)])) == ["not-enough-data", "kv-capacity"]


def test_a_change_is_shown_once_it_has_held():
    shown = play([((HEALTHY,), 30), ((KV,), 40)])
    assert changes(shown) == ["healthy", "kv-capacity"]
    assert 30 + HOLD_S <= shown.index("kv-capacity") <= 32 + HOLD_S


def test_a_short_blip_is_not_shown():
    assert changes(play([((HEALTHY,), 30), ((KV,), 10), ((HEALTHY,), 30)])) == ["healthy"]


def test_what_comes_and_goes_does_not_flap():
    assert len(changes(play([((KV,), 20), *[((CAP,), 20), ((KV,), 20)] * 20]))) <= 8


def test_a_stuck_server_is_shown_at_once_and_goes_at_once():
    assert changes(play([((KV,), 30), ((STUCK, KV), 3), ((KV,), 3)])) == ["kv-capacity", "server-stuck", "kv-capacity"]


def test_an_out_of_memory_cannot_wait():
    crash = finding("headroom", axis="banner", confidence="high", since=5.0)
    assert play([((KV,), 30), ((crash, KV), 1)])[-1] == "headroom"


def test_healthy_never_stands_beside_a_limit():
    state = Steady()
    for at, found in ((0, (HEALTHY,)), (1, (KV,)), (40, (KV,)), (60, (HEALTHY,)), (61, (HEALTHY,))):
        state = advance(state, found, at)
        assert sum(f.axis == "concurrency" for f in state.shown) == 1


def test_something_is_always_said():
    banner = finding("leftover-flags", axis="banner")
    shown = advance(advance(Steady(), (STUCK, banner), 0), (NOTHING, banner), 1).shown
    assert shown[0].id == "not-enough-data"


def test_a_clock_that_goes_back_starts_anew():
    assert advance(advance(Steady(), (KV,), 1000), (CAP,), 10).shown == (CAP,)


def anew(verdict, since):
    return replace(finding(verdict, since=since), anew=True)


def test_what_stands_on_a_changed_load_waits_no_second_time():
    state = Steady()
    for at in range(100, 160):
        state = advance(state, (finding("client", since=100.0),), at)
    state = advance(state, (anew("running-cap", 144.0),), 160)
    assert [f.id for f in state.shown] == ["running-cap"]


def test_of_one_changed_load_only_the_first_verdict_is_shown_at_once():
    """Its figures may lie at a threshold, and two verdicts change places for minutes."""
    state = advance(Steady(), (finding("client", since=100.0),), 140)
    shown = []
    for at in range(160, 400, 5):
        state = advance(state, (anew("kv-capacity" if at // 5 % 2 else "reservation", 144.0),), at)
        shown.append(state.shown[0].id)
    assert len(changes(shown)) <= 2


def walk(name, middle, spread, seed, *, seconds=900):
    """A load whose one figure wanders noisily around a threshold; the shown primaries, judged every 5 s over 10 minutes."""
    rng = random.Random(seed)  # noqa: S311
    log, state, shown, value = Log(), Steady(), [], middle
    for second in range(seconds):
        value += rng.gauss(0, spread / 10) + (middle - value) * 0.02
        seen = max(0.0, value + rng.gauss(0, spread))
        LOADS[name](log, seen, rng)
        if second >= 20 and second % 5 == 0:
            state = advance(state, diagnose(context(log, finished=False)), log.at)
            shown.append(state.shown[0].id)
    return shown


def _usage(log, seen, rng):
    """Usage around 0.9 with a queue: full by use, or by reservation."""
    running = 30
    log.decode(running, queued=20, m=min(seen, 1.0) * 10_000 / running)
    if rng.random() < 0.2:
        log.prefill(200, running=running)


def _queue(log, seen, rng):
    """A queue that stands in about half of the lines."""
    log.decode(30, queued=5 if rng.random() < seen else 0)


def _cap(log, seen, rng):
    """Running around 0.9 of the cap of 64."""
    log.decode(min(64, round(64 * seen)), queued=20, m=120)


LOADS = {"usage": _usage, "queue": _queue, "cap": _cap}


@pytest.mark.parametrize(("name", "middle", "spread"), [("usage", 0.9, 0.03), ("queue", 0.5, 0.1), ("cap", 0.9, 0.05)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_walk_around_a_threshold_does_not_flap(name, middle, spread, seed):
    assert len(changes(walk(name, middle, spread, seed))) <= 4


@pytest.mark.parametrize(
    ("name", "middle", "spread", "verdict"),
    [("usage", 0.96, 0.01, "kv-capacity"), ("queue", 0.9, 0.05, "kv-capacity"), ("cap", 1.05, 0.02, "running-cap")],
)
def test_away_from_the_threshold_noise_changes_nothing(name, middle, spread, verdict):
    assert changes(walk(name, middle, spread, 3, seconds=300)) == [verdict]


def test_a_change_of_the_situation_is_seen():
    log, state, shown = Log(), Steady(), []
    for second in range(1500):
        if second < 300:
            log.decode(10)
        else:
            log.decode(32, queued=20)
        if second >= 20 and second % 5 == 0:
            state = advance(state, diagnose(context(log, finished=False, start=boot())), log.at)
            shown.append(state.shown[0].id)
    assert shown[-1] == "kv-capacity"
    assert len(changes(shown)) <= 4


def test_confidence_that_comes_and_goes_does_not_move_a_finding():
    sure, unsure = finding("retraction"), finding("retraction", confidence="low")
    shown = play([((KV, unsure), 30), *[((sure, KV), 5), ((KV, unsure), 5)] * 10])
    assert changes(shown) == ["kv-capacity"]
    shown = play([((KV, unsure), 30), ((sure, KV), 40)])
    assert changes(shown) == ["kv-capacity", "retraction"]


def test_a_loud_banner_that_comes_and_goes_does_not_lead_in_between():
    loud, quiet = finding("foreign-memory", axis="banner", confidence="high"), finding("foreign-memory", axis="banner")
    assert changes(play([((HEALTHY, quiet), 30), *[((loud, HEALTHY), 5), ((HEALTHY, quiet), 5)] * 10])) == ["healthy"]


def test_a_server_that_hangs_again_and_again_is_shown_at_once_twice():
    shown = play([((KV,), 30), *[((STUCK, KV), 8), ((KV,), 8)] * 10])
    assert changes(shown) == ["kv-capacity", "server-stuck", "kv-capacity", "server-stuck", "kv-capacity"]


def test_a_hint_of_broken_hardware_has_to_hold():
    hint = finding("hardware-fault", axis="banner")
    assert "hardware-fault" not in {f.id for f in advance(advance(Steady(), (KV,), 0), (KV, hint), 1).shown}
