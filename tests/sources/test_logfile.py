from __future__ import annotations

import asyncio
import gzip
import io
import os
import threading

import pytest
import zstandard

from kvtui.sources import logfile
from kvtui.sources.errors import Unreadable
from kvtui.sources.logfile import QUIET_SECONDS, LogSource
from kvtui.sources.opening import open_log

BOOT = [
    "[2026-03-18 09:00:15 TP0] Load weight begin. avail mem=94.04 GB",
    "[2026-03-18 09:04:22 TP0] Load weight end. elapsed=1 s, type=X, avail mem=21.71 GB, mem usage=72.33 GB.",
    "[2026-03-18 09:05:04 TP0] max_total_num_tokens=159277, context_len=262144, available_gpu_mem=5.49 GB",
]
DECODE = "[2026-03-18 09:05:{:02d} TP0] Decode batch, #running-req: {}, #token: 3999, token usage: 0.98, #queue-req: 8"


class Clock:
    def __init__(self, now: float) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


def write(path, lines, end="\n"):
    with path.open("a") as file:
        file.write("\n".join(lines) + end)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "server.log"
    write(path, BOOT)
    os.utime(path, (1_000, 1_000))
    return path


def test_read_all(log):
    frame = LogSource(str(log), Clock(1_000)).read_all()
    assert frame.finished
    assert frame.boot.final.max_total_num_tokens == 159277
    assert frame.sources[0].state == "ended"
    assert frame.counts.lines == 3


async def test_a_growing_file_is_followed(log):
    clock = Clock(1_001)
    source = LogSource(str(log), clock)
    frame = await source.read()
    assert (frame.finished, frame.sources[0].state, len(frame.timeline)) == (False, "live", 0)
    write(log, [DECODE.format(10, 4), DECODE.format(11, 5)[:60]], end="")
    os.utime(log, (1_002, 1_002))
    frame = await source.read()
    assert [*frame.timeline.column("running")] == [4]
    write(log, [DECODE.format(11, 5)[60:]])
    os.utime(log, (1_003, 1_003))
    frame = await source.read()
    assert [*frame.timeline.column("running")] == [4, 5]
    assert not frame.finished
    clock.time = 1_003 + QUIET_SECONDS + 1
    assert (await source.read()).finished
    await source.close()


async def test_a_quiet_file_is_finished_and_its_torn_last_line_is_read(log):
    write(log, [DECODE.format(10, 4)], end="")
    os.utime(log, (1_000, 1_000))
    source = LogSource(str(log), Clock(1_000 + QUIET_SECONDS + 1))
    frame = await source.read()
    assert frame.finished
    assert len(frame.timeline) == 1
    assert (await source.read()).counts == frame.counts
    await source.close()


async def test_rotation_by_rename_and_by_truncation(log):
    source = LogSource(str(log), Clock(1_001))
    await source.read()
    write(log, [DECODE.format(10, 4)])
    log.rename(log.with_suffix(".1"))
    write(log, [DECODE.format(11, 5)])
    frame = await source.read()
    assert [*frame.timeline.column("running")] == [4, 5]
    assert any("rotated" in note for note in frame.notes)
    write(log, [DECODE.format(12, 5)])
    await source.read()
    log.write_text(DECODE.format(12, 6) + "\n")
    frame = await source.read()
    assert frame.timeline.value("running", -1) == 6
    await source.close()


async def test_a_file_that_is_removed_is_said_and_a_new_one_of_its_name_followed(log):
    source = LogSource(str(log), Clock(1_001))
    await source.read()
    log.unlink()
    states = [(await source.read()).sources[0] for _ in range(2)]
    # Between the two steps of a rotation there is no file either.
    assert states[0].state != "failed"
    assert states[1].state == "failed"
    assert "no longer there" in states[1].reason
    write(log, [DECODE.format(11, 5)])
    frame = await source.read()
    assert frame.sources[0].state != "failed"
    assert frame.timeline.value("running", -1) == 5
    await source.close()


async def test_a_dead_file_is_a_sentence_and_comes_back(tmp_path):
    path = tmp_path / "x.log"
    source = LogSource(str(path), Clock(5))
    frame = await source.read()
    assert (frame.boots, frame.sources[0].state, frame.sources[0].since) == ((), "failed", 5)
    assert "There is no file" in frame.sources[0].reason
    write(path, BOOT)
    assert len((await source.read()).boots) == 1
    await source.close()


def test_another_program(tmp_path):
    path = tmp_path / "x.log"
    write(path, ["nginx started", "GET / 200"])
    with pytest.raises(Unreadable, match="2 lines but none that SGLang prints"):
        LogSource(str(path), Clock(5)).read_all()
    source = LogSource(str(path), Clock(5))
    assert source.read_now().sources[0].state == "failed"
    source.release()


def test_the_start_is_chosen(log):
    write(log, [line.replace("159277", "116171") for line in BOOT])
    source = LogSource(str(log), Clock(1_000))
    assert source.read_now().boot.final.max_total_num_tokens == 116171
    source.choose(0)
    assert source.read_now().boot.final.max_total_num_tokens == 159277
    source.choose(99)
    assert source.read_now().boot.final.max_total_num_tokens == 116171
    source.release()


def test_a_pipe_and_a_gz(tmp_path):
    data = ("\n".join([*BOOT, DECODE.format(10, 4)])).encode()
    frame = LogSource("-", Clock(5), stdin=io.BytesIO(data)).read_all()
    assert (len(frame.timeline), frame.finished) == (1, True)
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(data))
    assert len(LogSource(str(path), Clock(5)).read_all().timeline) == 1


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_lines_that_end_in_a_carriage_return(tmp_path, end):
    path = tmp_path / "x.log"
    bar = "\r".join(f"Loading shards: {n}% Completed | [00:00<00:01, 2.1it/s]" for n in range(90))
    lines = [BOOT[0], f"{bar}\r{BOOT[1]}", BOOT[2], *(DECODE.format(n % 60, n) for n in range(9_000))]
    path.write_bytes(end.join(lines).encode())
    frame = LogSource(str(path), Clock(5)).read_all()
    assert frame.boot.final.max_total_num_tokens == 159_277
    assert frame.counts.decode_lines == 9_000
    assert [memory.loads[0].end_gib.value for memory in frame.boot.ranks] == [21.71]
    if end == "\r\n":
        assert frame.boot.final.where.line == 3


async def test_an_archive_that_is_still_written_is_followed_and_said(tmp_path):
    data = gzip.compress("\n".join([*BOOT, *(DECODE.format(n % 60, n) for n in range(2_000))]).encode())
    path = tmp_path / "x.gz"
    path.write_bytes(data[: len(data) // 2])
    then = 1_773_825_000
    os.utime(path, (then, then))
    source = LogSource(str(path), Clock(then + 1))
    frame = await source.read()
    part = frame.counts.decode_lines
    assert (len(frame.boots), part > 0, frame.finished) == (1, True, False)
    assert any("cut before its end, or still being written" in note for note in frame.notes)
    with path.open("ab") as file:
        file.write(data[len(data) // 2 :])
    frame = await source.read()
    assert frame.counts.decode_lines == 2_000
    assert frame.finished
    assert not any("cut" in note for note in frame.notes)
    await source.close()


def test_an_archive_of_which_nothing_can_be_unpacked_is_no_foreign_log(tmp_path):
    path = tmp_path / "x.zst"
    path.write_bytes(zstandard.compress("\n".join(BOOT).encode())[:60])
    with pytest.raises(Unreadable, match="gave no line: the zstd file is cut before its end"):
        LogSource(str(path), Clock(5)).read_all()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("INFO 11-29 12:00:00 [loggers.py:123] Engine 000: Avg prompt throughput: 1.0 tokens/s", "vLLM's log"),
        ('10.0.0.1 - - [29/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "curl"', "access log of a web server"),
        ("[    1.234567] Linux version 6.1", "kernel's log"),
        ("hello", "another program's, or its server has not begun"),
    ],
)
def test_a_foreign_log_is_named_with_what_to_do(tmp_path, line, words):
    path = tmp_path / "x.log"
    write(path, [line] * 30)
    with pytest.raises(Unreadable) as caught:
        LogSource(str(path), Clock(5)).read_all()
    assert words in str(caught.value)
    assert "Decode batch lines were looked for. Give the file" in str(caught.value)


async def test_an_empty_file_waits_for_its_first_line(tmp_path):
    path = tmp_path / "x.log"
    path.write_text("")
    source = LogSource(str(path), Clock(5))
    frame = await source.read()
    assert (frame.sources[0].state, "is empty" in frame.sources[0].reason) == ("waiting", True)
    write(path, BOOT)
    assert len((await source.read()).boots) == 1
    await source.close()


def test_one_very_long_line(tmp_path):
    path = tmp_path / "x.log"
    write(path, BOOT)
    with path.open("ab") as file:
        for _ in range(12):
            file.write(b"x" * 1_000_000)
    assert len(LogSource(str(path), Clock(5)).read_all().boots) == 1


def test_a_copy_of_an_old_log_is_finished_however_fresh_the_file(tmp_path):
    path = tmp_path / "copy.log"
    path.write_text(
        "[2026-03-18 09:00:00] max_total_num_tokens=4096, chunked_prefill_size=512, max_prefill_tokens=16384, max_running_requests=64, context_len=4096\n"
    )
    source = LogSource(str(path), Clock(path.stat().st_mtime + 1))
    assert source.read_now().finished
    source.release()


def test_a_server_that_prints_only_batch_lines_is_not_old(tmp_path):
    path = tmp_path / "server.log"
    start = "[2026-03-18 09:00:00] max_total_num_tokens=4096, chunked_prefill_size=512, max_prefill_tokens=16384, max_running_requests=64, context_len=4096\n"
    path.write_text(
        start
        + "[2026-03-25 09:00:00] Decode batch, #running-req: 1, #token: 9, token usage: 0.00, cuda graph: True, gen throughput (token/s): 9.0, #queue-req: 0\n"
    )
    newest = 1_774_429_200.0
    os.utime(path, (newest, newest))
    source = LogSource(str(path), Clock(newest + 5))
    assert not source.read_now().finished
    source.release()


async def test_a_restarted_server_that_writes_to_another_file_is_read_on_there(log, tmp_path):
    source = LogSource(str(log), Clock(1_001))
    await source.read()
    write(log, [DECODE.format(10, 4)])
    other = tmp_path / "second.log"
    source.follow(str(other))
    assert "no file" in (await source.read()).sources[0].reason
    write(other, [line.replace("159277", "170000") for line in BOOT])
    os.utime(other, (1_002, 1_002))
    frame = await source.read()
    assert [boot.final.max_total_num_tokens for boot in frame.boots] == [159_277, 170_000]
    assert len(frame.timelines[0]) == 1
    assert frame.sources[0].target.endswith("second.log")
    assert any("second.log follows" in note for note in frame.notes)
    await source.close()


async def test_a_log_that_is_just_being_opened_when_it_is_let_go_of_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "server.log"
    path.write_bytes(b"a line\n")
    opening, go, streams = threading.Event(), threading.Event(), []

    def slow(*arguments):
        opening.set()
        go.wait(5)
        streams.append(open_log(*arguments))
        return streams[-1]

    monkeypatch.setattr(logfile, "open_log", slow)
    source = LogSource(str(path), Clock(5))
    reading = asyncio.ensure_future(source.read())
    await asyncio.to_thread(opening.wait, 5)
    thread = source._worker._thread
    await source.close()
    go.set()
    await reading
    await asyncio.to_thread(thread.join, 5)
    assert streams[0]._file.closed
