"""What kvtui shows of a real server equals what its log and its metrics say. Slow: runs only with KVTUI_REAL=1."""

# A real server in real time.
# ruff: noqa: TID251

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from real_sglang import WANTED, Load, RealServer, figures, python_of
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.domain.http_reading import Failure
from kvtui.domain.samples import DECODE
from kvtui.domain.settings import USUAL
from kvtui.engine.analyse import estimates
from kvtui.sources.http import HttpClient
from kvtui.wiring import Request, _Analyser, open_feed, open_source, servers_here

pytestmark = [
    pytest.mark.skipif(not WANTED, reason="set KVTUI_REAL=1 to run against a real SGLang server"),
    pytest.mark.timeout(400),
]
PORTS = itertools.count(30_400)
SETUPS = [
    ("0.5.9", ()),
    ("0.5.23", ()),
    ("0.5.21", ()),
    ("0.5.9", ("--tp-size", "2")),
    ("0.5.23", ("--tp-size", "2")),
    ("0.5.9", ("--dp-size", "2")),
    ("0.5.23", ("--dp-size", "2")),
]
SECONDS = float(os.environ.get("KVTUI_REAL_SECONDS", "40"))


def start(release, tmp_path, *more, port=None, **options):
    if python_of(release) is None:
        pytest.skip(f"SGLang {release} is not installed for CPU")
    return RealServer(release, tmp_path / "server.log", port or next(PORTS), *more, **options)


def found_here(server):
    """As ``kvtui`` alone finds it."""
    return next(s for s in servers_here().servers if s.port.value == server.port)


def report(target, *more, key=None):
    environment = {**os.environ, **({"SGLANG_API_KEY": key} if key else {})}
    done = subprocess.run(
        [sys.executable, "-m", "kvtui", "report", target, "--format", "json", *more], capture_output=True, text=True, env=environment
    )
    return json.loads(done.stdout), done.returncode


class Compared:
    """Counts of how often two readings of one figure agree."""

    def __init__(self):
        self.seen = {}

    def add(self, name, same):
        good, of = self.seen.get(name, (0, 0))
        self.seen[name] = (good + bool(same), of + 1)

    def share(self, name):
        good, of = self.seen[name]
        return good / of

    def __str__(self):
        return "  ".join(f"{name} {good}/{of}" for name, (good, of) in self.seen.items())


def agree(shown, pages, name, dp, at):
    """True where the pages that the test read within 1.3 s of kvtui's frame its value."""
    near = [page[name, dp] for when, page in pages if abs(when - at) < 1.3 and (name, dp) in page]
    return bool(near) and min(near) - 1e-6 <= shown <= max(near) + 1e-6


@pytest.fixture
def bodies(monkeypatch):
    """Every page of metrics as kvtui got it, read by the test's own parser: (when it was there, figures)."""
    kept = []
    real = HttpClient.get

    async def get(self, path, seconds, **more):
        answer = await real(self, path, seconds, **more)
        if path == "/metrics" and not isinstance(answer, Failure):
            kept.append((time.time(), figures(answer.body)))
        return answer

    monkeypatch.setattr(HttpClient, "get", get)
    return kept


async def watch_pages(server, pages, done):
    while not done.is_set():
        page = await asyncio.to_thread(server.page)
        pages.append((time.time(), page))
        await asyncio.sleep(0.25)


@pytest.mark.parametrize(("release", "more"), SETUPS)
async def test_the_frame_is_what_log_and_metrics_say(release, more, tmp_path, bodies):
    with start(release, tmp_path, *more) as server, Load(server):
        ranks = 2 if "--dp-size" in more else 1
        source = open_source(Request(found_here(server)))
        pages, done, frames = [], asyncio.Event(), []
        before = server.page()
        watching = asyncio.ensure_future(watch_pages(server, pages, done))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            frames.append(await source.read())
            await asyncio.sleep(1)
        lines_before = server.decode_lines()
        await asyncio.sleep(1.2)
        frame = await source.read()
        done.set()
        await watching
        await source.close()
        lines = server.decode_lines()

    same = Compared()
    for one in frames[4:]:
        scrape = one.http.scrape
        own = min(bodies, key=lambda body: abs(body[0] - scrape.at))[1]
        for row in scrape.stage_rows():
            for name, value in (("num_running_reqs", row.running), ("num_queue_reqs", row.queued), ("token_usage", row.usage)):
                same.add(name, value.value == own[name, row.dp])
                same.add(f"{name} beside", agree(value.value, pages, name, row.dp, scrape.at))
        total = sum(value for (name, _), value in own.items() if name == "num_running_reqs")
        same.add("running, all ranks", scrape.sum("running").reading.value == total)
    print(f"\n{release} {' '.join(more)}: {same}")
    for name in ("num_running_reqs", "num_queue_reqs", "token_usage", "running, all ranks"):
        assert same.share(name) == 1, str(same)
    # Between two of the test's own pages a gauge may have been elsewhere.
    assert same.share("num_running_reqs beside") >= 0.7, str(same)

    pool = frame.boot.final.max_total_num_tokens
    assert {value for (name, _), value in pages[-1][1].items() if name == "max_total_num_tokens"} == {pool}
    assert len(frame.http.scrape.stage_rows()) == ranks

    shown = [
        tuple(frame.timeline.value(name, i) for name in ("dp", "running", "tokens", "usage", "gen_tput", "queued"))
        for i in range(len(frame.timeline))
        if frame.timeline.value("kind", i) == DECODE
    ]
    print(f"  log: {len(shown)} decode lines shown, {len(lines_before)} to {len(lines)} written")
    assert len(lines_before) <= len(shown) <= len(lines)
    assert shown == lines[: len(shown)]

    put_back = sum(event.fields["retracted"] for event in frame.events if event.kind == "retract")
    counted = [sum(v for (n, _), v in page.items() if n == "num_retracted_requests_total") for page in (before, pages[-1][1])]
    print(f"  retracted: shown {put_back:.0f}, log {server.retracted()}, counter {counted[1] - counted[0]:.0f}")
    assert frames[-1].events is not None
    assert put_back <= server.retracted()
    assert abs(put_back - counted[1]) <= 3
    queued = max(page.get(("num_queue_reqs", 0), 0) for _, page in pages)
    assert queued > 0, "the load was to make a queue"


@pytest.mark.parametrize("release", ["0.5.9", "0.5.23"])
async def test_the_screen_and_the_report_say_the_same(release, tmp_path):
    with start(release, tmp_path) as server, Load(server):
        app = KvtuiApp(open_feed(Request(found_here(server))), estimates, target=server.url)
        async with app.run_test(size=(120, 40)) as pilot:
            for _ in range(25):
                await asyncio.sleep(1)
                await pilot.pause()
            text = screen_text(app)
            newest = [line[1:] for line in server.decode_lines()[-60:]]
            pool = app.view_state.analysis.frame.boot.final.max_total_num_tokens
        told, _ = report(server.url, "--seconds", "16")
    print("\n" + text)
    running = next(line for line in text.split("\n") if "running " in line).split("running ")[1].split()[0]
    assert float(running) in {line[0] for line in newest}
    assert f"SGLang {release}" in text
    assert "2,048" in text
    assert pool == told["memory"]["tokens_reported"] == told["memory"]["tokens_predicted"] == 2048
    assert told["server"]["version"] == release
    assert told["verdicts"][0]["id"] in {"retraction", "kv-capacity", "reservation", "headroom"}


async def until(source, seconds, wanted):
    """Seconds until a frame satisfies ``wanted``; fails after ``seconds``."""
    analyse = _Analyser(None, USUAL)
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        frame = await source.read()
        if wanted(frame, analyse(frame)):
            return time.monotonic() - begun
        await asyncio.sleep(0.5)
    raise AssertionError(
        [(f.id, [e.text for e in f.evidence]) for f in analyse(frame).findings], frame.http.motion, frame.http.failures, frame.notes
    )


@pytest.mark.parametrize("release", ["0.5.9", "0.5.23"])
async def test_a_frozen_scheduler_a_killed_one_and_a_new_one(release, tmp_path):
    port = next(PORTS)
    with start(release, tmp_path, port=port) as server:
        source = open_source(Request(server.url))
        try:
            with Load(server, clients=8):
                await until(source, 30, lambda frame, _: frame.http.motion.state == "moving")
                schedulers = server.pids("sglang::scheduler")
                assert schedulers
                for pid in schedulers:
                    os.kill(pid, signal.SIGSTOP)
                took = await until(source, 40, lambda _, analysis: analysis.findings and analysis.findings[0].id == "server-stuck")
                print(f"\n{release}: server-stuck {took:.1f} s after SIGSTOP")
                assert took < 20
                for pid in schedulers:
                    os.kill(pid, signal.SIGCONT)
                resumed = (await source.read()).now
                took = await until(source, 20, lambda frame, _: (frame.http.motion.changed_at or 0) > resumed)
                print(f"{release}: it is seen to move {took:.1f} s after SIGCONT")
                took = await until(source, 20, lambda _, analysis: analysis.findings and analysis.findings[0].id != "server-stuck")
                print(f"{release}: server-stuck is gone {took:.1f} s later")
                assert took < 5
                # It is asked for /server_info once a minute.
                await until(source, 60, lambda frame, _: "server_info" not in frame.http.failures)
            server.stop()
            took = await until(
                source, 30, lambda frame, _: "metrics" in frame.http.failures and frame.http.failures["metrics"].kind == "refused"
            )
            print(f"{release}: refused {took:.1f} s after the kill")
            with start(release, tmp_path, port=port) as again, Load(again, clients=2):
                took = await until(
                    source, 45, lambda frame, _: frame.http.restarted_at is not None and "metrics" not in frame.http.failures
                )
                print(f"{release}: restart recognised {took:.1f} s after it answered")
                frame = await source.read()
                assert any("restarted" in note for note in frame.notes)
                await until(
                    source, 75, lambda frame, _: len(frame.boots) >= 1 and frame.http.answered and "server_info" not in frame.http.failures
                )
            print(f"{release}: all endpoints answer again")
        finally:
            await asyncio.wait_for(source.close(), 5)


@pytest.mark.parametrize("release", ["0.5.9", "0.5.23"])
def test_metrics_off_and_a_key(release, tmp_path):
    with start(release, tmp_path, "--api-key", "real-secret-key", metrics=False) as server, Load(server, clients=4, key="real-secret-key"):
        time.sleep(3)
        told, status = report(server.url, "--seconds", "5", key="real-secret-key")
        assert status in {0, 1}
        assert any("--enable-metrics" in note for note in told["notes"]), told["notes"]
        assert told["memory"]["tokens_reported"] == 2048
        assert "real-secret-key" not in json.dumps(told)
        told, status = report(server.url, "--seconds", "5")
        assert any("key" in note.lower() for note in told["notes"]), told["notes"]
        assert "real-secret-key" not in json.dumps(told)
