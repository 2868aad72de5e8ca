"""What is ever sent to a server in a long session: only GETs of a few paths, at a pace that does not disturb it."""

import asyncio
import itertools

import httpx
import pytest
from fakes.sglang_server import FakeSglang, StepClock

from kvtui.engine.live import LiveSource
from kvtui.sources.sglang import SglangSource

MAY_BE_ASKED = {"/metrics", "/server_info", "/get_server_info", "/v1/loads", "/model_info", "/get_model_info"}


class Recorded(FakeSglang):
    """Knows when each request came."""

    def __init__(self, clock, version):
        super().__init__(version)
        self.clock, self.times = clock, []

    def note(self, method, path, headers):
        self.times.append((path, self.clock.now()))
        return super().note(method, path, headers)


def refused():
    error = httpx.ConnectError("refused")
    error.__cause__ = ConnectionRefusedError(111, "refused")
    return error


SPELLS = {
    "well": {},
    "gone": dict.fromkeys(("/metrics", "/server_info", "/v1/loads", "/model_info"), refused),
    "slow": {"/server_info": lambda: httpx.ReadTimeout("slow"), "/v1/loads": lambda: httpx.ReadTimeout("slow")},
    "locked": dict.fromkeys(("/metrics", "/server_info", "/v1/loads", "/model_info"), 401),
    "broken": {"/metrics": b"\x00\xff<html>", "/server_info": b"{", "/v1/loads": b"[]"},
    "ill": dict.fromkeys(("/metrics", "/server_info", "/v1/loads", "/model_info"), 503),
    "elsewhere": {"/metrics": httpx.Response(302, headers={"location": "http://127.0.0.1/flush_cache"})},
    "old": {"/server_info": 404, "/model_info": 404},
}


ORDER = [*SPELLS, "well"]
SPELL_S = 130.0


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
async def test_a_long_session_with_reconnects(version):
    clock = StepClock()
    fake = Recorded(clock, version)
    ordinary = dict(fake.answers)
    source = LiveSource(clock, http=SglangSource("http://127.0.0.1:30000", clock, fake.transport(), api_key="a-key"))
    # The first frame waits in real time; the clock is moved beside it.
    reading = asyncio.ensure_future(source.read())
    await clock.advance(2)
    await reading
    begun = []
    for spell in ORDER:
        fake.answers = {**ordinary, **SPELLS[spell]}
        if spell in {"gone", "ill"}:
            fake.tokens = 0
        begun.append(clock.now())
        for _ in range(2):
            await clock.advance(SPELL_S / 2)
            await source.read()
    await source.close()

    assert len(fake.requests) > 500
    assert {method for method, _ in fake.requests} == {"GET"}
    asked = {path for _, path in fake.requests}
    assert asked <= MAY_BE_ASKED
    assert not any("health" in path or "flush" in path for path in asked)
    assert fake.together == 1
    # Only a request that found nobody listening may be repeated sooner.
    gone = [(at - 1, at + SPELL_S + 35) for at, spell in zip(begun, ORDER, strict=True) if spell == "gone"]
    for slow in ("/server_info", "/v1/loads") if version == "0.5.9" else ("/server_info",):
        times = [at for path, at in fake.times if path == slow]
        soon = [a for a, b in itertools.pairwise(times) if b - a < 59.9]
        assert [a for a in soon if not any(start <= a <= end for start, end in gone)] == []
    assert fake.count("/metrics") <= clock.now() - 1_000 + 2
