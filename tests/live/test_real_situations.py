"""Each situation of a real server gets its verdict within 20 s, with a log and without. Slow: runs only with KVTUI_REAL=1."""

import asyncio
import itertools
import os
import time
from dataclasses import replace

import pytest
from real_sglang import WANTED, RealServer, figures, python_of
from real_situations import CALM, FULL, IDLE, SITUATIONS, Ask, Clients, Situation, Told, total, until

from kvtui.wiring import Request, open_feed, servers_here

pytestmark = [
    pytest.mark.skipif(not WANTED, reason="set KVTUI_REAL=1 to run against a real SGLang server"),
    pytest.mark.timeout(600),
]
PORTS = itertools.count(int(os.environ.get("KVTUI_REAL_PORT", "31050")))
RELEASES = ["0.5.9", "0.5.23"]
START_S = 300
"""Seconds that a server may take to come up beside other work."""
WITHIN_S = 20.0
STAYS_S = 25.0
"""Seconds that the load goes on after the right verdict stands."""
HERE = "127.0.0.2"
"""This machine by an address that kvtui takes for another machine's: nothing but HTTP is read there."""


class Stage:
    """One server, its clients, and two consoles on it: one with the log and all of the machine, one with HTTP alone."""

    def __init__(self, release, tmp_path, *more):
        if python_of(release) is None:
            pytest.skip(f"SGLang {release} is not installed for CPU")
        self.release = release
        self.server = RealServer(release, tmp_path / "server.log", next(PORTS), *more, "--host", HERE)
        self.server.url = f"http://{HERE}:{self.server.port}"

    async def __aenter__(self):
        try:
            await asyncio.to_thread(self.server.wait, START_S)
            found = next(s for s in servers_here().servers if s.port.value == self.server.port)
            self.clients = Clients(self.server.url)
            self.before = await self.page()
            self.told = [
                Told(open_feed(Request(found)), "log and metrics"),
                Told(open_feed(Request(self.server.url)), "metrics alone"),
            ]
        except BaseException:
            self.server.stop()
            raise
        for told in self.told:
            told.start()
        return self

    async def __aexit__(self, *exc):
        for told in self.told:
            await told.close()
        await self.clients.close()
        await asyncio.to_thread(self.server.stop)

    async def page(self):
        return figures(await asyncio.to_thread(self.server.get, "/metrics", 20))

    async def shown(self, situation: Situation, seconds: float) -> float:
        """When the server's own metrics first show it."""
        before, end = await self.page(), time.monotonic() + seconds
        while time.monotonic() < end:
            if situation.shows(page := await self.page(), before):
                return time.monotonic()
            await asyncio.sleep(0.25)
        raise AssertionError(f"the server never showed {situation.name}: {dict(page)}")

    async def judged(self, situation: Situation, *, stays: float = STAYS_S) -> list[str]:
        """Drives the server into a situation; one complaint for each console that is late, wrong or restless."""
        await self.clients.ask(situation.ask)
        begun = await self.shown(situation, 60)
        everywhere = [asyncio.ensure_future(until(lambda told=told: told.now in situation.accepted, WITHIN_S + 40)) for told in self.told]
        await asyncio.gather(*everywhere)
        await until(lambda: not all(told.now in situation.accepted for told in self.told), stays)
        wrong = []
        for told in self.told:
            said = told.since(begun)
            right = next((i for i, one in enumerate(said) if one[1] in situation.accepted), None)
            took = said[right][0] if right is not None else None
            restless = right is not None and any(one[1] not in situation.accepted for one in said[right:])
            row = [self.release, situation.name, told.name, "never" if took is None else f"{took:.1f}", said[-1][2]]
            print("| " + " | ".join(row) + " |")
            for at, verdict, title, sentence in said:
                print(f"    {at:5.1f} s {verdict}: {title}: {sentence}")
            newest = told.newest
            print("    beside:", [f.id for f in newest.findings[1:]], "notes:", newest.frame.notes[:3])
            if took is None or took > WITHIN_S or restless:
                wrong.append(f"{situation.name}, {told.name}: {said}")
        return wrong


@pytest.mark.parametrize("situation", SITUATIONS, ids=[s.name for s in SITUATIONS])
@pytest.mark.parametrize("release", RELEASES)
async def test_the_right_verdict_within_twenty_seconds(release, situation, tmp_path):
    async with Stage(release, tmp_path, *situation.arguments) as stage:
        wrong = await stage.judged(situation)
        running = total(await stage.page(), "num_running_reqs")
        assert running > 0
        wrong += await stage.judged(IDLE)
        assert not stage.clients.errors
    assert not wrong, "\n".join(wrong)


LEVELS = {
    "client": Situation("client", frozenset({"client", "healthy"}), SITUATIONS[-1].shows, Ask(2, (40, 120), (60, 160), 20)),
    "cap": Situation("cap", frozenset({"running-cap"}), SITUATIONS[0].shows, Ask(30, (20, 40), (150, 220), 20)),
    "queueing": Situation("queueing", FULL, SITUATIONS[0].shows, Ask(40, (400, 500), (200, 280), 380)),
    "idle": IDLE,
}
PATH = ["idle", "client", "cap", "idle", "queueing", "idle", "client"]


@pytest.mark.parametrize("release", RELEASES)
async def test_from_one_situation_to_the_next(release, tmp_path):
    async with Stage(release, tmp_path, "--max-total-tokens", "8192", "--max-running-requests", "16", *CALM) as stage:
        wrong = []
        for name in PATH:
            wrong += await stage.judged(LEVELS[name], stays=20.0)
        assert not stage.clients.errors
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ranks", ["--tp-size", "--dp-size"])
async def test_several_ranks_come_to_work_and_to_rest(ranks, tmp_path):
    async with Stage("0.5.23", tmp_path, ranks, "2", "--max-total-tokens", "8192", "--max-running-requests", "16", *CALM) as stage:
        wrong = []
        # The cap is one of each replica.
        cap = replace(LEVELS["cap"], ask=replace(LEVELS["cap"].ask, clients=70))
        for level in (LEVELS["client"], IDLE, cap, IDLE):
            wrong += await stage.judged(level, stays=10.0)
        log, alone = (told.newest for told in stage.told)
        print("bars", [bar.label for bar in log.ledgers], [bar.label for bar in alone.ledgers], "ranks", len(log.workload.ranks))
        assert len(log.ledgers) == 2
        assert len(log.workload.ranks) == (2 if ranks == "--dp-size" else 1)
        assert not stage.clients.errors
    assert not wrong, "\n".join(wrong)
