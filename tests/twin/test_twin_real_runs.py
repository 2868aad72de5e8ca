"""The twin beside two runs of a real SGLang server: same requests, measured step times."""

import json
from pathlib import Path

import pytest
from twin.compare_traces import DECODE, measure, opening, play, row, step_times

from kvtui.domain.release import parse_release
from kvtui.twin import Demand, Server, StepTimes, TwinRequest, simulate, summarise

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "traces"


def replayed(name, **changes):
    run = json.loads((DATA / f"{name}.json").read_text())
    settings = {
        "pool_tokens": run["pool"],
        "running_cap": run["cap"],
        "release": parse_release(run["release"]),
        "chunk": run["chunk"],
        "context_len": run["context"],
        "conservativeness": run["conservativeness"],
    }
    times = StepTimes(
        measured=tuple((count, seconds) for count, seconds in run["step_s"]),
        prefill_pass_s=run["prefill_pass_s"],
        prefill_token_s=run["prefill_token_s"],
    )
    requests = tuple(TwinRequest(*asked, forced_length=True) for asked in run["requests"])
    demand = Demand(requests=requests, clients=run["clients"])
    return run["measured"], summarise(simulate(Server(**(settings | changes)), demand, times))


@pytest.mark.parametrize("name", ["twin-queues-0.5.9-s1", "twin-retracts-0.5.23-s1"])
def test_it_does_what_the_real_scheduler_did(name):
    real, twin = replayed(name)
    assert twin.mean_running == pytest.approx(real["running"], rel=0.05)
    assert abs(twin.peak_running - real["peak"]) <= 1
    assert twin.mean_queued == pytest.approx(real["queued"], rel=0.06)
    assert twin.mean_usage == pytest.approx(real["usage"], rel=0.03)
    assert twin.seconds == pytest.approx(real["seconds"], rel=0.03)
    assert abs(twin.retractions - real["retractions"]) <= 1


def test_a_reservation_that_starts_at_zero_retracts_and_never_recovers():
    """The agreement above comes from the rules: after a retraction the reservation falls by its start over 698 a step, here 0."""
    real, twin = replayed("twin-queues-0.5.9-s1", conservativeness=0.0)
    assert twin.retractions >= 1
    assert twin.mean_running < 0.9 * real["running"]


def test_step_times_are_read_from_a_log():
    log = "\n".join(
        [
            "[2026-01-01 00:00:00] Prefill batch, #new-seq: 1, #new-token: 100, #cached-token: 0, #queue-req: 0",
            *(_decode(4, 400.0 if step == 0 else 1000.0) for step in range(6)),
            "[2026-01-01 00:00:01] Prefill batch, #new-seq: 1, #new-token: 200, #cached-token: 0, #queue-req: 0",
            *(_decode(4, 4 / 0.014 if step == 0 else 1000.0) for step in range(6)),
            "[2026-01-01 00:00:01] Prefill batch, #new-seq: 1, #new-token: 100, #cached-token: 0, #queue-req: 0",
            "[2026-01-01 00:00:01] Prefill batch, #new-seq: 1, #new-token: 200, #cached-token: 0, #queue-req: 0",
            _decode(4, 200.0),
        ]
    )
    requests = [{"send_s": 0.0, "end_s": 30.0, "finish": "stop"}]
    measured = measure(log, requests)
    assert measured.times.decode_s(4) == pytest.approx(0.004)
    assert measured.times.prefill_token_s == pytest.approx(4e-5, rel=1e-3)
    assert measured.times.prefill_pass_s == pytest.approx(0.002, rel=1e-3)
    assert measured.mean_running == pytest.approx(4)
    assert measured.admissions_per_min == pytest.approx(2)


def test_a_log_with_too_few_steps_gives_no_step_times():
    with pytest.raises(ValueError, match="too few"):
        step_times({4: [0.004, 0.004]}, [])


def _decode(running, rate):
    line = f"[2026-01-01 00:00:00] Decode batch, #running-req: {running}, #token: 9, token usage: 0.10, gen throughput (token/s): {rate:.2f}, #queue-req: 3"
    assert DECODE.search(line)
    return line


@pytest.mark.skipif(not SHARED.is_dir(), reason="no recorded traces beside the repository")
def test_the_comparison_runs_on_a_recorded_trace():
    measured, twin, label = play(SHARED / "twin-queues-0.5.23-s2")
    assert label["release"] == "0.5.23"
    assert twin.mean_running == pytest.approx(measured.mean_running, rel=0.05)
    assert abs(twin.retractions - measured.retractions) <= 3
    assert "retractions" in row("one", measured, twin)


def test_the_opening_is_read_from_the_first_passes():
    log = "\n".join(
        [
            "[2026-01-01 00:00:00] Prefill batch, #new-seq: 1, #new-token: 80, #cached-token: 0, #queue-req: 0",
            "[2026-01-01 00:00:00] Prefill batch, #new-seq: 3, #new-token: 100, #cached-token: 0, #queue-req: 2",
            _decode(3, 1000.0),
            "[2026-01-01 00:00:00] Prefill batch, #new-seq: 2, #new-token: 40, #cached-token: 0, #queue-req: 2",
        ]
    )
    times = StepTimes(measured=((3, 0.005),), prefill_pass_s=0.01)
    # The decode line has 3 waiting. The third sequence of the second pass is cut at the chunk, so the third pass begins with it again.
    assert opening(log, 8, times, 100) == pytest.approx([0.0, 0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.035])
