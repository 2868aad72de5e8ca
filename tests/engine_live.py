"""A live source over a server made by hand, a second at a time."""

import asyncio

import httpx
from fakes.sglang_server import FakeSglang, StepClock, loads

from kvtui.engine.live import LiveSource
from kvtui.sources.sglang import SglangSource

URL = "http://127.0.0.1:30000"


def refused():
    error = httpx.ConnectError("refused")
    error.__cause__ = ConnectionRefusedError(111, "refused")
    return error


class Live:
    """``run`` lets seconds go by and gives the frame."""

    def __init__(self, version="0.5.23", **more):
        self.clock, self.fake = StepClock(), FakeSglang(version)
        self.fake.answers["/v1/loads"] = lambda: loads(version, stamp=self.clock.at)
        self.source = LiveSource(self.clock, http=SglangSource(URL, self.clock, self.fake.transport()), **more)

    async def run(self, seconds):
        if self.source._watching is None:
            first = asyncio.ensure_future(self.source.read())
            await self.clock.advance(1)
            await first
        await self.clock.advance(seconds)
        return await self.source.read()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        await self.source.close()
