"""A feed made by hand: gives what a test puts in."""

from __future__ import annotations

import asyncio


class HandFeed:
    def __init__(self, *analyses):
        self._queue: asyncio.Queue = asyncio.Queue()
        for analysis in analyses:
            self._queue.put_nowait(analysis)
        self.chosen: list[int] = []
        self.closed = False
        self.closely = True

    def put(self, analysis) -> None:
        self._queue.put_nowait(analysis)

    async def next(self):
        return await self._queue.get()

    def choose(self, boot: int) -> None:
        self.chosen.append(boot)

    def look(self, *, closely: bool) -> None:
        self.closely = closely

    async def close(self) -> None:
        self.closed = True
