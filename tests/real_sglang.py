"""A real SGLang server on this machine's CPU, its load, and what it says of itself, read by other code than kvtui's."""

# A test's own server and clients, in real time.
# ruff: noqa: S310, S311, TID251

import http.client
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

HOME = Path(os.environ.get("KVTUI_REAL_HOME", "~/.cache/kvtui-real")).expanduser()
WANTED = os.environ.get("KVTUI_REAL", "") == "1"
LOCAL = {
    "SGLANG_USE_CPU_ENGINE": "1", "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TORCHDYNAMO_DISABLE": "1",
}  # fmt: skip
ARGUMENTS = [
    "--device",
    "cpu",
    "--attention-backend",
    "torch_native",
    "--sampling-backend",
    "pytorch",
    "--grammar-backend",
    "none",
    "--disable-cuda-graph",
    "--disable-overlap-schedule",
    "--dtype",
    "bfloat16",
    "--max-running-requests",
    "16",
    "--context-length",
    "4096",
    "--chunked-prefill-size",
    "512",
    "--sleep-on-idle",
    "--max-total-tokens",
    "2048",
    "--schedule-conservativeness",
    "0.3",
    "--decode-log-interval",
    "20",
    "--log-level",
    "info",
]
LINE = re.compile(rb"^sglang:([a-z_]+)(?:\{([^}]*)\})? (\S+)", re.MULTILINE)
DECODE = re.compile(
    r"Decode batch.*?#running-req: (\d+), #token: (\d+), token usage: ([\d.]+),.*?gen throughput \(token/s\): ([\d.]+), #queue-req: (\d+)"
)
RETRACT = re.compile(r"Retract requests?.*?#retracted_reqs: (\d+)")


def python_of(release):
    """The interpreter and the extra PYTHONPATH of a release; None where it is not installed.

    A release without an environment of its own runs from an unpacked wheel in that of 0.5.23.
    """
    own, wheel, base = HOME / f"venv-{release}", HOME / f"wheel-{release}", HOME / "venv-0.5.23"
    if (own / "bin/python").exists():
        return own / "bin/python", None
    return (base / "bin/python", wheel) if (wheel / "sglang").exists() and (base / "bin/python").exists() else None


def figures(body):
    """A page of metrics: {(name, dp): value}, the tensor-parallel rank 0 only."""
    found = {}
    for name, labels, value in LINE.findall(body):
        told = dict(pair.split(b"=", 1) for pair in labels.split(b",") if b"=" in pair)
        if told.get(b"tp_rank", b'"0"') == b'"0"' or b"dp_rank" in told:
            found[name.decode(), int(told.get(b"dp_rank", b'"0"').strip(b'"') or 0)] = float(value)
    return found


class RealServer:
    """One server; its log goes to a file, as a person's would."""

    def __init__(self, release, log: Path, port: int, *more, metrics=True):
        found = python_of(release)
        models = HOME / f"models-{'0.5.9' if release == '0.5.9' else '0.5.23'}"
        python, path = found
        self.port, self.log, self.url = port, log, f"http://127.0.0.1:{port}"
        words = [
            str(python),
            "-m",
            "sglang.launch_server",
            "--model-path",
            str(models / "tiny-llama"),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        words += [*ARGUMENTS, *(["--enable-metrics"] if metrics else []), *more]
        environment = {**os.environ, **LOCAL, **({"PYTHONPATH": str(path)} if path else {})}
        if "--tp-size" in more or ("--dp-size" in more and release != "0.5.9"):
            environment["SGLANG_CPU_OMP_THREADS_BIND"] = "0|1"
        self.file = log.open("ab")
        self.process = subprocess.Popen(words, stdout=self.file, stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def get(self, path, timeout=3, key=None):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {key}"} if key else {})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read()

    def wait(self, seconds=150):
        """Until it listens and its model answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
            try:
                self.get("/model_info")
            except urllib.error.HTTPError:
                return self
            except OSError:
                time.sleep(0.3)
            else:
                return self
        raise AssertionError("the server did not come up")

    def page(self):
        """Its metrics now."""
        return figures(self.get("/metrics"))

    def decode_lines(self):
        """(dp, running, tokens, usage, tok/s, queued) of every decode line."""
        text = self.log.read_text(errors="replace")
        return [
            (int((re.search(r" DP(\d+)", line) or [0, 0])[1]), *map(float, m.groups()))
            for line in text.split("\n")
            if (m := DECODE.search(line))
        ]

    def retracted(self):
        """Requests that the log says were put back."""
        return sum(int(count) for count in RETRACT.findall(self.log.read_text(errors="replace")))

    def pids(self, title=""):
        """Its processes whose title holds ``title``."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if os.getsid(int(folder.name)) == self.process.pid and title in words:
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def stop(self):
        for number in (signal.SIGCONT, signal.SIGKILL):
            for pid in self.pids():
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
        self.process.wait(10)
        self.file.close()

    def __enter__(self):
        try:
            return self.wait()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exc):
        self.stop()


class Load:
    """Clients in daemon threads: enough long answers to fill the pool, make a queue and have requests put back."""

    def __init__(self, server, clients=24, key=None):
        self.server, self.key, self.done = server, key, threading.Event()
        self.clients = [threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(clients)]
        for client in self.clients:
            client.start()

    def _client(self, number):
        chance = random.Random(number)
        while not self.done.is_set():
            prompt = " ".join(f"w{chance.randrange(850)}" for _ in range(chance.randrange(40, 300)))
            tokens = chance.randrange(300, 900)
            body = {"text": prompt, "sampling_params": {"max_new_tokens": tokens, "min_new_tokens": tokens}}
            headers = {"content-type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
            try:
                line = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
                line.request("POST", "/generate", json.dumps(body), headers)
                line.getresponse().read()
                line.close()
            except (OSError, http.client.HTTPException):
                self.done.wait(0.5)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.done.set()
