"""Against the shared fake server, where it is there: every kind of bad answer in the right words, and keys that are answered at once."""

# A real server in real time.
# ruff: noqa: S310, TID251

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from process_state import alive
from pty_console import PtyConsole
from reading import SHARED
from screen import screen_text

from kvtui import wiring
from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates

FAKE = SHARED / "tools" / "fake_sglang.py"
pytestmark = pytest.mark.skipif(not FAKE.exists(), reason="the shared fake server is not here")
MODES = {
    "html": "web page",
    "binary": "Bytes that are no text",
    "truncated": "ends within a line",
    "nan": "no numbers or cannot be true",
    "empty": "empty",
    "badjson": "JSON",
    "500": "500",
    "503": "503",
    "drop": "closed",
    "huge": "",
}
"""What a person must read on the machine page; empty where the page can still be read."""
BOUND_S = 1.0
"""For a key, on a busy machine; measured: 0.02 to 0.1 s."""


class FakeServer:
    def __init__(self, *words, port=None):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = port or one.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, str(FAKE), "--port", str(self.port), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            time.sleep(0.05)

    def set(self, query):
        urllib.request.urlopen(f"{self.url}/_fake/set?{query}", timeout=10).read()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()


async def words_of(server, wanted, *, key=None, seconds=15, keys=("m",)):
    """The machine page once it holds all of ``wanted``."""
    app = KvtuiApp(wiring.open_feed(wiring.Request(server.url, api_key=key)), estimates, target=server.url)
    text = ""
    async with app.run_test(size=(140, 60)) as pilot:
        end = time.monotonic() + seconds
        while app.view_state is None and time.monotonic() < end:
            await pilot.pause(0.1)
        await pilot.press(*keys)
        while time.monotonic() < end:
            await pilot.pause(0.1)
            text = " ".join(screen_text(app).replace("│", " ").split())
            if all(word in text for word in wanted):
                return text
    raise AssertionError(f"{wanted} not in:\n{text}")


@pytest.mark.parametrize("mode", MODES)
async def test_garbage_in_the_right_words(mode):
    with FakeServer("--garbage", mode) as server:
        wanted = [MODES[mode], "● metrics" if mode in {"badjson", "huge"} else "✖ metrics"]
        text = await words_of(server, wanted)
        print(f"\n{mode}: {text.split('Sources')[1][:700]}")


@pytest.mark.parametrize(
    ("words", "key", "wanted"),
    [
        (("--api-key", "k1", "--protect-metrics"), None, ["401", "key"]),
        (("--api-key", "k1", "--protect-metrics"), "wrong", ["401", "key"]),
        (("--api-key", "k1", "--protect-metrics"), "k1", ["● metrics", "● server_info"]),
        (("--no-metrics",), None, ["--enable-metrics"]),
        (("--flavor", "vllm"), None, ["vLLM"]),
        (("--latency", "5"), None, ["✖ metrics", "within 2 s"]),
    ],
)
async def test_other_situations_in_the_right_words(words, key, wanted):
    with FakeServer(*words) as server:
        text = await words_of(server, wanted, key=key)
        print(f"\n{words} {key}: {text.split('Sources')[1][:700]}")


async def test_eight_data_parallel_ranks():
    with FakeServer("--dp", "8", "--scenario", "kv_bound") as server:
        text = await words_of(server, ["8 DP ranks"], keys=("2",))
        assert "DP8" in text


async def test_a_restart_in_the_middle():
    server = FakeServer()
    app = KvtuiApp(wiring.open_feed(wiring.Request(server.url)), estimates, target=server.url)
    async with app.run_test(size=(140, 45)) as pilot:
        for wanted, act in (("● live", None), ("✖ metrics", "kill"), ("restarted", "start")):
            if act == "kill":
                server.process.kill()
                server.process.wait()
            if act == "start":
                server = FakeServer(port=server.port)
            for _ in range(200):
                await pilot.pause(0.1)
                if wanted in screen_text(app):
                    break
            else:
                raise AssertionError(f"{wanted}\n{screen_text(app)}")
    server.process.kill()
    server.process.wait()


@pytest.mark.parametrize("words", [("--latency", "5"), ("--garbage", "huge"), ("--dp", "8", "--scenario", "kv_bound")], ids=str)
def test_keys_are_answered_at_once(words):
    with FakeServer(*words) as server, PtyConsole(server.url) as console:
        console.until("GPU memory", 60)
        console.read(2)
        console.read(0.3)
        took = []
        for _ in range(3):
            for key, word in (("l", "lines read"), ("\r", "GPU memory"), ("m", "Sources"), ("\r", "GPU memory")):
                console.read(0.05)
                console.press(key)
                took.append(console.until(word, 30))
        took.sort()
        print(f"\n{words}: median {took[len(took) // 2] * 1000:.0f} ms, worst {took[-1] * 1000:.0f} ms")
        assert took[len(took) // 2] < BOUND_S
        left = console.leave("q")
        print(f"  left in {left:.2f} s")
        console.check_restored()
        assert not [pid for pid in console.family() if alive(pid)]
