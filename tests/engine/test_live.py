"""A running server as one frame: what is merged, what wins, and what a dead part does to the rest."""

import asyncio
from dataclasses import replace

import pytest
from engine_fakes import EMPTY, Clock, Hand, Hanging, dead_http, http
from reading import frame_of, log

from kvtui.domain.live_boot import Said
from kvtui.domain.reading import Known
from kvtui.engine.analyse import analyse
from kvtui.engine.live import LiveSource


def live_log():
    return replace(frame_of(log("founding_a.log")), finished=False)


async def one(source):
    try:
        return await source.read()
    finally:
        await source.close()


async def test_the_servers_answer_alone_gives_an_account():
    frame = await one(LiveSource(Clock(), http=Hand(http())))
    account = analyse(frame).account
    assert account.tokens_reported.value == 116_171
    assert account.fraction.value == 0.85
    assert account.identity.version == Known("0.5.9", 1_000_000.0, account.identity.version.where)


async def test_the_log_keeps_its_memory_lines_and_the_server_adds_its_version():
    frame = await one(LiveSource(Clock(), log=Hand(live_log()), http=Hand(http())))
    # The log comes first in time or the server does: read again until both are there.
    assert frame.boots
    source = LiveSource(Clock(), log=Hand(live_log()), http=Hand(http()))
    await source.read()
    await asyncio.sleep(0)
    frame = await one(source)
    account = analyse(frame).account
    assert account.pre_gib.value == 94.04
    assert account.identity.version.value == "0.5.9"


async def test_settings_of_the_server_win_over_the_log():
    source = LiveSource(Clock(), log=Hand(live_log()), http=Hand(http(settings={"schedule_conservativeness": 0.3})))
    await source.read()
    await asyncio.sleep(0)
    frame = await one(source)
    assert frame.boot.number("schedule_conservativeness") == 0.3
    assert frame.boot.number("mem_fraction_static") == 0.85


async def test_what_a_server_said_stays_with_its_start():
    """The next start, and a server that answers nothing any more, tell nothing of the one before."""
    first = live_log().boots[0]
    after = replace(first, index=1, first_line=first.last_line + 1, last_line=first.last_line + 99)
    said = Said()
    (told,) = said.over((first,), http(settings={"schedule_conservativeness": 0.3}), None)
    (silent,) = said.over((first,), dead_http(), None)
    both = said.over((first, after), http(), None)
    for boot in (told, silent, both[0]):
        assert boot.version.value == "0.5.9"
        assert boot.number("schedule_conservativeness") == 0.3
    assert both[1].number("schedule_conservativeness") != 0.3
    assert said.over((), http(), None) == ()


async def test_starts_that_are_let_go_are_forgotten():
    first, said = live_log().boots[0], Said()
    for number in range(50):
        said.over((replace(first, first_line=1 + 100 * number),), http(), None)
    assert len(said._last) == 1


async def test_a_log_of_another_start_is_said_and_not_mixed_in():
    source = LiveSource(Clock(), log=Hand(live_log()), http=Hand(http(pool=99_999)))
    await source.read()
    await asyncio.sleep(0)
    frame = await one(source)
    assert len(frame.boots) == 2
    assert analyse(frame).account.tokens_reported.value == 99_999
    assert any("another start" in note for note in frame.notes)


async def test_a_hanging_part_delays_nobody_and_is_named():
    source = LiveSource(Clock(), log=Hand(live_log()), gpus=Hanging(), http=Hanging())
    frame = await asyncio.wait_for(one(source), 5)
    assert frame.boots
    waiting = {h.name for h in frame.sources if h.state == "waiting"}
    assert {"server", "nvml"} <= waiting


async def test_all_parts_dead_is_a_frame_with_reasons():
    source = LiveSource(Clock(), log=Hand(EMPTY), http=Hand(dead_http("connection refused: is the server starting?")))
    await source.read()
    await asyncio.sleep(0)
    frame = await one(source)
    assert not frame.boots
    assert {h.reason for h in frame.sources} >= {"gone", "connection refused: is the server starting?"}
    assert analyse(frame).findings[0].id == "not-enough-data"


async def test_now_moves_on_while_the_log_is_silent():
    clock = Clock(live_log().now + 1)
    source = LiveSource(clock, log=Hand(live_log()), http=Hand(http()))
    first = await source.read()
    clock.tick(120)
    second = await one(source)
    assert second.now - first.now == pytest.approx(120)


async def test_pages_are_the_history_where_the_log_has_no_batch_lines():
    rows = [{"at": 1_000_000.0 + i, "kind": 1.0, "dp": 0.0, "running": 5.0, "queued": 0.0, "usage": 0.2} for i in range(4)]
    frame = await one(LiveSource(Clock(), http=Hand(http(rows=rows)), local_offset=3600.0))
    assert frame.sampled
    assert len(frame.timeline) == 4
    assert frame.timeline.value("at", 0) == 1_003_600.0


async def test_choosing_a_boot_reads_the_log_again():
    hand = Hand(live_log())
    source = LiveSource(Clock(), log=hand)
    await source.read()
    source.choose(0)
    assert hand.chosen == [0]
    await source.close()
    assert hand.closed


async def test_a_finished_log_alone_stays_as_it_is():
    done = frame_of(log("founding_a.log"))
    assert await one(LiveSource(Clock(), log=Hand(done))) is done


async def test_closing_ends_a_reader_that_loses_a_cancellation():
    class Stubborn:
        every = 1.0
        lost = 0

        async def read(self):
            while self.lost < 3:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self.lost += 1
            return live_log()

        async def close(self):
            pass

    stubborn = Stubborn()
    source = LiveSource(Clock(), http=Hand(http()), host=stubborn)
    await source.read()
    await asyncio.wait_for(source.close(), 5)
    assert stubborn.lost == 3


class Faulty(Hand):
    """A source with a mistake of kvtui's own in it, until it is mended."""

    mended = False

    async def read(self):
        if self.mended:
            return await super().read()
        return {}["sk-secret"]


async def test_a_source_in_which_kvtui_itself_fails_says_so_and_stops_no_other():
    clock, faulty = Clock(), Faulty(http())
    source = LiveSource(clock, log=Hand(live_log()), http=faulty)
    await source.read()
    await asyncio.sleep(0)
    frame = await source.read()
    broken = next(h for h in frame.sources if h.name == "server")
    assert broken.state == "failed"
    assert "KeyError at test_live.py:" in broken.reason
    assert "secret" not in broken.reason
    assert frame.boots
    faulty.mended = True
    clock.tick(5.0)
    for _ in range(5):
        await asyncio.sleep(0)
    frame = await one(source)
    assert not any("own" in h.reason for h in frame.sources)
