"""Scenarios as text: what they render is read without loss, follows the memory law, and repeats itself."""

import ast
import json
from pathlib import Path

import pytest

from kvtui.domain.accounting import account
from kvtui.domain.finding import VERDICT_IDS
from kvtui.domain.reading import Known
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.logreader import LogReader
from kvtui.scenarios import EPOCH, SCENARIOS, Box, Draft, Player, build, start_of
from kvtui.scenarios.cards import H100, PRO_6000
from kvtui.scenarios.catalogue.parts import KIMI_TIMES, kimi, llama, oss, qwen8, qwen32
from kvtui.scenarios.start import activation_gib, step_times
from kvtui.sources.exposition_reader import PageReader

PACKAGE = Path(__file__).resolve().parents[2] / "kvtui" / "scenarios"


def reading_of(text):
    reader = LogReader()
    reader.feed([line.encode() for line in text.rstrip("\n").split("\n")])
    return reader.reading()


def log_of(situation, seconds, seed=0):
    player = Player(situation, seed=seed, epoch=EPOCH)
    return "\n".join(player.advance(player.up_s + seconds))


def test_founding_servers_come_out_to_the_token():
    assert start_of(kimi(0.85)).tokens == 116_171
    assert start_of(kimi(0.88)).tokens == 159_277
    drafted = start_of(kimi(0.88, draft=Draft()))
    assert (drafted.tokens, drafted.cap) == (159_277, 48)


def test_every_verdict_has_a_scenario():
    assert {verdict for scenario in SCENARIOS.values() for verdict in scenario.expected} == set(VERDICT_IDS)
    assert len(SCENARIOS) >= 40
    assert all(len(scenario.story) < 140 and scenario.title for scenario in SCENARIOS.values())


def test_scenarios_know_neither_rules_nor_parsers():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kvtui"):
                assert node.module.split(".")[1] in {"domain", "twin", "scenarios"}, f"{path.name} imports {node.module}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_log_is_read_without_loss(name):
    incident = build(SCENARIOS[name], seconds=min(SCENARIOS[name].seconds, 40))
    reading = reading_of(incident.log)
    assert reading.counts.unreadable_lines == 0
    assert reading.counts.memory_lines > 0
    assert len(reading.boots) == 1
    box = SCENARIOS[name].make("plain").box
    start = start_of(box)
    if start.tokens:
        sums = account(reading.boots[0], boots=reading.boots)
        assert isinstance(sums.tokens_reported, Known)
        assert sums.tokens_reported.value == start.tokens
        if isinstance(sums.tokens_predicted, Known):
            assert abs(sums.tokens_predicted.value - start.tokens) <= max(sums.tolerance_tokens, 1), sums.causes


@pytest.mark.parametrize("release", ["0.5.9", "0.5.10", "0.5.12", "0.5.15", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("draft", [None, Draft(cell_bytes=4_096)])
def test_every_release_is_worded_as_its_own(release, draft):
    situation = SCENARIOS["client"].make("plain")
    box = llama(release=release, draft=draft)
    log = log_of(type(situation)(box, situation.demands, situation.times), 30)
    reading = reading_of(log)
    boot = reading.boots[0]
    assert reading.counts.unreadable_lines == 0
    assert boot.state == "up"
    assert boot.final.max_total_num_tokens == start_of(box).tokens
    assert len(boot.ranks) == 4
    assert boot.number("tp_size") == 4
    assert len(boot.ranks[0].loads) == (1 if draft is None else 2)
    assert len(boot.ranks[0].pools) == (1 if draft is None else 2)
    # A timeline of decode lines with all that they tell.
    assert reading.timelines[0].last("gen_tput") is not None
    assert (reading.timelines[0].last("accept_len") is not None) == (draft is not None)
    low, high = boot.version_hint
    assert low is None or high is None or tuple(map(int, low.split(".")[:3])) <= tuple(map(int, high.split(".")[:3]))


def test_same_seed_same_text_other_seed_other_text():
    first, again, other = (build(SCENARIOS["kv-full"], seed=seed, seconds=30) for seed in (3, 3, 4))
    assert first == again
    assert first.log != other.log


def test_history_does_not_depend_on_how_it_is_cut():
    whole = Player(SCENARIOS["founding-kimi"].make("plain"), seed=5, epoch=EPOCH)
    parts = Player(SCENARIOS["founding-kimi"].make("plain"), seed=5, epoch=EPOCH)
    lines = whole.advance(100)
    pieces = [line for i in range(200) for line in parts.advance(0.5 * (i + 1))]
    assert pieces == lines
    assert parts.page() == whole.page()


def test_pages_are_whole_and_counters_only_grow():
    incident = build(SCENARIOS["founding-eagle3"], seconds=60)
    reader, before = PageReader(), 0.0
    for at, text in incident.pages:
        page = wanted_lines(text.encode())
        assert page.kind == "sglang"
        assert page.whole
        scrape = reader.scrape(page, at)
        assert scrape.whole
        row = scrape.stage_rows()[0]
        assert row.pool_tokens.value == 159_277
        assert row.decode_total.value >= before
        before = row.decode_total.value
    assert before > 0


def test_loads_and_server_info_are_json_of_the_release():
    old, new = build(SCENARIOS["founding-kimi"], seconds=10), build(SCENARIOS["client"], seconds=10)
    assert json.loads(old.loads[-1][1])["dp_rank_count"] == 1
    assert json.loads(new.loads[-1][1])["loads"][0]["timestamp"] > 0
    info = json.loads(old.server_info)
    assert info["version"] == "0.5.9"
    assert info["internal_states"][0]["effective_max_running_requests_per_dp"] == 2_048


def test_machine_is_told_only_where_the_scenario_has_one():
    assert build(SCENARIOS["client"], seconds=5).gpus is None
    told = build(SCENARIOS["foreign"], seconds=5)
    assert [gpu.memory.value.total >> 20 for gpu in told.gpus.gpus] == [81_559] * 4
    assert [len(gpu.processes.value) for gpu in told.gpus.gpus] == [1, 1, 2, 1]
    for gpu in told.gpus.gpus:
        memory = gpu.memory.value
        assert memory.total == memory.used + memory.free + memory.reserved.value
    # What the driver calls free is what the start left.
    assert told.gpus.gpus[0].memory.value.free / 2**30 == pytest.approx(
        start_of(SCENARIOS["foreign"].make("plain").box).available_gib + 6.0, abs=0.2
    )


def test_out_of_range_is_refused():
    with pytest.raises(ValueError, match="no strength"):
        build(SCENARIOS["client"], "huge")
    with pytest.raises(ValueError, match="up to a day"):
        build(SCENARIOS["client"], seconds=1e9)
    with pytest.raises(ValueError, match="not in the table"):
        start_of(Box("/models/nobodys-model-99B", H100, "0.5.9", 78.0, 10.0))


def test_memory_of_a_start_adds_up():
    for box in (kimi(0.85), kimi(0.88, draft=Draft()), llama(), qwen32(), qwen8(), oss(), llama(draft=Draft())):
        start = start_of(box)
        table = start.post_gib - start.kv_gib - start.pool_end_gib
        late = box.draft is not None and box.version.base < (0, 5, 15)
        table -= box.draft.weights_gib if box.draft is not None and not late else 0.0
        assert 0 <= table < 2.6
        left = start.pool_end_gib - start.graphs_gib - start.draft_kv_gib - (box.draft.weights_gib if late else 0.0)
        assert left == pytest.approx(start.available_gib)


def test_reckless_fractions_fail_in_the_order_of_what_runs_out():
    assert start_of(kimi(0.76)).failed == "no-memory"
    assert not start_of(kimi(0.94)).failed
    assert start_of(kimi(0.945)).available_gib < activation_gib(kimi(0.945))
    assert start_of(kimi(0.97)).failed == "capture"
    assert start_of(kimi(0.88, enable_hierarchical_cache=True, hicache_ratio=2.0)).failed == ""
    assert start_of(kimi(0.88, enable_hierarchical_cache=True, hicache_ratio=7.0)).failed == "killed"
    assert start_of(kimi(0.88, enable_hierarchical_cache=True, hicache_ratio=60.0)).failed == "host-memory"


def test_steps_follow_the_flags():
    plain = step_times(kimi(0.85), KIMI_TIMES)
    assert plain.decode_s(50) == pytest.approx(KIMI_TIMES.decode_s(50))
    assert step_times(kimi(0.85, disable_cuda_graph=True), KIMI_TIMES).decode_s(50) > 1.4 * plain.decode_s(50)
    small = step_times(kimi(0.85, cuda_graph_max_bs=16), KIMI_TIMES)
    assert small.decode_s(16) == pytest.approx(plain.decode_s(16))
    assert small.decode_s(17) > 1.3 * plain.decode_s(17)
    assert step_times(kimi(0.85, draft=Draft()), KIMI_TIMES).decode_s(8) > plain.decode_s(8)
    assert step_times(llama(cpu_offload_gb=8), KIMI_TIMES).decode_s(8) > 0.3
    assert PRO_6000.bytes_a_second == pytest.approx(1.5976e12, rel=1e-3)


def test_the_time_between_tokens_holds_what_lies_between_two_steps():
    """As a tokenizer sees it: most tokens follow a bare step, and those after a prefill pass come much later."""
    player = Player(SCENARIOS["radix-off"].make("mild"), seed=3, epoch=EPOCH)
    player.advance(player.up_s + 120)
    page = PageReader().scrape(wanted_lines(player.page().encode()), 1.0, None)
    seen = dict(zip(page.itl.limits, page.itl.counts, strict=True))
    total = page.itl.counts[-1]
    assert page.itl.total / total > 0.1
    assert seen[0.03] > 0.3 * total
    assert seen[0.1] < 0.8 * total
    made, ended = player._printers[0].gauges.decode_tokens, player._totals.requests
    assert total == pytest.approx(made, rel=0.02)
    assert ended > 100
