"""The source: paces, failures that stay apart, restarts, secrets, the end."""

import asyncio
import time

import httpx
import pytest
from fakes.sglang_server import FakeSglang, ServedSglang, StepClock, loads, metrics_page, server_info

from kvtui.domain.answers import Loads, ModelInfo, ServerInfo
from kvtui.domain.reading import Missing
from kvtui.domain.scrape import Scrape
from kvtui.engine.clock import WallClock
from kvtui.sources import http, sglang
from kvtui.sources.http import ALLOWED
from kvtui.sources.sglang import SglangSource

SECRET = "sk-topsecret123"  # noqa: S105


class Session:
    """A source over a fake, with time in the test's hand."""

    def __init__(self, fake, **more):
        self.fake = fake
        self.clock = StepClock()
        self.source = SglangSource("http://gpu7:30000", self.clock, fake.transport(), **more)

    async def __aenter__(self):
        await self.source.read()
        await self.clock.settle()
        return self

    async def after(self, seconds):
        await self.clock.advance(seconds)
        return await self.source.read()

    async def __aexit__(self, *exc):
        await self.source.close()


def refused():
    error = httpx.ConnectError("x")
    error.__cause__ = ConnectionRefusedError(111, "no")
    return error


def health(reading, name):
    return next(part for part in reading.health if part.name == name)


async def test_one_look_reads_everything():
    async with Session(FakeSglang()) as session:
        got = await session.after(2)
    assert isinstance(got.scrape, Scrape)
    assert isinstance(got.server_info, ServerInfo)
    assert isinstance(got.loads, Loads)
    assert isinstance(got.model, ModelInfo)
    assert {part.state for part in got.health} == {"live"}
    assert got.rates.gen_tok_s.value == 100
    assert got.age(got.scrape) == 0
    assert not got.failures


@pytest.mark.parametrize(
    ("version", "most_loads"), [("0.5.23", 25), ("0.5.15", 25), ("0.5.12", 3), ("0.5.9", 3), ("0.5.6", 0), ("main", 3)]
)
async def test_each_endpoint_keeps_its_own_pace(version, most_loads):
    fake = FakeSglang(version)
    async with Session(fake) as session:
        await session.after(121)
    assert 115 <= fake.count("/metrics") <= 123
    assert 2 <= fake.count("/server_info") <= 3
    assert fake.count("/model_info") == 1
    loads_asked = fake.count("/v1/loads")
    assert most_loads * 0.6 <= loads_asked <= most_loads
    assert fake.together == 1
    assert {method for method, _ in fake.requests} == {"GET"}
    assert {path for _, path in fake.requests} <= ALLOWED
    assert not fake.count("/get_server_info")


async def test_gauges_that_claim_work_and_stand_still_are_checked_once():
    """0.5.9 shows its last batch for 30 s after it; one answer of /v1/loads tells that it is over."""
    fake = FakeSglang("0.5.9")
    async with Session(fake) as session:
        working = await session.after(10)
        asked = fake.count("/v1/loads")
        fake.answers["/metrics"] = metrics_page(tokens=fake.tokens, running=1)
        fake.answers["/v1/loads"] = loads("0.5.9", running=0)
        got = await session.after(25)
    assert working.motion.rest.since is None
    assert fake.count("/v1/loads") == asked + 1
    assert got.motion.rest.since is not None
    assert got.now - got.motion.rest.since >= 15


async def test_the_deprecated_path_only_where_the_new_one_is_absent():
    fake = FakeSglang("0.5.3")
    fake.answers["/get_server_info"] = fake.answers.pop("/server_info")
    async with Session(fake) as session:
        got = await session.after(121)
    assert got.server_info.settings["model_path"].value == "/m"
    assert fake.count("/server_info") == 1
    assert fake.count("/get_server_info") == 3


async def test_a_hanging_scheduler_delays_nothing_and_is_told_apart(monkeypatch):
    monkeypatch.setattr(http, "CONNECT_S", 0.02)
    monkeypatch.setattr(sglang, "INFO_TIMEOUT_S", 0.02)
    fake = FakeSglang()
    fake.answers["/server_info"] = FakeSglang.HANG
    async with Session(fake) as session:
        begun = time.perf_counter()
        await session.source.read()
        assert time.perf_counter() - begun < 0.05
        await session.after(3)
        assert fake.count("/metrics") >= 3
        await asyncio.sleep(0.1)
        got = await session.after(3)
    assert got.failures["server_info"].kind == "timeout"
    assert got.scheduler_stuck
    assert "HTTP process answers" in health(got, "server_info").reason
    assert fake.count("/model_info") == 2
    assert isinstance(got.scrape, Scrape)


async def test_a_server_that_has_not_served_yet_is_not_called_stuck(monkeypatch):
    monkeypatch.setattr(http, "CONNECT_S", 0.02)
    monkeypatch.setattr(sglang, "INFO_TIMEOUT_S", 0.02)
    fake = FakeSglang()
    fake.answers["/server_info"] = FakeSglang.HANG
    fake.answers["/metrics"] = b'sglang:num_running_reqs{tp_rank="0"} 0\nsglang:num_requests_total 0\n'
    async with Session(fake) as session:
        await asyncio.sleep(0.1)
        got = await session.after(3)
    assert not got.scheduler_stuck
    assert "first request" in health(got, "server_info").reason


async def test_failing_endpoints_are_asked_ever_less_and_come_back():
    fake = FakeSglang()
    page = fake.answers["/metrics"]
    fake.answers["/metrics"] = 500
    async with Session(fake) as session:
        got = await session.after(120)
        asked = fake.count("/metrics")
        assert 5 <= asked <= 10
        part = health(got, "metrics")
        assert (part.state, part.since) == ("failed", 1_000.0)
        assert isinstance(got.server_info, ServerInfo)
        fake.answers["/metrics"] = page
        got = await session.after(31)
    assert health(got, "metrics").state == "live"
    assert isinstance(got.scrape, Scrape)


async def test_an_unreachable_server_costs_no_minute_when_it_is_back():
    fake = FakeSglang()
    answers, fake.answers = fake.answers, dict.fromkeys(fake.answers, refused())
    async with Session(fake) as session:
        got = await session.after(40)
        assert {part.state for part in got.health} == {"failed"}
        assert "Nothing listens" in health(got, "metrics").reason
        fake.answers = answers
        got = await session.after(33)
    assert isinstance(got.server_info, ServerInfo)
    assert isinstance(got.scrape, Scrape)


async def test_a_restart_forgets_what_the_old_process_said():
    fake = FakeSglang()
    async with Session(fake) as session:
        await session.after(5)
        answers, fake.answers = fake.answers, dict.fromkeys(fake.answers, refused())
        got = await session.after(5)
        assert isinstance(got.scrape, Scrape)
        assert got.age(got.scrape) >= 5
        assert health(got, "metrics").state == "failed"
        asked = fake.count("/server_info")
        fake.answers = {**answers, "/server_info": refused()}
        got = await session.after(8)
        assert got.restarted_at is not None
        assert got.server_info == Missing("the server was restarted: asked again within a minute")
        fake.answers = {**answers, "/server_info": server_info("0.5.23", max_total_num_tokens=9)}
        got = await session.after(60)
    assert got.server_info.pool_tokens.value == 9
    assert fake.count("/server_info") <= asked + 9


async def test_another_process_is_asked_at_once_who_it_is_and_then_each_minute():
    """Until it has answered, model, sizes and settings of the new one are unknown."""
    fake = FakeSglang()
    async with Session(fake) as session:
        await session.after(5)
        assert fake.count("/server_info") == 1
        fake.tokens = 0
        fake.answers["/server_info"] = server_info("0.5.23", max_total_num_tokens=9)
        got = await session.after(3)
        assert got.restarted_at is not None
        assert got.server_info.pool_tokens.value == 9
        assert fake.count("/server_info") == 2
        await session.after(50)
    assert fake.count("/server_info") == 2


async def test_counters_that_fall_are_a_restart_too():
    fake = FakeSglang()
    async with Session(fake) as session:
        await session.after(3)
        fake.tokens = 0
        got = await session.after(2)
        assert got.restarted_at == 1_004.0
        await session.after(3)
    assert fake.count("/model_info") == 2


async def test_metrics_off_is_said_in_words_and_loads_make_the_rows():
    fake = FakeSglang()
    fake.answers["/metrics"] = 404
    stamps = iter(range(1, 10_000))
    fake.answers["/v1/loads"] = lambda: loads(stamp=float(next(stamps)), running=fake.count("/v1/loads"))
    async with Session(fake) as session:
        got = await session.after(5)
    assert "--enable-metrics" in health(got, "metrics").reason
    assert len(got.rows) >= 4
    assert got.rows[-1]["running"] > got.rows[0]["running"]


async def test_another_programs_port_is_told_apart():
    fake = FakeSglang()
    fake.answers = {}
    async with Session(fake) as session:
        got = await session.after(3)
    assert "another program" in health(got, "metrics").reason


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (b"<html>log in</html>", "web page"),
        (b"\x00\x01" * 100, "no text"),
        (b"vllm:num_requests_running 3\n", "vLLM"),
        (b"smg_worker_pool_size 3\n", "router"),
        (b"node_load1 3\n", "no sglang: series"),
        (b"", "empty"),
    ],
)
async def test_pages_that_are_not_ours_are_told_apart(page, words):
    fake = FakeSglang()
    fake.answers["/metrics"] = page
    async with Session(fake) as session:
        got = await session.after(2)
    assert words in health(got, "metrics").reason
    assert isinstance(got.scrape, Missing)


def spoilt(page):
    return b"".join(line.rsplit(b" ", 1)[0] + b" NaN\n" for line in page.splitlines())


@pytest.mark.parametrize(("spoil", "words"), [(lambda page: page[:-7], "ends within a line"), (spoilt, "no numbers or cannot be true")])
async def test_a_page_that_is_cut_or_holds_no_numbers_leaves_the_values_before_to_grow_old(spoil, words):
    fake = FakeSglang()
    async with Session(fake) as session:
        before = await session.after(5)
        whole = fake.page
        fake.answers["/metrics"] = lambda: spoil(whole())
        got = await session.after(20)
        assert health(got, "metrics").state == "failed"
        assert words in health(got, "metrics").reason
        assert got.age(got.scrape) >= 19
        assert got.scrape.at <= before.now
        fake.answers["/metrics"] = whole
        assert health(await session.after(31), "metrics").state == "live"


async def test_some_values_that_are_no_numbers_are_said_beside_those_that_are():
    fake = FakeSglang()
    whole = fake.page
    fake.answers["/metrics"] = lambda: whole() + b'sglang:new_token_ratio{engine_type="unified"} -3.0\n'
    async with Session(fake) as session:
        got = await session.after(3)
    assert health(got, "metrics").state == "live"
    assert "left out: 1" in health(got, "metrics").reason


async def test_a_key_that_is_wanted_leaves_metrics_alone():
    fake = FakeSglang()
    fake.answers.update({"/server_info": 401, "/v1/loads": 401, "/model_info": 401})
    async with Session(fake) as session:
        got = await session.after(70)
    assert isinstance(got.scrape, Scrape)
    assert "SGLANG_API_KEY" in health(got, "server_info").reason
    assert fake.count("/server_info") <= 2


@pytest.mark.parametrize("answer", [b"{", b"[]", b"null", b"<html>", b"9" * 5000, b'{"model_path": [1], "loads": [null, {"dp_rank": {}}]}'])
async def test_hostile_json_is_a_reason_and_no_crash(answer):
    fake = FakeSglang()
    fake.answers.update(dict.fromkeys(("/server_info", "/v1/loads", "/model_info"), answer))
    async with Session(fake) as session:
        got = await session.after(65)
    assert isinstance(got.scrape, Scrape)
    assert all("please report" not in part.reason for part in got.health)


async def test_a_fault_of_our_own_ends_nothing(monkeypatch):
    def broken(document, at):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(sglang, "read_server_info", broken)
    async with Session(FakeSglang()) as session:
        got = await session.after(3)
    assert "RuntimeError" in health(got, "server_info").reason
    assert SECRET not in repr(got)
    assert isinstance(got.scrape, Scrape)


async def test_rows_are_given_once():
    async with Session(FakeSglang()) as session:
        first = await session.after(3)
        again = await session.source.read()
        later = await session.after(1)
    assert len(first.rows) >= 3
    assert again.rows == ()
    assert len(later.rows) == 1


async def test_a_clock_that_is_set_does_not_stop_the_asking():
    fake = FakeSglang()
    async with Session(fake) as session:
        await session.after(5)
        asked = fake.count("/metrics")
        session.clock.at -= 3600
        session.clock.sleepers = [(due - 3600, n, future) for due, n, future in session.clock.sleepers]
        got = await session.after(10)
    assert fake.count("/metrics") >= asked + 9
    assert got.rates.gen_tok_s.value == pytest.approx(100)


async def test_secrets_are_nowhere_but_in_the_request():
    fake = FakeSglang()
    fake.answers["/server_info"] = server_info(api_key=SECRET, launch_command=f"--api-key {SECRET}", admin_api_key=SECRET)
    clock = StepClock()
    source = SglangSource(f"http://user:{SECRET}@gpu7:30000/?token={SECRET}", clock, fake.transport(), api_key=SECRET)
    await source.read()
    await clock.advance(2)
    fake.answers.update(dict.fromkeys(fake.answers, 401))
    await clock.advance(62)
    got = await source.read()
    await source.close()
    assert isinstance(got.server_info, ServerInfo)
    assert got.failures
    assert SECRET not in repr(got) + repr(source) + repr(vars(source)) + repr(source._http)
    assert all(headers["authorization"] == f"Bearer {SECRET}" for headers in fake.headers)


async def test_a_long_session_over_a_real_port_sends_reads_of_the_list_only():
    fake = FakeSglang()
    clock = WallClock()
    clock.sleep = lambda seconds: asyncio.sleep(seconds / 100)
    with ServedSglang(fake) as served:
        source = SglangSource(served.url, clock)
        got = await source.settle(5.0, pages=30)
        served.stop()
        for _ in range(200):
            if "metrics" in (await source.read()).failures:
                break
            await asyncio.sleep(0.01)
        assert (await source.read()).failures["metrics"].kind in ("refused", "broken")
        await source.close()
    assert isinstance(got.scrape, Scrape)
    assert {method for method, _ in fake.requests} == {"GET"}
    assert {path for _, path in fake.requests} <= ALLOWED
    assert not any("health" in path for _, path in fake.requests)


async def test_the_end_is_quick_while_everything_hangs():
    fake = FakeSglang()
    fake.answers = dict.fromkeys(fake.answers, FakeSglang.HANG)
    source = SglangSource("http://gpu7:30000", WallClock(), fake.transport())
    await source.read()
    await asyncio.sleep(0)
    begun = time.perf_counter()
    await source.close()
    assert time.perf_counter() - begun < 0.3
    assert len(asyncio.all_tasks()) == 1
