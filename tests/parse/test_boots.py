from __future__ import annotations

import pytest
from parse.logs import ARGS, BOOT, read

from kvtui.domain.reading import Known, Missing

BEGIN = "[2026-03-18 10:00:00] "


def value(reading):
    return reading.value if isinstance(reading, Known) else None


def test_one_start_whole():
    reading = read(BOOT)
    (boot,) = reading.boots
    assert (boot.state, boot.first_line, boot.last_line, boot.version_hint) == ("up", 1, len(BOOT), ("0.5.7", "0.5.9"))
    zero, one = boot.ranks
    assert [value(x.begin_gib) for x in zero.loads] == [94.04, 7.43]
    assert [value(x.end_gib) for x in zero.loads] == [21.71, 6.48]
    assert [x.draft for x in zero.loads] == [False, True]
    assert [(x.tokens, x.size_gib, x.latent, x.draft) for x in zero.pools] == [(159277, 10.42, True, False), (159277, 0.6, False, True)]
    assert zero.pools[0].where.line == 10
    assert value(zero.init_usage_gib) == 0.93
    assert [value(x) for x in zero.pool_ends_gib] == [7.9, 5.86]
    assert (zero.captures[0].label, value(zero.captures[0].usage_gib), zero.captures[0].batch_sizes) == ("decode", 0.37, (1, 2, 4, 8))
    assert [value(x.begin_gib) for x in one.loads] == [94.05]
    assert boot.final is not None
    assert (boot.final.max_total_num_tokens, boot.final.available_gib) == (159277, 5.49)
    assert boot.setting("max_running_requests").origin == "forced"
    assert boot.number("mem_fraction_static") == 0.88
    assert boot.text("kv_cache_dtype_used") == "bfloat16"
    assert boot.setting("api_key").value == "***"
    assert "canary" not in repr(reading)


def test_two_starts_at_two_fractions():
    second = [line.replace("0.88", "0.85").replace("159277", "116171").replace("03-18 09", "03-18 11") for line in BOOT]
    reading = read([*BOOT, "[2026-03-18 10:00:00] SIGTERM received. signum=15", *second])
    assert [b.number("mem_fraction_static") for b in reading.boots] == [0.88, 0.85]
    assert [b.final.max_total_num_tokens for b in reading.boots] == [159277, 116171]
    assert [b.state for b in reading.boots] == ["ended", "up"]
    assert [len(t) for t in reading.timelines] == [2, 2]
    # the line that forces 48 comes before server_args, and is the second start's
    assert [b.setting("max_running_requests").origin for b in reading.boots] == ["forced", "forced"]
    assert reading.boots[1].first_line == len(BOOT) + 2
    assert [sum(e.kind == "forced-setting" for e in events) for events in reading.events] == [1, 1]
    assert reading.boots[0].last_line == reading.boots[1].first_line - 1
    assert reading.boots[0].ended_at < reading.boots[1].begun_at


def test_a_failed_start_and_the_next_without_server_args():
    failed = [
        "Load weight begin. avail mem=40.00 GB",
        "Load weight end. type=X, dtype=torch.bfloat16, avail mem=10.00 GB, mem usage=30.00 GB.",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        "Load weight begin. avail mem=40.00 GB",
    ]
    reading = read(failed)
    assert [b.state for b in reading.boots] == ["failed", "starting"]


def test_weights_that_begin_with_all_memory_free_again_are_a_new_start():
    lines = ["Load weight begin. avail mem=40 GB", "Load weight end. avail mem=10 GB, mem usage=30 GB", "Memory pool end. avail mem=3 GB"]
    assert len(read([*lines, *lines]).boots) == 2
    draft = ["Load weight begin. avail mem=3 GB", "Load weight end. type=XEagle3, avail mem=2 GB, mem usage=1 GB"]
    assert len(read([*lines, *draft]).boots) == 1


def test_a_command_belongs_to_the_start_after_it_or_to_a_paste_above_it():
    command = "python -m sglang.launch_server --model /m --tp 4 --mem-fraction-static 0.9"
    lines = ["KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB"]
    for order in ([command, *lines], [*lines, command]):
        (boot,) = read(order).boots
        assert (boot.number("tp_size"), boot.launch_command) == (4, command)
        assert boot.ranks[0].pools[0].tokens == 367404
    restarted = read([*BOOT, f"$ {command}", "[2026-03-18 11:00:00 TP0] Load weight begin. avail mem=94.04 GB"])
    assert [b.number("tp_size") for b in restarted.boots] == [2, 4]


def test_server_args_win_over_the_command():
    (boot,) = read(["python -m sglang.launch_server --tp 4 --page-size 64", BEGIN + ARGS]).boots
    assert boot.number("tp_size") == 2
    assert boot.setting("tp_size").origin == "server_args"
    assert boot.setting("page_size").origin == "command line"


def test_a_command_over_several_lines():
    lines = [
        "python3 -m sglang.launch_server \\",
        "  --model-path /m \\",
        "  --tp 8 \\",
        "  --mem-fraction-static 0.9",
        "[2026-03-18 10:00:00 TP0] Load weight begin. avail mem=9 GB",
    ]
    (boot,) = read(lines).boots
    assert (boot.text("model_path"), boot.number("tp_size"), boot.number("mem_fraction_static")) == ("/m", 8, 0.9)
    (bare,) = read([line.rstrip(" \\") for line in lines]).boots
    assert bare.settings.keys() == boot.settings.keys()


def test_wrapped_records():
    lines = [
        "[2026-03-18 09:04:22 TP0] Load weight end. elapsed=1.0 s, type=X, avail",
        "mem=21.71 GB, mem usage=72.33 GB.",
        "ValueError: Loaded weights leave no GPU memory for the KV cache under",
        "--mem-fraction-static=0.8. If using speculative decoding, draft weights",
        "are now counted.",
    ]
    reading = read(lines)
    assert value(reading.boots[0].ranks[0].loads[0].end_gib) == 21.71
    (event,) = [e for e in reading.events[0] if e.kind == "not-enough-memory"]
    assert event.fields["fraction"] == 0.8
    assert event.text.endswith("are now counted.")


def test_wrapped_batch_line():
    reading = read(
        [
            "[2026-03-18 09:04:22] Decode batch. #running-req: 36, #token: 958017,",
            "token usage: 0.96, gen throughput (token/s): 33.2, #queue-req: 4",
        ]
    )
    assert reading.timelines[0].value("usage", 0) == 0.96
    assert reading.timelines[0].value("queued", 0) == 4


def test_torn_server_args_give_what_is_whole():
    (boot,) = read([BEGIN + ARGS[:120]]).boots
    assert boot.text("model_path") == "/models/Kimi-K2.5"
    assert boot.notes


def test_a_traceback_becomes_one_event_with_its_place_and_error():
    lines = [
        "[2026-03-18 09:00:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=7.80 GB",
        "[2026-03-18 09:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/x/scheduler.py", line 3130, in run_scheduler_process',
        "    scheduler = Scheduler(",
        '  File "/x/cuda_graph_runner.py", line 12, in capture',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "",
        "[2026-03-18 09:00:02] Received sigquit from a child process. It usually means the child failed.",
    ]
    reading = read(lines)
    events = {e.kind: e for e in reading.events[0]}
    assert set(events) == {"boot", "exception", "out-of-memory", "exit"}
    assert events["exception"].fields["where"] == "cuda_graph_runner.py:12 in capture"
    assert events["exception"].fields["during"] == "capture of decode graphs"
    assert "OutOfMemoryError" in events["exception"].text
    assert events["out-of-memory"].fields["tried_gib"] == 2.0
    assert reading.boots[0].state == "failed"


def test_a_crash_of_a_server_that_ran_is_no_failed_start():
    assert (
        read([*BOOT, "[2026-03-18 09:30:00 TP0] Scheduler hit an exception: Traceback (most recent call last):"]).boots[0].state == "ended"
    )
    assert (
        read(["[2025-04-23 19:00:30 DP4 TP4] TpModelWorkerClient hit an exception: Traceback (most recent call last):"]).boots[0].state
        == "ended"
    )


def test_ranks_whose_prefix_was_lost_make_no_draft():
    lines = [
        "Load weight begin. avail mem=40 GB",
        "Load weight begin. avail mem=40 GB",
        "Load weight end. type=X, avail mem=10 GB, mem usage=30 GB.",
        "Load weight end. type=X, avail mem=10 GB, mem usage=30 GB.",
        "KV Cache is allocated. #tokens: 9, KV size: 1.00 GB",
        "KV Cache is allocated. #tokens: 9, KV size: 1.00 GB",
    ]
    (rank,) = read(lines).boots[0].ranks
    assert [load.draft for load in rank.loads] == [False, False]
    assert len(rank.pools) == 1


def test_sliding_window_pools_are_told_apart_by_their_tokens():
    lines = [
        "Use sliding window memory pool. full_layer_tokens=100, swa_layer_tokens=80",
        "KV Cache is allocated. #tokens: 80, K size: 1.0 GB, V size: 1.0 GB",
        "KV Cache is allocated. #tokens: 100, K size: 2.0 GB, V size: 2.0 GB",
    ]
    (rank,) = read(lines).boots[0].ranks
    assert [(p.kind, p.draft) for p in rank.pools] == [("swa", False), ("full", False)]


def test_a_run_without_its_start():
    reading = read(BOOT[-2:])
    (boot,) = reading.boots
    assert (boot.state, boot.first_line, boot.ranks) == ("up", 1, ())
    assert isinstance(boot.version, Missing)


@pytest.mark.parametrize("lines", [[], ["hello", "RuntimeError: x"], ["2026-01-01 INFO nginx: started"]])
def test_another_program_has_no_start(lines):
    assert read(lines).boots == ()


def test_a_loop_of_crashes_is_bounded():
    lines = [
        BEGIN + ARGS,
        "[2026-03-18 10:00:00] Load weight begin. avail mem=9 GB",
        "[2026-03-18 10:00:00] Scheduler hit an exception: Traceback",
    ]
    reading = read(lines * 300)
    assert len(reading.boots) == 200
    assert any("100 more starts" in note for note in reading.notes)


def test_a_shell_that_reports_a_kill_starts_nothing():
    reading = read([*BOOT, "run.sh: line 3: 4711 Killed                  python -m sglang.launch_server --tp 2"])
    (boot,) = reading.boots
    assert boot.state == "ended"
    assert reading.events[0][-1].kind == "killed"


def test_mixed_containers_are_told():
    reading = read([f"llm-{number % 2}  | {line}" for number, line in enumerate(BOOT)])
    assert any("2 containers are mixed (llm-0, llm-1)" in note for note in reading.notes)


def test_a_draft_of_an_ordinary_type_is_told_by_the_memory_it_begins_with():
    lines = [
        "[TP0] Load weight begin. avail mem=40 GB",
        "[TP0] Load weight end. type=LlamaForCausalLM, avail mem=10 GB, mem usage=30 GB.",
        "[TP0] Load weight begin. avail mem=10 GB",
        "[TP0] Load weight end. type=LlamaForCausalLM, avail mem=8 GB, mem usage=2 GB.",
    ]
    (rank,) = read(lines).boots[0].ranks
    assert [load.draft for load in rank.loads] == [False, True]


def tool(*ranks):
    """What a benchmark of SGLang's prints: its last line names no rank."""
    lines = [f"[2026-03-18 10:00:0{n} {rank}] Load weight begin. avail mem=15.33 GB" for n, rank in enumerate(ranks)]
    lines += [f"[2026-03-18 10:00:05 {rank}] Load weight end. type=X, avail mem=13.81 GB, mem usage=1.52 GB." for rank in ranks]
    return [*lines, "max_total_num_tokens=473854"]


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        (("TP0",), [("TP0", 473854)]),
        (("TP0", "TP1"), [("TP0", 473854), ("TP1", None)]),
        (("DP0", "DP1"), [("", 473854), ("DP0", None), ("DP1", None)]),
    ],
)
def test_a_tool_s_final_line_without_a_rank_belongs_to_the_only_replica(ranks, told):
    (boot,) = read(tool(*ranks)).boots
    assert sorted((m.rank.label, m.final and m.final.max_total_num_tokens) for m in boot.ranks) == told


def test_an_unnamed_rank_with_memory_of_its_own_stays_one():
    lines = [*tool("TP0")[:-1], "Load weight end. type=X, avail mem=13.80 GB, mem usage=1.53 GB.", "max_total_num_tokens=473854"]
    (boot,) = read(lines).boots
    assert [(m.rank.label, m.final is not None) for m in boot.ranks] == [("TP0", False), ("", True)]


def test_impossible_values_of_batch_lines_are_told_once():
    decode = "[2026-03-18 10:00:0{} TP0] Decode batch, #running-req: 4, token usage: {}, #queue-req: 0"
    reading = read([*BOOT, decode.format(1, "0.90"), decode.format(2, "1.80"), decode.format(3, "9.01")])
    assert "2 values of batch lines that cannot be true were left out" in reading.notes
    assert reading.timelines[0].last("usage")[0] == 0.9
    assert not any("cannot be true" in note for note in read(BOOT).notes)
