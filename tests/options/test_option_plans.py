import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from options.option_build import KIMI, account, boot, context, finding, identity, workload

from kvtui.domain.deploy import deployment_of
from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import Known, Missing
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import size
from kvtui.domain.sizing.deployment import config_for
from kvtui.options.arithmetic import headroom_after, merge, pool_after
from kvtui.options.combined import effect_of_change
from kvtui.options.launch import launch
from kvtui.options.plan import best_safe, combine, conflicts_of
from kvtui.options.registry import estimates

SETTINGS = {
    "model_path": "/models/Kimi-K2.5", "tp_size": 8, "mem_fraction_static": 0.85, "chunked_prefill_size": 8192, "kv_cache_dtype": "auto",
    "max_running_requests": None, "cuda_graph_max_bs": 160, "trust_remote_code": True,
}  # fmt: skip
COMMAND = "python -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp 8 --mem-fraction-static=0.85 --json-model-override-args '{\"a\": 1}'"


def story_a(**changes):
    return context(**{"boot": boot(**SETTINGS), **changes})


def plan(made, *options, fraction=None):
    return combine(made, estimates(made), set(options), fraction)


# one effect


def test_a_plan_of_one_lever_is_that_lever():
    for limit in ("kv-capacity", "running-cap", "client", "prefill", "retraction"):
        made = story_a(findings=(finding(limit),), foreign_gib=Known(2.0), interconnect="pcie")
        told = estimates(made)
        for estimate in told:
            if not estimate.applies:
                continue
            alone = combine(made, told, {estimate.id})
            assert alone.tokens == estimate.tokens, estimate.id
            assert alone.headroom_gib == pytest.approx(estimate.headroom_gib), estimate.id
            if estimate.tok_s is None:
                assert alone.tok_s is None, estimate.id
            elif estimate.id != "hicache":
                assert (alone.tok_s.low, alone.tok_s.mid, alone.tok_s.high) == pytest.approx(
                    (estimate.tok_s.low, estimate.tok_s.mid, estimate.tok_s.high), rel=0.021
                ), (limit, estimate.id)


def test_tokens_multiply_where_a_sum_would_not_tell():
    both = plan(story_a(), "raise-fraction", "fp8-kv")
    assert both.tokens == pytest.approx(2 * 188_016, abs=2)
    assert both.fits == pytest.approx(both.tokens / 2_050)
    assert both.running == (50, 147)
    assert both.tok_s.high <= 835 * 147 / 50
    assert any("multiply" in note for note in both.notes)
    assert any("fuses" in note for note in both.notes)
    assert both.risk == "high"


def test_the_combination_equals_the_release_s_own_sizing():
    made = story_a()
    now = replace(
        deployment_of(made.boot, parse_release("0.5.9")), pre=94.04, post=21.71, fraction=0.85, kv_dtype="bf16", page_size=1, context_len=262_144
    )  # fmt: skip
    today = size(config_for(KIMI, now)).tokens
    exact = account(tokens_reported=Known(today))
    both = plan(story_a(account=exact), "raise-fraction", "fp8-kv")
    assert both.tokens == pytest.approx(size(config_for(KIMI, replace(now, fraction=0.90, kv_dtype="fp8_e4m3"))).tokens, abs=2)


def test_what_frees_memory_makes_room_for_the_fraction():
    drafted = boot(**{**SETTINGS, "speculative_algorithm": "EAGLE3"})
    sums = account(draft_weights_gib=Known(1.0), draft_kv_gib=Known(0.55))
    told = plan(story_a(account=sums, boot=drafted), "raise-fraction", "drop-draft")
    assert told.headroom_gib == pytest.approx(8.4 + 1.55 - 0.05 * 94.04)
    assert any("1.55 GiB more outside the pool, room for +0.016 of fraction" in note for note in told.notes)
    alone = plan(story_a(account=sums, boot=drafted), "drop-draft")
    assert any("without a higher fraction it buys no token" in note for note in alone.notes)


def test_bytes_from_elsewhere_and_from_the_fraction_are_one_sum():
    told = plan(story_a(foreign_gib=Known(2.0)), "raise-fraction", "free-other-processes", "fp8-kv")
    more = (94.04 * 0.05 + 2.0 * 0.85) * (1 << 30) / (70_272 / 2)
    assert told.tokens == pytest.approx(2 * 116_171 + more, abs=3)


def test_reservation_and_pool_together_admit_once():
    pool = plan(story_a(), "raise-fraction")
    charge = plan(story_a(), "cap-max-new-tokens")
    both = plan(story_a(), "raise-fraction", "cap-max-new-tokens")
    assert both.tok_s.mid > max(pool.tok_s.mid, charge.tok_s.mid)
    assert both.tok_s.mid < pool.tok_s.mid * charge.tok_s.mid / 835 * 1.05
    assert both.beside == ('"max_tokens": 1024',)


def test_the_cap_binds_a_larger_pool_until_it_is_raised():
    load = workload(running=48.0, resident=1_000.0, prompt=500.0)
    held = account(running_cap=Known(48), running_cap_why="48 set by speculative decoding")
    made = story_a(account=held, workload=load, findings=(finding("running-cap"),))
    alone = plan(made, "raise-fraction")
    assert alone.tok_s.high == pytest.approx(835 * 1.02)
    assert any("without raising it more pool admits nothing" in note for note in alone.notes)
    cap, both = plan(made, "max-running-requests"), plan(made, "max-running-requests", "raise-fraction")
    assert both.running[1] >= cap.running[1] > 48


def test_conflicts_are_named_and_give_no_figure():
    told = plan(story_a(), "fp8-kv", "fp4-kv")
    assert [(c.left, c.right) for c in told.conflicts] == [("fp8-kv", "fp4-kv")]
    assert told.tok_s is None
    assert "one dtype" in told.tok_s_why
    assert not conflicts_of(["raise-fraction", "fp8-kv"])


def test_latency_a_stream_moves_against_the_total():
    told = plan(story_a(workload=workload(output=1_000.0)), "raise-fraction")
    before, after = told.stream_tok_s
    assert before == pytest.approx(16.7)
    assert after < before
    waited, waits = told.wait_s
    # facts/diagnoses.md 2.2: 97 queued at 0.835 requests a second
    assert waited == pytest.approx(116, abs=0.5)
    assert waits < waited


def test_nothing_marked_and_nothing_known():
    made = story_a()
    assert combine(made, estimates(made), set()).options == ()
    bare = story_a(account=account(pre_gib=Missing("?"), headroom_gib=Missing("?")))
    told = plan(bare, "raise-fraction", "fp8-kv")
    assert told.tokens is None
    assert "unknown" in told.tokens_why
    assert told.headroom_gib is None


CHANGES = st.builds(
    Change,
    fraction=st.none(),
    cell_ratio=st.floats(0.25, 4),
    copies=st.sampled_from([1.0, 2.0]),
    pool_gib=st.floats(-3, 30),
    headroom_gib=st.floats(-3, 3),
    running_cap=st.one_of(st.none(), st.integers(1, 4_096)),
    speed=st.one_of(st.none(), st.builds(Speed, st.floats(0.5, 1.0), st.floats(1.0, 1.2), st.floats(1.2, 2.0), st.just("b"))),
)


@settings(max_examples=80, deadline=None)
@given(parts=st.lists(CHANGES, min_size=2, max_size=3))
def test_the_order_of_levers_does_not_matter(parts):
    made = story_a()
    told = [merge(order) for order in itertools.permutations(parts)]
    pools = {getattr(pool_after(made, one), "value", None) for one in told}
    assert max(pools) - min(pools) <= 1
    assert len({round(headroom_after(made, one), 6) for one in told}) == 1
    speeds = [effect_of_change(made, one).tok_s for one in told]
    assert all((one is None) == (speeds[0] is None) for one in speeds)
    for one in speeds:
        assert one is None or one.mid == pytest.approx(speeds[0].mid)


@settings(max_examples=40, deadline=None)
@given(
    marked=st.sets(st.sampled_from([e.id for e in estimates(story_a())]), max_size=6),
    limit=st.sampled_from(["kv-capacity", "client", None]),
)
def test_any_set_of_levers_is_answered(marked, limit):
    made = story_a(findings=(finding(limit),) if limit else ())
    told = combine(made, estimates(made), marked)
    assert set(told.options) <= marked
    assert (told.tok_s is None) == bool(told.tok_s_why)
    assert told.tok_s is None or 0 < told.tok_s.low <= told.tok_s.mid <= told.tok_s.high


def test_a_capped_pool_stays_whatever_else_is_unknown():
    held = account(cap_tokens=Known(4_096), tokens_reported=Known(4_096), divisor_bytes=Missing("?"), rest_gib=Missing("?"))
    told = plan(story_a(account=held), "raise-fraction")
    assert told.tokens == 4_096
    assert told.headroom_gib == 8.4
    gone = plan(story_a(account=held, boot=boot(**SETTINGS, max_total_tokens=4_096)), "remove-leftover-flags")
    assert gone.tokens is None
    assert gone.headroom_gib is None


def test_offloaded_weights_come_back_out_of_the_pool():
    told = plan(story_a(boot=boot(**SETTINGS, cpu_offload_gb=2)), "remove-leftover-flags")
    assert told.tokens == pytest.approx(116_171 - 2 * (1 << 30) / 70_272, abs=2)
    assert told.tok_s is None


# best and safe


def test_best_safe_takes_the_memory_that_nobody_uses():
    made = story_a()
    told = best_safe(made, estimates(made))
    assert set(told.options) == {"raise-fraction", "max-running-requests"}
    assert told.fraction == 0.91
    assert told.tokens == pytest.approx(202_385, abs=10)
    assert told.headroom_gib == pytest.approx(8.4 + 1.81 - 0.06 * 94.04, abs=0.01)
    assert 8.4 - 0.06 * 94.04 >= 2, "freed memory that nobody saw yet does not carry the fraction alone"
    assert told.headroom_gib >= 3
    assert told.risk == "low"
    assert told.tok_s.mid > plan(made, "raise-fraction").tok_s.mid


def test_best_safe_is_silent_where_it_would_guess():
    assert best_safe(story_a(findings=()), estimates(story_a(findings=()))) is None
    blind = story_a(account=account(headroom_gib=Missing("?")))
    assert best_safe(blind, estimates(blind)) is None
    quiet = story_a(findings=(finding("healthy"),))
    assert best_safe(quiet, estimates(quiet)) is None


def test_best_safe_keeps_the_reserve():
    load = workload(running=48.0, resident=1_000.0, prompt=500.0)
    for left, found in ((3.5, True), (3.02, False)):
        held = account(running_cap=Known(48), running_cap_why="set", headroom_gib=Known(left))
        made = story_a(account=held, workload=load, findings=(finding("running-cap"),))
        told = best_safe(made, estimates(made))
        assert (told is not None) is found
        assert told is None or told.headroom_gib >= 3


# the command


def words(told):
    return [(word.text, word.changed) for word in told.words]


def test_the_command_keeps_what_it_has_and_marks_what_changes():
    told = launch(replace(boot(), launch_command=COMMAND), ("--mem-fraction-static 0.92", "--tp-size 4", "--kv-cache-dtype fp8_e4m3"))
    assert words(told) == [
        ("python", False), ("-m", False), ("sglang.launch_server", False), ("--model-path", False), ("/models/Kimi-K2.5", False),
        ("--json-model-override-args", False), ("'{\"a\": 1}'", False),
        ("--mem-fraction-static", True), ("0.92", True), ("--tp-size", True), ("4", True), ("--kv-cache-dtype", True), ("fp8_e4m3", True),
    ]  # fmt: skip
    assert told.basis == "the command in the log"


def test_flags_that_go_are_listed():
    drafted = f"{COMMAND} --speculative-algorithm EAGLE3 --speculative-num-steps 3 --disable-cuda-graph"
    told = launch(
        replace(boot(), launch_command=drafted),
        ("remove --speculative-algorithm and the other --speculative-* flags", "remove --disable-cuda-graph"),
    )
    assert not any("speculative" in text or "disable" in text for text, _ in words(told))
    assert told.removed == ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3", "--disable-cuda-graph")


def test_environment_goes_first_and_clients_stay_out():
    told = launch(replace(boot(), launch_command=COMMAND), ("NCCL_P2P_LEVEL=SYS", '"max_tokens": 1024'))
    assert words(told)[0] == ("NCCL_P2P_LEVEL=SYS", True)
    assert told.beside == ('"max_tokens": 1024',)


def test_without_a_command_it_is_written_from_the_settings():
    told = launch(boot(**SETTINGS, port=30_000), ("--mem-fraction-static 0.9",))
    text = " ".join(text for text, _ in words(told))
    assert text.startswith("python -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp-size 8 --trust-remote-code")
    assert text.endswith("--mem-fraction-static 0.9")
    assert "--port" not in text
    assert "compare with your own" in told.basis
    assert launch(None, ("--x 1",)).beside == ("--x 1",)


@pytest.mark.parametrize("command", ["python 'x", "a; rm -rf / --tp 8 `id` $(id)", "--tp", "\x1b[2J --tp 8 \x00", "x" * 40_000])
def test_hostile_commands_stay_quoted(command):
    told = launch(replace(boot(), launch_command=command), ("--tp-size 4",))
    for text, changed in words(told):
        assert changed or not any(char in text for char in "`$;") or text.startswith("'")


def test_two_levers_on_one_flag_keep_the_larger():
    sums = identity(version=Known("0.5.9"))
    load = workload(running=48.0, resident=1_000.0, prompt=500.0)
    held = account(identity=sums, running_cap=Known(48), running_cap_why="set")
    made = story_a(account=held, workload=load, findings=(finding("running-cap"),), boot=boot(cuda_graph_max_bs=40))
    told = plan(made, "max-running-requests", "cuda-graph-max-bs")
    assert [flag for flag in told.flags if "cuda-graph" in flag] == ["--cuda-graph-max-bs 116"]
