"""Situations on a real SGLang server: the load that makes each, how the server's own metrics show it, and what kvtui says meanwhile."""

# A test's own clients, in real time.
# ruff: noqa: S311

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx

Page = Mapping[tuple[str, int], float]
"""A page of metrics by the test's own parser: (name, dp) to value."""
EOS: Final = {"2": 1000.0}
"""Ends an answer of the tiny model as soon as ``min_new_tokens`` allows."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What each client asks again and again: (fewest, most) tokens."""

    clients: int
    prompt: tuple[int, int]
    answer: tuple[int, int]
    spare: int = 0
    """``max_new_tokens`` beyond the answer."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation and the verdicts that an expert would accept for it."""

    name: str
    accepted: frozenset[str]
    shows: Callable[[Page, Page], bool]
    """True where a page shows it; the second page is the one from before the load."""
    ask: Ask | None = None
    arguments: tuple[str, ...] = ()


def total(page: Page, name: str) -> float:
    """A figure over all data-parallel ranks."""
    return sum(value for (told, _), value in page.items() if told == name)


def _queues(page: Page, _before: Page) -> bool:
    return total(page, "num_queue_reqs") > 0


def _retracts(page: Page, before: Page) -> bool:
    return total(page, "num_retracted_requests_total") > total(before, "num_retracted_requests_total")


def _runs(page: Page, _before: Page) -> bool:
    return total(page, "num_running_reqs") > 0


def _rests(page: Page, _before: Page) -> bool:
    """Release 0.5.9 may go on telling its last ``num_running_reqs``: the pool tells."""
    return total(page, "num_queue_reqs") == 0 and total(page, "num_used_tokens") == 0


CALM: Final = ("--schedule-conservativeness", "1")
"""SGLang's own default, not that of ``RealServer``: requests are hardly put back."""
FULL: Final = frozenset({"kv-capacity", "reservation"})
"""A pool that is full: by tokens in use, or for the first 600 steps after a rest, when admission is timid, by reserved ones too."""
IDLE: Final = Situation("idle", frozenset({"idle"}), _rests)
SITUATIONS: Final = (
    Situation("queueing", FULL, _queues, Ask(40, (150, 250), (180, 260), 380), ("--max-total-tokens", "4096", "--max-running-requests", "64", *CALM)),
    Situation("reserved", frozenset({"reservation"}), _queues, Ask(30, (40, 80), (60, 100), 2000), ("--max-total-tokens", "4096", "--max-running-requests", "64", *CALM)),
    Situation(
        "retraction", frozenset({"retraction"}), _retracts, Ask(24, (40, 300), (300, 900)),
        ("--max-total-tokens", "2048", "--max-running-requests", "16", "--schedule-conservativeness", "0.3"),
    ),
    Situation("cap", frozenset({"running-cap"}), _queues, Ask(12, (40, 120), (60, 160), 20), ("--max-total-tokens", "16384", "--max-running-requests", "4")),
    Situation("client", frozenset({"client"}), _runs, Ask(2, (40, 120), (60, 160), 20), ("--max-total-tokens", "16384", "--max-running-requests", "32")),
)  # fmt: skip


class Clients:
    """Clients in a closed loop; ``ask`` changes what they do, ``Ask(0, …)`` or ``None`` ends them all."""

    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=600, limits=httpx.Limits(max_connections=None))
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = random.Random(1)
        self.errors = 0

    async def ask(self, ask: Ask | None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = [asyncio.ensure_future(self._client(ask)) for _ in range(ask.clients if ask is not None else 0)]

    async def _client(self, ask: Ask) -> None:
        while True:
            r = self._numbers
            answer = r.randint(*ask.answer)
            sampling = {"max_new_tokens": answer + ask.spare, "min_new_tokens": answer - 1, "logit_bias": EOS, "temperature": 1.0}
            body = {"input_ids": [r.randrange(100, 800) for _ in range(r.randint(*ask.prompt))], "sampling_params": sampling}
            try:
                told = await self._http.post("/generate", json=body)
                self.errors += told.status_code != 200
            except httpx.HTTPError:
                self.errors += 1
                await asyncio.sleep(0.2)

    async def close(self) -> None:
        await self.ask(None)
        await self._http.aclose()


@dataclass(slots=True)
class Told:
    """What one feed says over time, each change once: (seconds on the monotonic clock, verdict, title, sentence)."""

    feed: object
    name: str
    said: list[tuple[float, str, str, str]] = field(default_factory=list)
    newest: object = None
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while True:
            analysis = await self.feed.next()
            self.newest = analysis
            first = analysis.findings[0]
            verdict = "idle" if first.at_rest else first.id
            if not self.said or self.said[-1][1:3] != (verdict, first.title):
                self.said.append((time.monotonic(), verdict, first.title, first.sentence))

    @property
    def now(self) -> str:
        return self.said[-1][1] if self.said else ""

    def since(self, begun: float) -> list[tuple[float, str, str, str]]:
        """What stood at a time and what came after it, in seconds from then."""
        before = [one for one in self.said if one[0] <= begun][-1:]
        return [(max(0.0, at - begun), *told) for at, *told in (*before, *(one for one in self.said if one[0] > begun))]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.feed.close()


async def until(what: Callable[[], bool], seconds: float, *, each: float = 0.25) -> float | None:
    """Seconds until ``what`` is true, or None after ``seconds``."""
    begun = time.monotonic()
    while not what():
        if time.monotonic() - begun > seconds:
            return None
        await asyncio.sleep(each)
    return time.monotonic() - begun
