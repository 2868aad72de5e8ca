"""A small SGLang over HTTP for tests: answers as told, in memory or on a port, and records every request."""

import asyncio
import contextlib
import gzip
import itertools
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from metric_pages import body, load, rank_labels, series


def metrics_page(*, running=4, tokens=1000, tput=100.0, dps=(None,)):
    lines = []
    for dp in dps:
        lines += load(running=running, tput=tput, dp=dp)
        lines.append(series("realtime_tokens_total", tokens, mode="decode", **rank_labels(dp=dp)))
    return body(lines)


def server_info(version="0.5.23", **more):
    state = {
        "effective_max_running_requests_per_dp": 48,
        "memory_usage": {"weight": 1.0, "kvcache": 2.0, "graph": 0.5, "token_capacity": 4096},
    }
    return {"model_path": "/m", "version": version, "max_total_num_tokens": 4096, "internal_states": [state], **more}


def loads(version="0.5.23", stamp=5.0, running=4):
    return {"version": version, "loads": [{"timestamp": stamp, "dp_rank": 0, "num_running_reqs": running, "max_running_requests": 48}]}


class Raw(httpx.AsyncByteStream):
    """A body as it comes off the wire; ``httpx.Response(content=...)`` would be read already."""

    def __init__(self, *pieces):
        self.pieces = pieces

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece


class FakeSglang:
    """Answers by path: bytes, a JSON value, a status, an exception to raise, or ``HANG``."""

    HANG = object()

    def __init__(self, version="0.5.23"):
        self.requests = []
        self.headers = []
        self.together = 0
        self.busy = {}
        self.tokens = 1000
        self.answers = {
            "/metrics": self.page,
            "/server_info": server_info(version),
            "/v1/loads": loads(version),
            "/model_info": {"model_path": "/m", "architectures": ["LlamaForCausalLM"]},
        }

    def page(self):
        self.tokens += 100
        return metrics_page(tokens=self.tokens, running=4 + self.tokens % 3, tput=100.0 + self.tokens)

    def count(self, path):
        return sum(asked == path for _, asked in self.requests)

    def note(self, method, path, headers):
        self.requests.append((method, path))
        self.headers.append(dict(headers))
        answer = self.answers.get(path, 404)
        return answer() if callable(answer) else answer

    async def __call__(self, request):
        path = request.url.raw_path.decode()
        answer = self.note(request.method, path, request.headers)
        self.busy[path] = self.busy.get(path, 0) + 1
        self.together = max(self.together, self.busy[path])
        try:
            await asyncio.sleep(0)
            if answer is self.HANG:
                await asyncio.Event().wait()
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, httpx.Response):
                return answer
            if isinstance(answer, int):
                return httpx.Response(answer)
            return httpx.Response(200, stream=Raw(answer if isinstance(answer, bytes) else json.dumps(answer).encode()))
        finally:
            self.busy[path] -= 1

    def transport(self):
        return httpx.MockTransport(self)


class ServedSglang:
    """The same on a real port, in a daemon thread."""

    def __init__(self, fake, *, zipped=False, raw=None):
        served = self
        self.connections = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                served.connections.append(self.connection)

            def do_GET(self):
                answer = fake.note(self.command, self.path, self.headers)
                if raw is not None:
                    self.wfile.write(raw)
                    self.close_connection = True
                    return
                status = answer if isinstance(answer, int) else 200
                content = b"" if isinstance(answer, int) else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                content = gzip.compress(content) if zipped else content
                self.send_response(status)
                if zipped:
                    self.send_header("Content-Encoding", "gzip")
                if status in (301, 302):
                    self.send_header("Location", fake.location)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


class StepClock:
    """Time that moves only when a test says so."""

    def __init__(self, at=1_000.0):
        self.at = at
        self.sleepers = []
        self.order = itertools.count()

    def now(self):
        return self.at

    async def sleep(self, seconds):
        future = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.at + seconds, next(self.order), future))
        await future

    async def settle(self):
        for _ in range(60):
            await asyncio.sleep(0)

    async def advance(self, seconds):
        until = self.at + seconds
        await self.settle()
        while True:
            due = sorted(entry for entry in self.sleepers if entry[0] <= until + 1e-9 and not entry[2].done())
            if not due:
                break
            self.at = max(self.at, due[0][0])
            self.sleepers = [entry for entry in self.sleepers if entry is not due[0] and not entry[2].done()]
            due[0][2].set_result(None)
            await self.settle()
        self.at = until
