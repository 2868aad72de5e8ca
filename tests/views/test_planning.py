"""Keys of planning: simulate, save, state a load."""

import asyncio
import json
from dataclasses import replace

import builders as b
from feeds import HandFeed
from reading import analysis_of, log
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates
from kvtui.sources.saved_plans import SavedPlans
from kvtui.views.screens.load import LoadScreen
from kvtui.views.screens.simulation import SimulationScreen
from kvtui.views.screens.text import TextScreen


def console(analysis, shelf=None):
    feed = HandFeed(analysis)
    app = KvtuiApp(feed, estimates, target="server.log")
    app.shelf = shelf
    return app, feed


async def settle(pilot):
    await pilot.pause()
    await pilot.pause()


async def ended(app, name):
    for worker in [worker for worker in app.workers if worker.name == name]:
        await worker.wait()


async def played(screen):
    """Until the twin is done: it works in a thread of its own."""
    for _ in range(3_000):
        if screen._result is not None:
            return
        await asyncio.sleep(0.01)


async def test_s_plays_an_option_without_holding_up_the_keys():
    app, _ = console(analysis_of(log("founding_a.log")))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4", "s")
        await settle(pilot)
        assert isinstance(app.screen, SimulationScreen)
        screen = app.screen
        await pilot.press("down")
        await played(screen)
        await settle(pilot)
        assert app.screen is screen
        shown = screen_text(app)
        assert "→" in shown
        assert "nine of ten within" in shown
        await pilot.press("escape")
        await settle(pilot)
        assert not isinstance(app.screen, TextScreen)


async def test_leaving_stops_the_twin():
    app, _ = console(analysis_of(log("founding_a.log")))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("s")
        await settle(pilot)
        screen = app.screen
        await pilot.press("escape")
        await settle(pilot)
        assert screen._left.is_set()


async def test_a_load_that_is_not_known_is_a_sentence():
    app, _ = console(b.bare("the log has no batch lines"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("s")
        await settle(pilot)
        assert "Not simulated" in screen_text(app)


async def test_w_states_a_load_and_an_empty_line_takes_it_back():
    app, _ = console(analysis_of(log("founding_a.log")))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("w", "x", "enter")
        await settle(pilot)
        assert isinstance(app.screen, LoadScreen)
        assert "is not understood" in screen_text(app)
        await pilot.press("backspace", *"64 users", "comma", *"4k in", "comma", *"500 out", "enter")
        await settle(pilot)
        assert "64 requests of 4,250 tokens" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "for 64 users, 4,000 in, 500 out (stated)" in screen_text(app)
        await pilot.press("w")
        await settle(pilot)
        await pilot.press(*["backspace"] * 40, "enter")
        await settle(pilot)
        assert app.view_state.stated is None
        assert "(stated)" not in screen_text(app)


async def test_a_saved_plan_is_shown_beside_what_came(tmp_path):
    before = analysis_of(log("founding_a.log"))
    shelf = SavedPlans(tmp_path)
    app, _ = console(before, shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("S")
        await settle(pilot)
        assert not list(tmp_path.iterdir())
        await pilot.press("4", "space", "S")
        await settle(pilot)
        await ended(app, "save")
    kept = json.loads((tmp_path / "plans.jsonl").read_text())
    assert kept["flags"] == ["--mem-fraction-static 0.90"]
    assert kept["tokens"] == 188_016
    text = log("founding_a.log")
    restarted = (
        text.replace("mem_fraction_static=0.85", "mem_fraction_static=0.9").replace("2026-03-18", "2026-03-19").replace("116171", "188002")
    )
    app, _ = console(analysis_of(text + restarted), shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await ended(app, "plans")
        await settle(pilot)
        assert app.view_state.followed is not None
        assert "188,016" in screen_text(app)
        assert "188,002" in screen_text(app)


async def test_a_plan_for_a_stated_load_is_kept_with_its_load(tmp_path):
    app, _ = console(analysis_of(log("founding_a.log")), SavedPlans(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("w", *"200 users", "enter")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("4", "space", "S")
        await settle(pilot)
        await ended(app, "save")
    kept = json.loads((tmp_path / "plans.jsonl").read_text())
    assert kept["stated"] == "200 users"
    assert round(kept["in_flight"]) == 200
    assert kept["flags"] == ["--mem-fraction-static 0.90"]


async def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    app, _ = console(replace(analysis_of(log("founding_a.log"))), SavedPlans(tmp_path / "file"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4", "space", "S")
        await settle(pilot)
        await ended(app, "save")
        await settle(pilot)
        assert any("cannot be saved" in note.message for note in app._notifications)
