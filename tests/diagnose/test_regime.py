from __future__ import annotations

import bisect
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import account, boot, event

from kvtui.diagnose.context import context_of
from kvtui.diagnose.regime import WHOLE, newest_regime
from kvtui.diagnose.registry import diagnose
from kvtui.domain.frame import Frame
from kvtui.domain.samples import DECODE, PREFILL, SampleStore

POOL, CAP, WINDOW, TICK = 100_000, 256, 600.0, 2.0
SEEDS = range(4)


def light(_u, _r):
    return 30, 0, 0.3


def light_with_a_queue_now_and_then(_u, r):
    return 30, int(r.random() < 0.2), 0.3


def saturated(_u, r):
    return 90, 80 + r.gauss(0, 10), 0.94


def sawtooth(period):
    return lambda u, _r: (60 + 35 * (u % period) / period, 30, 0.75 + 0.24 * (u % period) / period)


def bursts(on, off):
    def at(u, _r):
        p = u % (on + off)
        if p < on * 0.6:
            return 90, 60 * (1 - p / (on * 0.6)) + 1, 0.9
        left = 1 - (p - on * 0.6) / (on * 0.4)
        return (90 * left + 1, 0, 0.9 * left) if p < on else None

    return at


def ramp(total):
    return lambda u, _r: (5 + 90 * u / total, 0, 0.05 + 0.85 * u / total)


def drain(total):
    return lambda u, _r: (90 * (1 - u / total) + 1, 0, 0.94 * (1 - u / total))


def samples(parts, seed=0, noise=0.1):
    """Decode lines every two seconds or so, prefill lines while requests come; parts are (seconds, what runs then)."""
    r, store, t, line = random.Random(seed), SampleStore(), 0.0, 10  # noqa: S311
    for seconds, shape in parts:
        u = 0.0
        while u < seconds:
            told = shape(u, r)
            if told is not None:
                line += 2
                running, queued, usage = told
                running = max(1, round(running * (1 + r.gauss(0, noise))))
                usage = min(1.0, max(0.01, usage * (1 + r.gauss(0, noise / 4))))
                row = {"at": t, "dp": 0.0, "pp": 0.0, "running": running, "queued": max(0, round(queued)), "usage": usage}
                rate = running / (0.02 + 0.0005 * running) * (1 + r.gauss(0, 0.08))
                if not seconds_of_drain(shape) and r.random() < 0.5:
                    store.append({**row, "line": line, "kind": PREFILL, "new_seq": 1, "new_token": 500, "cached_token": 0})
                store.append({**row, "line": line + 1, "kind": DECODE, "tokens": usage * POOL, "gen_tput": rate})
            t += TICK * r.uniform(0.8, 1.2)
            u += TICK
    return store.view(), t


def seconds_of_drain(shape):
    return shape.__qualname__.startswith("drain")


def regime(parts, *, finished=False, seed=0, noise=0.1, kept_from=None):
    line, end = samples(parts, seed, noise)
    found = newest_regime(line, window_s=WINDOW, finished=finished, kept_from=kept_from)
    return found, end


def verdicts(line, now, *, finished=False, events=()):
    frame = Frame(now, finished, (boot(pool=POOL, cap=CAP),), -1, line, events)
    return diagnose(context_of(frame, account(tokens_reported=POOL, running_cap=CAP)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize(
    "shape",
    [light, light_with_a_queue_now_and_then, saturated, sawtooth(30), sawtooth(120), sawtooth(300), sawtooth(500), ramp(900)],
    ids=["light", "some-queue", "saturated", "saw30", "saw120", "saw300", "saw500", "ramp"],
)
def test_one_regime_is_not_cut(shape, finished, seed):
    assert regime([(900, shape)], finished=finished, seed=seed)[0] == WHOLE


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("on_off", [(60, 60), (30, 90), (120, 180)])
def test_bursts_with_idle_gaps_are_one_regime(on_off, seed):
    assert regime([(900, bursts(*on_off))], seed=seed)[0].since is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_load_that_still_grows_is_no_regime(seed):
    assert regime([(600, ramp(600))], seed=seed)[0] == WHOLE
    assert regime([(400, lambda _u, _r: (6, 0, 0.06)), (200, ramp(200))], seed=seed)[0] == WHOLE


@pytest.mark.parametrize("seed", SEEDS)
def test_one_more_burst_is_no_regime(seed):
    def burst(u, _r):
        return (60, 20, 0.9) if u % 200 >= 150 else (30, 0, 0.3)

    assert regime([(600, burst)], seed=seed)[0].since is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("before", [light, light_with_a_queue_now_and_then])
@pytest.mark.parametrize("seconds", [20, 30, 60, 120, 300, 550])
def test_a_saturation_of_the_last_minutes_begins_where_it_begins(seconds, before, seed):
    found, end = regime([(1200, before), (seconds, saturated)], seed=seed)
    assert found.since is not None
    assert abs(end - found.since - seconds) <= 8 + 0.02 * seconds


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("seconds", "finished", "counts"), [(40, False, False), (90, False, True), (90, True, False), (200, True, True)])
def test_a_lull_after_saturation_is_not_a_regime_but_relief_is(seconds, finished, counts, seed):
    found, end = regime([(1200, saturated), (seconds, light)], finished=finished, seed=seed)
    assert (found.since is not None) == counts
    assert not counts or abs(end - found.since - seconds) <= 15


def test_a_retraction_of_a_finished_log_is_not_cut_away():
    parts = [(1200, saturated), (200, light)]
    assert regime(parts, finished=True)[0].since is not None
    assert regime(parts, finished=True, kept_from=1100.0)[0].since is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("seconds", [30, 60, 120, 200])
def test_a_finished_log_that_ends_in_a_drain_is_the_saturation_before(seconds, seed):
    line, end = samples([(1200, light), (180, saturated), (seconds, drain(seconds))], seed)
    found = newest_regime(line, window_s=WINDOW, finished=True)
    assert abs(end - found.since - 180 - seconds) <= 10
    assert abs(end - found.until - seconds) <= 10
    primary = verdicts(line, end, finished=True)[0]
    assert (primary.id, primary.since) == ("kv-capacity", found.since)
    assert re_running(primary) > 80


def re_running(finding):
    return float(finding.sentence.split(" run,")[0].split()[-1])


@pytest.mark.parametrize("seconds", [30, 60, 120, 180, 300, 500])
def test_figures_and_since_are_of_the_newest_regime_only(seconds):
    line, end = samples([(1200, light), (seconds, saturated)])
    primary = verdicts(line, end)[0]
    assert primary.id == "kv-capacity"
    assert re_running(primary) > 80
    assert abs(end - primary.since - seconds) <= 10
    assert any("before, 30 ran, 0 waited" in proof.text for proof in primary.evidence)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_verdict_does_not_flap_while_time_passes(seed):
    line, end = samples([(700, light), (700, saturated), (700, light)], seed)
    at = list(line.column("at"))
    shown = []
    for now in range(60, int(end), 20):
        first = verdicts(line.slice(0, bisect.bisect_right(at, now)), float(now))[0].id
        if not shown or shown[-1] != first:
            shown.append(first)
    assert shown == ["client", "kv-capacity", "client"]


def test_a_change_of_the_step_alone_is_a_regime():
    line, end = samples([(900, light)])
    slow = SampleStore()
    for i in range(len(line)):
        row = {name: line.value(name, i) for name in ("at", "line", "dp", "pp", "kind", "running", "queued", "usage", "tokens", "gen_tput")}
        slow.append({**row, "gen_tput": row["gen_tput"] / (3 if row["at"] > end - 200 else 1)})
    found = newest_regime(slow.view(), window_s=WINDOW, finished=False)
    assert found.since is not None
    assert abs(end - found.since - 200) <= 10


def test_samples_without_times_or_hardly_any_are_one_regime():
    store = SampleStore()
    for i in range(50):
        store.append({"line": i, "kind": DECODE, "running": 90.0, "queued": 5.0})
    assert newest_regime(store.view(), window_s=WINDOW, finished=False) == WHOLE
    store = SampleStore()
    store.append({"at": 1.0, "line": 1, "kind": DECODE, "running": float("nan")})
    assert newest_regime(store.view(), window_s=WINDOW, finished=True) == WHOLE
    assert newest_regime(SampleStore().view(), window_s=WINDOW, finished=True) == WHOLE


def test_hostile_figures_do_not_crash():
    store = SampleStore()
    for i in range(200):
        store.append(
            {"at": float(i), "line": i, "kind": DECODE, "running": 1e300 if i % 7 else 0.0, "usage": 1e300 if i % 5 else float("inf"), "queued": -1e300,
             "gen_tput": 1e-300, "accept_len": float("inf"), "dp": float("nan")}
        )  # fmt: skip
    newest_regime(store.view(), window_s=WINDOW, finished=True)


def test_a_retraction_before_the_change_does_not_count_for_a_running_server():
    line, end = samples([(900, saturated), (300, light)])
    before = (event("retract", retracted=1.0, at=850.0, line=400),)
    assert verdicts(line, end, events=before)[0].id == "client"
    assert verdicts(line, end, finished=True, events=before)[0].id in {"retraction", "kv-capacity"}
