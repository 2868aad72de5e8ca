"""Leaving: the terminal is restored, no process is left, and nothing that hangs holds it up. In a real terminal."""

# Real processes in real time.
# ruff: noqa: TID251

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from process_state import alive
from pty_console import PtyConsole

FAKES = Path(__file__).resolve().parents[1] / "fakes"
BOUND_S = 4.0
"""Far above what is measured (0.1 to 0.4 s), far below what a hung call would cost."""
WAYS = ["q", "\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGINT, "hangup"]
LAUNCH = """
import socket, sys, time
if "--hang" in sys.argv:
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))); s.listen(64)
time.sleep(300)
"""
HANGING = """
import sys
from kvtui import wiring
from kvtui.domain.process import LogTarget
from kvtui.sources.streamlog import StreamLogSource
from kvtui.sources.streams import ProgramStream
wiring._log_of = lambda request, found, clock: (StreamLogSource(ProgramStream(LogTarget("docker", "abc"), clock), clock), ())
from kvtui.cli import main
main()
"""
STUBBORN = f"""#!{sys.executable}
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdout.write("x\\n" * 60); sys.stdout.flush()
while True: time.sleep(1)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def hung(tmp_path):
    """A server's process by its command line, which accepts and never answers; its port."""
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("")
    (tmp_path / "sglang" / "launch_server.py").write_text(LAUNCH)
    port = free_port()
    words = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m", "--port", str(port), "--hang"]
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(tmp_path)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            break
        time.sleep(0.02)
    yield port
    process.kill()
    process.wait()


@pytest.fixture
def slow_driver(tmp_path):
    """The environment in which the NVIDIA driver takes 30 s for a call."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path / "nvml"
    folder.mkdir()
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([compiler, *flags, "-o", str(folder / "libnvidia-ml.so.1"), str(FAKES / "fake_nvml.c")], check=True)
    (folder / "state").write_text("count 8\ndelay_ms 30000\n")
    return {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_STATE": str(folder / "state")}


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_every_way_out_of_an_ordinary_console(how, tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes((Path(__file__).resolve().parents[1] / "logs" / "founding_a.log").read_bytes())
    with PtyConsole(str(log)) as console:
        console.until("limits concurrency", 60)
        took = console.leave(how)
        print(f"\n{how!r}: {took:.2f} s, status {console.process.returncode}")
        assert took < BOUND_S
        assert console.family() == []
        if how != "hangup":
            console.check_restored()
            assert b"Traceback" not in console.painted


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_every_way_out_while_every_source_hangs(how, hung, slow_driver, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "docker").write_text(STUBBORN)
    (tools / "docker").chmod(0o755)
    script = tmp_path / "hanging.py"
    script.write_text(HANGING)
    env = {**slow_driver, "PATH": f"{tools}:{os.environ['PATH']}"}
    with PtyConsole(f":{hung}", env=env, program=(sys.executable, str(script))) as console:
        console.until("kvtui", 60)  # only cells that differ are painted: later words may come in parts
        family = []
        for _ in range(600):
            console.read(0.1)
            family = console.family()
            if len(family) >= 2:
                break
        console.read(0.5)
        assert len(family) >= 2, "the log's program was to run"
        took = console.leave(how)
        print(f"\nall hang, {how!r}: {took:.2f} s, status {console.process.returncode}")
        assert took < BOUND_S
        time.sleep(0.3)
        assert [pid for pid in family if alive(pid)] == []
        if how != "hangup":
            console.check_restored()
            assert b"Traceback" not in console.painted


@pytest.mark.parametrize("how", ["q", "hangup"], ids=str)
def test_every_way_out_with_a_pipe_that_nobody_writes_to(how, hung, slow_driver, tmp_path):
    fifo = tmp_path / "server.fifo"
    os.mkfifo(fifo)
    with PtyConsole(f":{hung}", "--log", str(fifo), env=slow_driver) as console:
        console.until("kvtui", 60)
        time.sleep(1.5)
        took = console.leave(how)
        print(f"\nfifo, {how!r}: {took:.2f} s, status {console.process.returncode}")
        assert took < BOUND_S
        assert console.family() == []
        if how != "hangup":
            console.check_restored()


def test_the_console_paints_where_standard_error_goes_to_a_file(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes((Path(__file__).resolve().parents[1] / "logs" / "founding_a.log").read_bytes())
    command = f"exec {sys.executable} -m kvtui {log} 2>{tmp_path}/err"
    with PtyConsole("-c", command, program=("/bin/sh",)) as console:
        console.until("limits concurrency", 60)
        assert console.leave("q") < BOUND_S
        console.check_restored()
    assert (tmp_path / "err").read_bytes() == b""


def test_a_terminal_that_nobody_reads_holds_up_no_signal():
    with PtyConsole("--demo", "--speed", "60") as console:
        console.until("kvtui", 60)
        console.read(2)
        # Large pages, one after the other, until the terminal's buffer is full: then the screen stands.
        for _ in range(60):
            console.press("t\x1b1234")
            time.sleep(0.1)
        begun = time.monotonic()
        console.process.send_signal(signal.SIGTERM)
        console.process.wait(10)
        took = time.monotonic() - begun
        print(f"\nstalled terminal: {took:.2f} s")
        assert took < BOUND_S
        assert console.family() == []
