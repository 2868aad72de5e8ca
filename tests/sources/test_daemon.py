"""A hung call costs a stale mark: not the loop, not the exit."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from kvtui.sources.daemon import DaemonWorker, StillHanging


async def test_results_and_errors_come_back_and_the_next_call_follows_at_once():
    worker = DaemonWorker("w")
    for number in range(200):
        assert await worker.run(lambda n=number: n * 2, 1.0) == number * 2
    with pytest.raises(KeyError):
        await worker.run(lambda: {}["x"], 1.0)
    assert await worker.run(lambda: None, 1.0) is None
    worker.close()


async def test_a_time_out_of_the_call_itself_is_not_taken_for_a_hang():
    def call():
        raise TimeoutError("mine")

    worker = DaemonWorker("w")
    with pytest.raises(TimeoutError, match="mine"):
        await worker.run(call, 1.0)
    worker.close()


async def test_a_hung_call_is_left_behind_and_forgotten_when_it_comes_back():
    worker, go = DaemonWorker("w"), threading.Event()
    with pytest.raises(StillHanging):
        await worker.run(go.wait, 0.02)
    assert worker.hanging
    before = time.perf_counter()
    with pytest.raises(StillHanging):
        await worker.run(lambda: 1, 5.0)
    assert time.perf_counter() - before < 0.5
    go.set()
    for _ in range(200):
        if not worker.hanging:
            break
        await asyncio.sleep(0.01)
    assert await worker.run(lambda: 7, 1.0) == 7
    worker.close()


def test_a_hung_call_does_not_hold_up_the_exit():
    code = (
        "import asyncio, time\nfrom kvtui.sources.daemon import DaemonWorker, StillHanging\n"
        "async def main():\n    try:\n        await DaemonWorker('w').run(lambda: time.sleep(30), 0.05)\n"
        "    except StillHanging:\n        print('left')\nasyncio.run(main())"
    )
    before = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "left", "")
    assert time.perf_counter() - before < 5
