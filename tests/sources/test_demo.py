"""The demo: a server whose numbers are the twin's and the formula's, through the readers of real ones."""

import math

import pytest

from kvtui.domain.reading import Known
from kvtui.domain.sizing import size
from kvtui.domain.what_if import tokens_at
from kvtui.engine.analyse import analyse
from kvtui.options.applied import changes_of
from kvtui.present.boots import compare
from kvtui.present.header import header
from kvtui.present.state import ViewState
from kvtui.scenarios import SCENARIOS
from kvtui.scenarios.catalogue.parts import kimi
from kvtui.sources import demo
from kvtui.sources.demo import DemoSource, demo_list, demo_scenario


class Clock:
    def __init__(self):
        self.at = 1_800_000_000.0

    def now(self):
        return self.at

    async def sleep(self, seconds):
        self.at += seconds


def opened(name=None, **more):
    clock = Clock()
    return DemoSource(name, clock, **more), clock


async def played(source, clock, seconds):
    """The frame after ``seconds`` of the server, read as a console reads it."""
    frame = await source.read()
    for _ in range(math.ceil(seconds / (5 * source.speed))):
        clock.at += 5
        frame = await source.read()
    return frame


async def test_founding_server_is_read_as_a_live_one():
    source, clock = opened()
    frame = await source.read()
    found = analyse(frame)
    assert not frame.finished
    assert frame.now == pytest.approx(clock.now(), abs=1.5)
    assert found.account.tokens_reported.value == 116_171
    assert abs(found.account.tokens_predicted.value - 116_171) <= found.account.tolerance_tokens
    assert found.findings[0].id == "kv-capacity"
    assert 45 <= found.workload.running.value <= 55
    assert 90 <= found.workload.queued.value <= 102
    assert 700 <= found.workload.gen_tput.value <= 900
    assert len(found.ledgers) == 8
    for ledger in found.ledgers:
        assert ledger.total_is_device
        assert sum(part.gib for part in ledger.parts) == pytest.approx(ledger.total_gib)
        assert ledger.total_gib == pytest.approx(97_887 / 1024)
    assert frame.http.scrape.stage_rows()[0].pool_tokens.value == 116_171
    assert isinstance(frame.http.server_info.version, Known)
    assert {health.state for health in frame.sources} == {"live"}


async def test_second_founding_server_is_capped_by_its_draft():
    source, clock = opened("founding-eagle3")
    found = analyse(await played(source, clock, 60))
    assert found.account.tokens_reported.value == 159_277
    assert found.account.running_cap.value == 48
    assert found.findings[0].id == "running-cap"
    source.apply({"max_running_requests": 96})
    after = analyse(await played(source, clock, 300))
    assert after.account.running_cap.value == 96
    assert after.workload.running.value > 60


async def test_fraction_changes_the_pool_by_exactly_the_formula():
    source, clock = opened(speed=10)
    before = analyse(await source.read())
    source.apply({"mem_fraction_static": 0.91})
    after = analyse(await played(source, clock, 400))
    told = after.account.tokens_reported.value
    assert told == size(kimi(0.91).sizing_config()).tokens
    assert tokens_at(before.account, 0.91).value == pytest.approx(told, abs=before.account.tolerance_tokens)
    assert len(after.frame.boots) == 2
    assert after.workload.running.value > 1.4 * before.workload.running.value
    assert after.workload.queued.value < 0.85 * before.workload.queued.value
    assert after.workload.gen_tput.value > 1.15 * before.workload.gen_tput.value
    assert after.ledgers[0].parts != before.ledgers[0].parts


async def test_reckless_fraction_does_not_start_and_a_better_one_does():
    source, clock = opened(speed=10)
    await source.read()
    source.apply({"mem_fraction_static": 0.97})
    starting = await source.read()
    assert starting.http.failures == {}
    failed = analyse(await played(source, clock, 120))
    assert failed.findings[0].id == "startup-failure"
    assert failed.frame.boot.state == "failed"
    assert failed.frame.http.failures["metrics"].kind == "refused"
    assert failed.frame.found is None
    assert not source.up
    source.apply({"mem_fraction_static": 0.9})
    again = analyse(await played(source, clock, 300))
    assert source.up
    assert again.frame.boot.state == "up"
    assert again.frame.http.failures == {}
    assert again.workload.running.value > 50


async def test_too_little_for_activations_dies_under_load():
    source, clock = opened(speed=10)
    await source.read()
    source.apply({"mem_fraction_static": 0.945})
    found = analyse(await played(source, clock, 200))
    assert found.frame.boot.state == "ended"
    assert found.findings[0].id == "headroom"
    assert any(event.kind == "out-of-memory" for event in found.frame.events)


async def test_clients_change_without_the_server():
    source, clock = opened(speed=10)
    await source.read()
    source.apply({"clients": 20})
    few = analyse(await played(source, clock, 300))
    assert few.workload.running.value == pytest.approx(20, abs=1)
    assert few.workload.queued.value == pytest.approx(0, abs=0.2)
    assert few.account.tokens_reported.value == 116_171


async def test_another_process_can_be_stopped():
    source, clock = opened("foreign", speed=10)
    before = analyse(await source.read())
    assert any(finding.id == "foreign-memory" for finding in before.findings)
    source.apply({"free_other_processes": True})
    after = analyse(await played(source, clock, 200))
    assert not any(finding.id == "foreign-memory" for finding in after.findings)
    assert after.account.tokens_reported.value > before.account.tokens_reported.value + 50_000


async def test_a_dead_scheduler_comes_back_with_a_restart():
    source, clock = opened("stuck", speed=10)
    stuck = analyse(await played(source, clock, 60))
    assert stuck.findings[0].id == "server-stuck"
    source.apply({})
    after = analyse(await played(source, clock, 240))
    assert after.findings[0].id == "running-cap"


async def test_time_stands_goes_by_steps_and_runs_faster():
    source, clock = opened()
    first = await source.read()
    source.pause()
    clock.at += 100
    assert (await source.read()) is first
    source.step(5)
    stepped = await source.read()
    assert stepped.now == first.now + 5
    clock.at += 100
    source.resume()
    clock.at += 2
    assert (await source.read()).now == stepped.now + 2
    source.speed = 60
    clock.at += 3
    assert (await source.read()).now == stepped.now + 182
    clock.at += 1e6
    assert (await source.read()).now == stepped.now + 782
    clock.at -= 1e6
    back = await source.read()
    assert back.now == stepped.now + 782
    for bad in (0, 0.5, 61, math.nan, math.inf):
        with pytest.raises(ValueError, match="1 to 60"):
            source.speed = bad


async def test_one_seed_one_history_whatever_the_pace():
    steady, clock = opened(seed=7)
    for _ in range(30):
        clock.at += 1
        slow = await steady.read()
    leaping, other = opened(seed=7, speed=10)
    other.at += 3
    fast = await leaping.read()
    assert fast.counts == slow.counts
    assert list(fast.timeline.column("gen_tput"))[-20:] == pytest.approx(list(slow.timeline.column("gen_tput"))[-20:], nan_ok=True)


async def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(demo, "_DETAIL", 400)
    monkeypatch.setattr(demo, "_COARSE", 100)
    source, clock = opened("kv-full", speed=60)
    for _ in range(60):
        clock.at += 1
        frame = await source.read()
    assert frame.counts.decode_lines > 1_500
    assert frame.counts.batch_lines_thinned > 0
    assert len(frame.timeline) <= 1_000
    assert len(frame.http.rows) < 200


async def test_choosing_an_older_start():
    source, clock = opened(speed=10)
    await source.read()
    source.apply({"mem_fraction_static": 0.9})
    await played(source, clock, 200)
    source.choose(0)
    assert (await source.read()).boot.final.max_total_num_tokens == 116_171
    source.choose(99)
    assert (await source.read()).boot.final.max_total_num_tokens > 180_000
    await source.close()


@pytest.mark.parametrize("name", [name for name, _ in demo_list()])
async def test_every_demo_plays_and_survives_a_restart(name):
    source, clock = opened(name, speed=20)
    found = analyse(await played(source, clock, 40))
    assert found.findings
    source.apply({})
    again = analyse(await played(source, clock, 150))
    assert again.findings
    assert SCENARIOS[name].story in found.frame.notes[0]


def test_list_names_the_founding_servers_first_and_enough_others():
    names = [name for name, _ in demo_list()]
    assert names[:2] == ["founding-kimi", "founding-eagle3"]
    assert len(names) >= 12
    assert demo_scenario(None).id == "founding-kimi"
    with pytest.raises(ValueError, match="There is no demo"):
        demo_scenario("no\x1b[31msuch")


@pytest.mark.parametrize(
    "changes",
    [
        {"mem_fraction_static": 1.5}, {"mem_fraction_static": "0.9"}, {"mem_fraction_static": True}, {"mem_fraction_static": math.nan},
        {"tp_size": 4}, {"model_path": "/etc/passwd"}, {"nonsense": 1}, {"chunked_prefill_size": 10**30}, {"page_size": 0},
        {"disable_radix_cache": "yes"}, {"kv_cache_dtype": "fp3"}, {"max_running_requests": 2.5}, {"clients": 0}, {"clients": 10**9},
        {"max_new_tokens": -1}, {"speculative_algorithm": "EAGLE"}, {"speculative_num_draft_tokens": 3}, {"quantization": "fp8"},
        {"--cpu-offload-gb": math.inf}, {"": 1}, {"x" * 10_000: 1},
    ],
)  # fmt: skip
async def test_what_cannot_be_changed_is_a_sentence_and_changes_nothing(changes):
    source, _ = opened()
    before = await source.read()
    with pytest.raises(ValueError) as error:
        source.apply(changes)
    assert 10 < len(str(error.value)) < 200
    assert (await source.read()) is before


async def test_a_plan_of_which_a_part_cannot_be_played_is_played_without_it():
    source, clock = opened(speed=10)
    await source.read()
    left = source.apply({"mem_fraction_static": 0.9, "tp_size": 4, "dp_size": 2})
    assert left == {"tp_size": "The demo does not simulate tp_size.", "dp_size": "The demo does not simulate dp_size."}
    frame = await played(source, clock, 200)
    assert frame.boot.final.max_total_num_tokens > 180_000
    await source.close()


async def test_the_screen_says_that_no_server_is_behind_it():
    source, _ = opened()
    frame = await source.read()
    assert any(one.simulated for one in frame.sources)
    assert "simulated" in "".join(span.text for span in header(ViewState(analyse(frame)), 120))


async def test_a_start_that_is_over_keeps_what_its_server_said():
    source, clock = opened(speed=10)
    before = (await source.read()).boots[0]
    source.apply({"mem_fraction_static": 0.9})
    down = await source.read()
    assert down.boots[0].version == before.version
    frame = await played(source, clock, 300)
    assert [boot.state for boot in frame.boots] == ["ended", "up"]
    assert [boot.version.value for boot in frame.boots] == ["0.5.9", "0.5.9"]
    assert [one.name for one in compare(*frame.boots)][:3] == ["mem_fraction_static", "pool, tokens", "state"]
    await source.close()


async def test_the_cure_that_the_verdict_names_is_offered_and_cures():
    source, clock = opened("giant", speed=10)
    before = analyse(await source.read())
    assert before.findings[0].id == "head-of-line"
    cure = next(one for one in before.estimates if one.id == "context-length")
    assert cure.applies
    assert cure.flags[0] in before.findings[0].advice[0]
    source.apply(changes_of(before, before.estimates, {"context-length"}, None))
    after = analyse(await played(source, clock, 240))
    assert "head-of-line" not in [finding.id for finding in after.findings]
    assert after.workload.queued.value < before.workload.queued.value
    await source.close()
