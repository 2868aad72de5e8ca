from __future__ import annotations

import itertools
import random
import tracemalloc
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from parse.logs import BOOT, docker_json, read

from kvtui.domain.samples import DECODE
from kvtui.parse.logreader import LogReader


def decode(number: int, rank: str = " TP0") -> str:
    return f"[2026-03-18 10:{number // 60 % 60:02d}:{number % 60:02d}{rank}] Decode batch, #running-req: {number % 48}, #token: {number}, token usage: 0.50, cuda graph: True, gen throughput (token/s): 500.0, #queue-req: 1"


def test_counts():
    counts = read([*BOOT, *(decode(n) for n in range(50))]).counts
    assert (counts.lines, counts.prefill_lines, counts.decode_lines, counts.unreadable_lines) == (len(BOOT) + 50, 1, 51, 0)
    assert counts.memory_lines == sum(
        any(w in line for w in ("Load weight", "KV C", "Using KV", "Memory pool", "Capture", "max_total", "Init torch")) for line in BOOT
    )


def test_feeding_in_pieces_gives_the_same():
    lines = [*BOOT, *(decode(n) for n in range(200))]
    whole = read(lines)
    rng = random.Random(5)  # noqa: S311 - a shuffle that can be repeated
    reader = LogReader()
    start = 0
    while start < len(lines):
        stop = start + rng.randint(1, 17)
        reader.feed([line.encode() for line in lines[start:stop]])
        if rng.random() < 0.3:
            reader.reading()
        start = stop
    again = reader.reading()
    assert again.boots == whole.boots
    assert again.events == whole.events
    assert again.counts == whole.counts
    assert repr([list(t.column("tokens")) for t in again.timelines]) == repr([list(t.column("tokens")) for t in whole.timelines])


def test_older_lines_are_thinned_evenly_and_the_newest_are_whole():
    ranks = (" DP0", " DP1")
    lines = [decode(n, ranks[n % 2]) for n in range(20_000)]
    reading = read(lines, detail=2_000, coarse=500)
    (timeline,) = reading.timelines
    kept = [int(line) for line in timeline.column("line")]
    assert kept == sorted(kept)
    assert kept[-2_000:] == list(range(18_001, 20_001))
    old = kept[:-2_000]
    assert 150 < len(old) <= 500
    assert min(Counter(line % 2 for line in old).values()) > len(old) * 0.4
    assert max(b - a for a, b in itertools.pairwise(old)) < 20_000 / len(old) * 4
    assert reading.counts.decode_lines == 20_000
    assert reading.counts.batch_lines_thinned == 20_000 - len(kept)


def test_a_growing_log_stays_bounded():
    reader = LogReader(detail=500, coarse=200)
    for number in range(100):
        reader.feed([decode(n).encode() for n in range(number * 100, number * 100 + 100)])
        timeline = reader.reading().timelines[0]
        assert len(timeline) <= 1_000
        assert timeline.value("line", -1) == number * 100 + 100
    kept = timeline.column("line")
    assert list(kept) == sorted(kept)


def test_copies_of_other_tensor_ranks_are_one_sample():
    reading = read([decode(1, " TP0"), decode(1, " TP1"), decode(2, " TP0"), decode(2, " DP1 TP1")])
    assert [reading.timelines[0].value("dp", i) for i in range(3)] == [0, 0, 1]
    assert reading.counts.decode_lines == 4


def test_request_lines_are_dropped():
    prompt = "tell me a secret story"
    reading = read(
        [
            *BOOT,
            f"Receive: obj=GenerateReqInput(text='{prompt} CUDA out of memory Decode')",
            f"[2026-03-18 10:00:00] Finish: obj=x, out={{'text': '{prompt} memory leak detected'}}",
        ]
    )
    assert prompt not in repr(reading)
    assert not [e for e in reading.events[0] if e.kind in {"out-of-memory", "leak"}]
    assert any("2 request-log lines" in note for note in reading.notes)


def test_a_prompt_cannot_pose_as_a_batch_line():
    reading = read([*BOOT, "Receive: obj=GenerateReqInput(text='Decode batch, #running-req: 999, #queue-req: 9')"])
    assert max(reading.timelines[0].column("running")) == 4


def test_midnight_in_a_log_without_dates():
    lines = [f"[{h:02d}:00:00 TP0] Decode batch. #running-req: 1, #token: 2, token usage: 0.1, #queue-req: 0" for h in (22, 23, 0, 1)]
    reading = read(
        [lines[0], "[22:30:00 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1", *lines[1:], "[02:00:00] SIGTERM received."]
    )
    assert [t / 3600 for t in reading.timelines[0].column("at")] == [22, 23, 24, 25]
    assert [e.at / 3600 for e in reading.events[0]] == [22.5, 26]
    assert reading.now == 26 * 3600


def test_an_event_without_a_stamp_takes_the_time_of_the_line_before():
    (event,) = [e for e in read([*BOOT, decode(30), "Killed"]).events[0] if e.kind == "killed"]
    assert event.at == read([decode(30)]).now


def test_huge_and_hostile_lines():
    reading = read(
        [
            *BOOT,
            "x" * 3_000_000,
            "Decode batch, " + "#token: 1, " * 400_000,
            "[2026-03-18 10:00:00] server_args=ServerArgs(" + "[" * 400_000,
            "\x00\x1b[31m" * 1_000,
            "{" * 100_000,
        ]
    )
    assert reading.boots
    assert all(len(e.text) <= 300 for events in reading.events for e in events)


def test_pieces_of_docker_records():
    long = BOOT[1].replace("bs=[1, 2, 4]", f"x='{'y' * 40_000}', log_level='info'")
    assert len(docker_json([long])) == 3
    (boot,) = read(docker_json([BOOT[0], long, *BOOT[2:]])).boots
    assert boot.text("log_level") == "info"


def test_kinds_of_batches_come_in_order():
    kinds = read(BOOT).timelines[0].column("kind")
    assert list(kinds) == [0.0, DECODE]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from([line.encode() for line in BOOT]), st.binary(max_size=120)), max_size=30))
def test_any_lines_are_read(lines):
    reader = LogReader(detail=10, coarse=5)
    reader.feed(lines)
    reading = reader.reading()
    assert reading.counts.lines == len(lines)
    assert len(reading.boots) == len(reading.timelines) == len(reading.events)


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 60))
def test_torn_and_shuffled_lines_are_read(rng, cuts):
    lines = list(BOOT)
    for _ in range(cuts):
        index = rng.randrange(len(lines))
        lines[index] = lines[index][: rng.randrange(len(lines[index]) + 1)]
    rng.shuffle(lines)
    read(lines)


def test_reading_takes_little_more_memory_than_what_is_kept():
    """Memory that only reading took comes back in pieces that nothing fills: it stays with the process."""
    reader = LogReader()
    reader.feed([line.encode() for line in BOOT])
    reader.reading()
    lines = [decode(n).encode() for n in range(4_000)]
    reader.feed(lines)
    tracemalloc.start()
    try:
        reading = reader.reading()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(reading.timelines[0]) == 4_001 + 1
    assert peak - kept < 600_000
