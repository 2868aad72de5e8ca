"""A server that is restarted while it is watched: what was found of the process before it goes at once, and stays in the list of boots."""

from dataclasses import replace

from engine_fakes import Clock, Hand, http
from engine_live import Live, refused
from fakes.sglang_server import server_info
from feeds import HandFeed
from metric_pages import body, load, rank_labels, series
from reading import frame_of, log
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.domain.process import FoundServer, LogTarget
from kvtui.domain.reading import Missing
from kvtui.engine.analyse import analyse, estimates
from kvtui.engine.feed import SourceFeed
from kvtui.engine.live import LiveSource

GONE = Missing("gone")


def full(live):
    """A page of a server whose pool is full and whose queue stands."""
    live.fake.tokens += 400
    step = live.fake.tokens // 400 % 3
    lines = load(running=40 - step, queued=30 + step, usage=0.97 + step / 100, used=4000, tput=400.0 + step)
    return body([*lines, series("realtime_tokens_total", live.fake.tokens, mode="decode", **rank_labels())])


class Told:
    """The verdicts of a feed over a live source, a second at a time."""

    def __init__(self, live):
        self.live, self.last = live, None
        self.feed = SourceFeed(live.source, live.clock, analyse)

    async def after(self, seconds):
        for _ in range(seconds):
            frame = await self.live.run(1)
            self.last = self.feed._steadied(analyse(frame))
        return self.last.findings[0]


async def test_the_verdict_on_the_process_before_goes_with_it():
    async with Live() as live:
        live.fake.answers["/metrics"] = lambda: full(live)
        told = Told(live)
        limited = await told.after(60)
        assert limited.id not in {"not-enough-data", "healthy"}
        live.fake.answers["/metrics"] = refused()
        gone = await told.after(5)
        assert (gone.id, "server is gone" in gone.sentence) == ("server-stuck", True)
        live.fake.tokens = 0
        live.fake.answers["/metrics"] = lambda: full(live)
        begun = live.clock.at
        found = gone
        while found.id == "server-stuck":
            found = await told.after(1)
            assert live.clock.at - begun < 15
        assert found.id == "not-enough-data"
        assert found.title.startswith("Not enough data: the server restarted ")
        assert limited.id not in [finding.id for finding in told.last.findings]


async def test_the_start_before_is_listed_without_a_log_and_can_be_shown():
    async with Live(local_offset=3600.0) as live:
        live.fake.answers["/server_info"] = server_info(mem_fraction_static=0.8)
        before = await live.run(30)
        assert len(before.boots) == 1
        live.fake.answers["/metrics"] = refused()
        await live.run(10)
        live.fake.answers["/metrics"] = live.fake.page
        live.fake.answers["/server_info"] = server_info(mem_fraction_static=0.9)
        frame = await live.run(90)
        assert [boot.state for boot in frame.boots] == ["ended", "up"]
        assert [boot.number("mem_fraction_static") for boot in frame.boots] == [0.8, 0.9]
        old, new = frame.boots
        assert old.ended_at < new.begun_at
        assert [line.span[0] > old.ended_at for line in frame.timelines] == [False, True]
        live.source.choose(0)
        shown = await live.run(1)
        assert shown.boot.state == "ended"
        assert shown.timeline.last("at")[0] <= old.ended_at
        assert analyse(shown).account.fraction.value == 0.8
        live.source.choose(1)
        assert (await live.run(1)).boot.state == "up"
    app = KvtuiApp(HandFeed(analyse(frame)), estimates, target="x")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        page = screen_text(app)
    assert "ended" in page
    assert "mem_fraction_static" in page


async def test_a_log_that_shows_the_restart_itself_keeps_its_own_boots():
    source = LiveSource(Clock(), log=Hand(replace(frame_of(log("founding_a.log")), finished=False)), http=Hand(http()))
    source._starts.took(replace(http(), restarted_at=5.0), None, 0.0)
    await source.read()
    frame = await source.read()
    await source.close()
    assert len(frame.boots) == 1


def server(name, kind="file", note=""):
    return FoundServer(main=GONE, processes=(), command=GONE, log=LogTarget(kind, name, note=note))


async def moved(before, after, relog):
    finder = Hand(after)
    source = LiveSource(Clock(), http=Hand(http()), log=Hand(replace(frame_of(log("founding_a.log")), finished=False)),
                        found=before, finder=finder, relog=relog)  # fmt: skip
    await source.read()
    frame = await source.read()
    await source.close()
    return frame


async def test_a_log_that_is_written_elsewhere_is_followed():
    other = Hand(replace(frame_of(log("founding_a.log")), finished=False, notes=("the other file",)))
    asked = []
    frame = await moved(server("/a.log"), server("/b.log"), lambda found: asked.append(found.log.name) or other)
    assert asked == ["/b.log"]
    assert other.closed
    assert any("/b.log is read now" in note for note in frame.notes)


async def test_a_log_that_cannot_be_followed_is_said():
    frame = await moved(server("/a.log"), server("", "none", "its output is thrown away"), lambda found: None)
    assert any("elsewhere, where it is not read: its output is thrown away." in note for note in frame.notes)


async def test_the_same_log_is_not_opened_again():
    frame = await moved(server("/a.log"), server("/a.log"), lambda found: pytest_fails())
    assert not any("elsewhere" in note for note in frame.notes)


def pytest_fails():
    raise AssertionError("asked for a log that is read already")


async def test_pages_that_cannot_be_read_are_no_server_that_stopped():
    async with Live("0.5.9") as live:
        live.fake.answers["/metrics"] = lambda: full(live)
        told = Told(live)
        limited = await told.after(40)
        live.fake.answers["/metrics"] = lambda: full(live)[:-7]
        assert (await told.after(40)).id == limited.id
