from __future__ import annotations

import gc

import pytest

from kvtui.domain.rank import MAIN, Rank
from kvtui.parse.event_lines import parse_event
from kvtui.parse.event_log import Entry, EventLog
from kvtui.parse.wording import bounds, version_in

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 512.00 MiB is free. "
    "Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (
            "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.2 -> 0.9",
            "retract",
            {"retracted": 1, "ratio_before": 0.2, "ratio_after": 0.9},
        ),
        (
            "KV cache pool is full. Retract requests. #retracted_reqs: 2, #aborted_retracted_reqs: 1, #new_tokens_gained: 64, #mamba_num_gained: 3, #new_token_ratio: 0.098 -> 0.34",
            "retract",
            {"retracted": 2, "aborted": 1, "gained": 64, "mamba_gained": 3, "ratio_before": 0.098, "ratio_after": 0.34},
        ),
        (OOM, "out-of-memory", {"tried_gib": 2.0, "total_gib": 79.11, "free_gib": 0.5, "torch_gib": 70.0, "reserved_gib": 1.0, "gpu": 3}),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "out-of-memory", {"tried_gib": 2.0}),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 512 MiB (GPU 0; 95 GiB total capacity; 1024 MiB free)",
            "out-of-memory",
            {"tried_gib": 0.5, "total_gib": 95.0, "free_gib": 1.0, "gpu": 0},
        ),
        # Where the message is cut or wrapped, and where torch counts bytes.
        ("Tried to allocate 2 GiB. GPU 1 has a total capacity of 95 GiB", "out-of-memory", {"tried_gib": 2.0, "total_gib": 95.0, "gpu": 1}),
        ("Tried to allocate 536870912 bytes.", "out-of-memory", {"tried_gib": 0.5}),
        ("torch.AcceleratorError: CUDA error: out of memory", "out-of-memory", {}),
        ("Prefill out of memory. Try to lower your batch size.", "out-of-memory", {}),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=1e-05",
            "not-enough-memory",
            {"fraction": 1e-5},
        ),
        (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. Raise --mem-fraction-static above 0.872 (minimum viable = 0.8714)",
            "not-enough-memory",
            {"fraction": 0.8, "raise_above": 0.872, "minimum_fraction": 0.8714},
        ),
        ("Capture cuda graph failed: CUDA out of memory", "capture-failed", {}),
        ("The memory capacity is unbalanced. Some GPUs may be occupied by other processes.", "unbalanced", {}),
        (
            "Not enough host memory available. Requesting 215.00 GB but only have 100.50 GB free.",
            "host-memory",
            {"requested_gb": 215.0, "host_free_gb": 100.5},
        ),
        ("SWA pool (12 tokens) cannot hold even one request", "state-too-small", {}),
        ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog", {"timeout_s": 300}),
        ("Watchdog timeout (self.watchdog_timeout=300)", "watchdog", {"timeout_s": 300}),
        ("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.", "health-failed", {}),
        ("[pool] memory leak detected! x", "leak", {}),
        ("OOMKilled (exit 137)", "killed", {"code": 137}),
        ("Subprocess scheduler_3 (pid=4711) crashed with exit code -9. Triggering SIGQUIT", "killed", {"code": -9}),
        ("SIGTERM received. signum=None frame=None.", "exit", {}),
        ("Child process unexpectedly failed with an exit code 131. pid=7", "exit", {"code": 131}),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp", "nccl", {}),
        ("The server is fired up and ready to roll!", "ready", {}),
        ("Scheduler hit an exception: Traceback (most recent call last):", "exception", {}),
    ],
)
def test_kinds(line, kind, fields):
    fact = parse_event(line)
    assert fact is not None
    assert fact.kind == kind
    shown = {name: value for name, value in fact.fields.items() if name != "free_gib" or kind == "out-of-memory"}
    assert shown == pytest.approx(fields)


@pytest.mark.parametrize("line", ["Decode batch, #running-req: 1", "Using default HuggingFace chat template", "hello"])
def test_no_event(line):
    assert parse_event(line) is None


RETRACT = "KV cache pool is full. Retract requests. #retracted_reqs: {}, #new_token_ratio: 0.1 -> 0.3"


def add(log: EventLog, line: str, at: float | None, rank: Rank = MAIN):
    fact = parse_event(line)
    assert fact is not None
    return log.add(fact, at, 1, rank)


def test_the_copies_of_tensor_ranks_are_one_retraction_and_repeats_of_one_rank_are_not():
    log = EventLog()
    for second in (10.0, 11.0):
        for tp in range(8):
            add(log, RETRACT.format(int(second)), second, Rank(tp=tp))
    for _ in range(3):
        add(log, RETRACT.format(1), 20.0)
    add(log, RETRACT.format(1), 20.0, Rank(dp=1))
    assert [(e.count, e.fields["retracted"]) for e in log.events()] == [(8, 10), (8, 11), (1, 1), (1, 1), (1, 1), (1, 1)]


def test_a_storm_is_folded_by_the_minute():
    log = EventLog()
    for number in range(50_000):
        add(log, RETRACT.format(1), number / 10)
    events = log.events()
    assert len(events) < 2_200
    assert sum(e.fields["retracted"] for e in events) == 50_000


def test_equal_exceptions_of_ranks_are_folded():
    log = EventLog()
    for tp in range(8):
        add(log, f"Scheduler hit an exception: rank {tp}", 5.0, Rank(tp=tp))
    assert [e.count for e in log.events()] == [8]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pip: sglang==0.5.9.post1", "0.5.9.post1"),
        ("image lmsysorg/sglang:v0.5.12-cu129", "0.5.12"),
        ("SGLang version: 0.4.6", "0.4.6"),
        ("sglang-router 0.3.2", None),
        ("/opt/sglang/python/sglang/srt/x.py line 12.3", None),
    ],
)
def test_versions(line, expected):
    assert version_in(line) == expected


def test_wording_bounds_the_version():
    assert bounds("Load weight end. elapsed=3.40 s, type=X, dtype=torch.bfloat16, avail mem=6.48 GB") == ("0.5.7", "0.5.9")
    assert bounds("server_args={'model_path'") == ("0.5.19", None)
    assert bounds("hello") == (None, None)


def test_an_event_is_made_again_only_where_more_is_said_of_it():
    log = EventLog()
    add(log, "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5", 1.0)
    entry = add(log, "Scheduler hit an exception: Traceback (most recent call last):", 2.0)
    first = log.events()
    assert all(one is other for one, other in zip(first, log.events(), strict=True))
    for change in (
        lambda: entry.amend(where="a.py:1 in f"),
        lambda: entry.amend(error="ValueError: x"),
        lambda: setattr(entry, "count", 7),
    ):
        before = log.events()[1]
        change()
        after = log.events()
        assert after[0] is first[0]
        assert after[1] is not before
        assert (after[1].text, after[1].fields, after[1].count) == (entry.text, entry.fields, entry.count)


def test_what_nothing_amends_any_more_is_kept_small_before_anybody_asks():
    log = EventLog()
    for number in range(1_500):
        add(log, RETRACT.format(1 + number % 9), 10.0 * number)
    assert sum(isinstance(thing, Entry) for thing in gc.get_objects()) <= 600
    events = log.events()
    assert [event.at for event in events] == [10.0 * number for number in range(1_500)]
    assert [event.fields["retracted"] for event in events] == [1 + number % 9 for number in range(1_500)]
