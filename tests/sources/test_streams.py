"""Followed logs: every line, in bounded memory, and no process left behind. The programs are small scripts on PATH."""

import asyncio
import subprocess
import sys
import time

import pytest
from process_state import alive

from kvtui.domain.process import LogTarget
from kvtui.sources.streams import LineQueue, ProgramStream


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a script on PATH, in front of all others."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name, body):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


async def lines_of(stream, enough, seconds=10.0):
    """What comes until ``enough``; the clock is moved past the trial of the first lines."""
    got = []
    for _ in range(int(seconds / 0.01)):
        if stream._child is None or stream._queue._lines or stream._child.drained:
            break
        await asyncio.sleep(0.01)
    if stream._child is not None and stream._child.alive:
        stream._clock.at += 2
    for _ in range(int(seconds / 0.01)):
        got += stream.drain()
        if enough(got):
            return got
        await asyncio.sleep(0.01)
    raise AssertionError(f"{len(got)} lines, {stream.health}")


async def test_lines_of_both_outputs_come_raw_and_close_ends_the_child(put, clock):
    put("docker", 'echo "args: $*"; printf "caf\\351 \\033[1m\\r\\n" >&2; exec sleep 100')
    stream = ProgramStream(LogTarget("docker", "abc123"), clock)
    stream.start()
    pid = stream._child.pid
    lines = await lines_of(stream, lambda got: len(got) >= 2)
    assert lines == [b"args: logs --follow --tail 200000 -- abc123", b"caf\xe9 \x1b[1m"]
    assert (stream.health.state, stream.health.reason, stream.dropped) == ("live", "", 0)
    await stream.close()
    assert not alive(pid)


async def test_a_child_that_ignores_sigterm_is_killed_in_half_a_second(put, clock):
    put("podman", 'trap "" TERM HUP INT; echo up; while :; do sleep 0.05; done')
    stream = ProgramStream(LogTarget("podman", "abc123"), clock)
    stream.start()
    await lines_of(stream, lambda got: got)
    pid, before = stream._child.pid, time.perf_counter()
    await stream.close()
    assert time.perf_counter() - before < 0.5
    assert not alive(pid)


async def test_a_flood_stays_bounded_and_the_loss_is_counted(put, clock):
    put("docker", 'exec awk \'BEGIN { for (i = 0; i < 300000; i++) print "line", i; system("sleep 100") }\'')
    queue = LineQueue(lines=1000)
    stream = ProgramStream(LogTarget("docker", "abc123"), clock, queue)
    stream.start()
    for _ in range(1000):
        if queue.taken == 300000:
            break
        await asyncio.sleep(0.01)
    lines = stream.drain()
    await stream.close()
    assert lines == [f"line {number}".encode() for number in range(299000, 300000)]
    assert stream.dropped == 299000


async def test_a_line_without_end_does_not_fill_the_memory(put, clock):
    put("docker", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo next; exec sleep 100")
    queue = LineQueue()
    stream = ProgramStream(LogTarget("docker", "abc123"), clock, queue)
    stream.start()
    lines = await lines_of(stream, lambda got: len(got) >= 2)
    await stream.close()
    assert [len(line) for line in lines] == [1 << 20, 4]
    assert queue._cutter.cut == 1


async def test_a_program_that_is_not_installed_is_a_sentence_and_is_tried_again(put, tmp_path, monkeypatch, clock):
    monkeypatch.setenv("PATH", str(tmp_path))
    stream = ProgramStream(LogTarget("kubernetes", "pod-0", namespace="prod"), clock)
    stream.start()
    assert stream.health.state == "failed"
    assert stream.health.reason.startswith("kubectl is not installed here: ")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    put("kubectl", 'echo "$*"; exec sleep 100')
    assert stream.drain() == []
    assert stream._child is None
    clock.at += 1.0
    assert stream.drain() == []
    lines = await lines_of(stream, lambda got: got)
    assert lines == [b"logs --follow --tail=200000 --namespace=prod -- pod-0"]
    await stream.close()


async def test_a_complaint_is_the_reason_and_no_line_and_the_whole_history_is_asked_for_again(put, clock):
    put("docker", 'echo "Error: No such container: api_key=sk-secret-12345678"; exit 1')
    stream = ProgramStream(LogTarget("docker", "abc123"), clock)
    stream.start()
    assert await lines_of(stream, lambda got: stream.health.state == "failed") == []
    assert "ended with status 1: Error: No such container" in stream.health.reason
    assert "secret" not in stream.health.reason
    put("docker", 'echo "$*"; exec sleep 100')
    clock.at += 1
    stream.drain()
    assert await lines_of(stream, lambda got: got) == [b"logs --follow --tail 200000 -- abc123"]
    await stream.close()


async def test_an_end_backs_off_and_asks_only_for_what_came_since(put, clock):
    put("docker", 'echo "$*"; exit 0')
    stream = ProgramStream(LogTarget("docker", "abc123"), clock)
    stream.start()
    assert await lines_of(stream, lambda got: stream._child is None) == [b"logs --follow --tail 200000 -- abc123"]
    assert "has stopped" in stream.health.reason
    pauses = []
    for _ in range(7):
        pauses.append(stream._retry_at - clock.at)
        clock.at, since = stream._retry_at, stream._last_at - 1
        got = await lines_of(stream, lambda got: got)
        assert got[0].startswith(f"logs --follow --since {since:.6f}".encode())
        await lines_of(stream, lambda got: stream._child is None)
    assert [round(pause) for pause in pauses] == [1, 2, 4, 8, 16, 30, 30]
    await stream.close()


async def test_a_long_log_is_not_held_back(put, clock):
    put("docker", "for i in $(seq 100); do echo $i; done; exec sleep 100")
    stream = ProgramStream(LogTarget("docker", "abc123"), clock)
    stream.start()
    got = []
    for _ in range(1000):
        got += stream.drain()
        if len(got) == 100:
            break
        await asyncio.sleep(0.01)
    assert got[-1] == b"100"
    await stream.close()


async def test_a_name_that_could_be_an_option_runs_nothing(put, clock):
    put("docker", "echo ran")
    for name in ("--help", "", "a b", "$(id)", "x;y"):
        stream = ProgramStream(LogTarget("docker", name), clock)
        stream.start()
        assert stream.health.state == "failed"
        assert stream._child is None


@pytest.mark.parametrize("end", ["sys.exit(0)", "os.kill(os.getpid(), signal.SIGINT)", "raise RuntimeError"])
def test_no_child_outlives_the_interpreter_that_did_not_close(put, tmp_path, end):
    put("docker", 'trap "" TERM HUP INT; echo $$ >"$0.pid"; echo up; while :; do sleep 0.05; done')
    code = (
        "import os, signal, sys, time\nfrom kvtui.domain.process import LogTarget\nfrom kvtui.engine.clock import WallClock\n"
        "from kvtui.sources.streams import ProgramStream\ns = ProgramStream(LogTarget('docker', 'abc'), WallClock())\ns.start()\n"
        f"while not s._queue.taken: time.sleep(0.01)\n{end}\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=20, check=False)
    pid = int((tmp_path / "docker.pid").read_text())
    for _ in range(100):
        if not alive(pid):
            return
        time.sleep(0.01)  # noqa: TID251 (the interpreter that started it is gone)
    raise AssertionError("the child lives on")
