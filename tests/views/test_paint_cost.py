"""What reaches the terminal a tick: bytes and paints are counted, nothing is timed."""

from dataclasses import replace

import builders as b
import pytest
from feeds import HandFeed
from textual.app import App

from kvtui.app import BLURRED, KvtuiApp
from kvtui.domain.frame import SourceHealth
from kvtui.domain.samples import DECODE, SampleStore
from kvtui.present import verdict

BUDGETS = {(80, 24): 700, (120, 40): 1300, (200, 60): 2500}
"""Bytes a second on a steady server by size: DESIGN.md section 6 allows 4 KB at 120×40, a synthetic server costs less."""
TICKS = 30


@pytest.fixture
def written(monkeypatch):
    """Bytes of each paint."""
    paints = []
    plain = App._display

    def display(app, screen, renderable):
        if screen is app.screen and hasattr(renderable, "render_segments"):
            paints.append(len(renderable.render_segments(app.console).encode()))
        plain(app, screen, renderable)

    monkeypatch.setattr(App, "_display", display)
    return paints


class Ticking:
    """A server that runs 50 requests and changes a little each second."""

    def __init__(self):
        self.store = SampleStore()
        for number in range(300):
            self.sample(number)
        self.first = b.founding()

    def sample(self, number):
        wave = (number * 7) % 5
        values = {
            "running": 48 + wave,
            "queued": 97 - wave,
            "usage": 0.93 + wave / 200,
            "gen_tput": 860 + 3 * wave,
            "tokens": 108_000 + 400 * wave,
        }
        self.store.append({"at": b.NOW + number - 300, "line": 2_000 + number, "kind": DECODE, "dp": 0, "pp": 0, "graph": 1, **values})

    def analysis(self, number):
        self.sample(300 + number)
        now = b.NOW + number
        health = (SourceHealth("log", "server.log", "live", last_at=now),)
        frame = replace(self.first.frame, finished=False, now=now, timeline=self.store.view(), sources=health)
        return replace(self.first, frame=frame)


async def painted(app, feed, pilot, analysis):
    feed.put(analysis)
    await pilot.pause()
    await pilot.pause()


def console():
    feed = HandFeed()
    return KvtuiApp(feed, lambda _analysis, fraction: b.estimates(fraction), target="server.log"), feed


@pytest.mark.parametrize("size", BUDGETS)
async def test_a_steady_server_costs_little(written, size):
    app, feed = console()
    ticking = Ticking()
    async with app.run_test(size=size) as pilot:
        for number in range(5):
            await painted(app, feed, pilot, ticking.analysis(number))
        written.clear()
        for number in range(5, 5 + TICKS):
            await painted(app, feed, pilot, ticking.analysis(number))
    assert written, "nothing was painted although every tick differs"
    assert BUDGETS[size] / 3 <= sum(written) / TICKS <= BUDGETS[size], f"{sum(written) / TICKS:.0f} bytes a tick"


async def test_what_does_not_differ_is_not_painted(written):
    app, feed = console()
    analysis = Ticking().analysis(0)
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(app, feed, pilot, analysis)
        written.clear()
        for _ in range(3):
            await painted(app, feed, pilot, replace(analysis))
    assert sum(written) == 0


async def test_a_terminal_without_the_focus_is_painted_less_often(written):
    app, feed = console()
    ticking = Ticking()
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(app, feed, pilot, ticking.analysis(0))
        app.on_app_blur()
        written.clear()
        for number in range(1, BLURRED):
            await painted(app, feed, pilot, ticking.analysis(number))
        assert sum(written) == 0
        app.on_app_focus()
        await pilot.pause()
        assert sum(written) > 0


async def test_verdicts_that_stand_are_fitted_into_the_strip_once(monkeypatch):
    fitted = []
    plain = verdict.strip
    monkeypatch.setattr(verdict, "strip", lambda *given: fitted.append(1) or plain(*given))
    app, feed = console()
    ticking = Ticking()
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(app, feed, pilot, ticking.analysis(0))
        fitted.clear()
        for number in range(1, 4):
            await painted(app, feed, pilot, ticking.analysis(number))
        assert not fitted
        first, *rest = ticking.first.findings
        told = replace(ticking.analysis(4), findings=(replace(first, title="Another title", sentence="It says so."), *rest))
        await painted(app, feed, pilot, told)
        assert fitted
        assert "Another title" in "".join(span.text for line in app.screen.query_one("#strip").rows for span in line)
