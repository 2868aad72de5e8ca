"""The console on analyses made by hand."""

import asyncio
import gc
from dataclasses import replace

import builders as b
import pytest
from feeds import HandFeed
from reading import analysis_of, log
from screen import check_golden, screen_text

from kvtui.app import KvtuiApp
from kvtui.views.screens.fraction import FractionScreen
from kvtui.views.screens.main import MainScreen
from kvtui.views.screens.text import TextScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


def console(*analyses):
    feed = HandFeed(*analyses)
    return KvtuiApp(feed, lambda _analysis, fraction: b.estimates(fraction), target="server.log"), feed


async def settle(pilot):
    await pilot.pause()
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_the_founding_case(size):
    app, _ = console(b.founding())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        check_golden(f"console-{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("size", SIZES)
async def test_the_founding_what_if(size):
    app, _ = console(b.founding())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("3", *["right"] * 8)
        await settle(pilot)
        check_golden(f"what-if-{size[0]}x{size[1]}", screen_text(app))


async def test_waiting_for_the_first_reading_is_said():
    app, feed = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "Reading server.log" in screen_text(app)
        feed.put(b.founding())
        await settle(pilot)
        assert "KV capacity limits concurrency" in screen_text(app)
    assert feed.closed


async def test_arrows_change_every_pane_and_escape_returns():
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = screen_text(app)
        await pilot.press("right")
        await settle(pilot)
        shown = screen_text(app)
        assert "◂ 0.86 ▸" in shown
        assert "raise fraction to 0.86" in shown
        await pilot.press("comma")
        await settle(pilot)
        assert "◂ 0.859 ▸" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert screen_text(app) == before


async def test_a_fraction_can_be_typed_and_nonsense_is_refused():
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("equals_sign", "x", "enter")
        await settle(pilot)
        assert isinstance(app.screen, FractionScreen)
        assert "a number between 0 and 1 is needed" in screen_text(app)
        await pilot.press("backspace", "9", "3", "enter")
        await settle(pilot)
        assert "231,123" in screen_text(app)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("enter", "ruled out"),
        ("o", "free before weights"),
        ("l", "71,201 lines read"),
        ("f1", "leave; the server is not touched"),
        ("t", "Timeline"),
        ("b", "What changed"),
    ],
)
async def test_each_screen_opens_and_closes(key, words):
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert words in screen_text(app)
        assert not isinstance(app.screen, MainScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, MainScreen)


async def test_options_mark_open_and_copy():
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4", "space", "down", "space", "y")
        await settle(pilot)
        assert app.clipboard == "--kv-cache-dtype fp8_e4m3"
        assert app.view_state.plan == {"raise-fraction", "fp8-kv"}
        await pilot.press("c")
        await settle(pilot)
        assert "--mem-fraction-static 0.91" in app.clipboard
        assert "--kv-cache-dtype fp8_e4m3" in app.clipboard
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, TextScreen)
        await pilot.press("y")
        await settle(pilot)
        assert app.clipboard == "--kv-cache-dtype fp8_e4m3"


async def test_an_option_that_does_nothing_cannot_be_planned():
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4", "down", "down", "down", "space")
        await settle(pilot)
        assert app.view_state.plan == frozenset()


async def test_another_boot_is_asked_of_the_feed_and_shown_when_it_comes():
    app, feed = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("b", "up", "enter")
        await settle(pilot)
        assert feed.chosen == [0]
        base = b.founding()
        feed.put(replace(base, account=b.account(0.88), frame=replace(base.frame, chosen=0)))
        await settle(pilot)
        assert "ended  shown" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "boot 1 of 2" in screen_text(app)


async def test_pause_holds_the_screen_still():
    app, feed = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("p")
        feed.put(b.founding(findings=()))
        await settle(pilot)
        assert "paused at 14:12:00" in screen_text(app)
        assert "KV capacity limits concurrency" in screen_text(app)
        await pilot.press("p")
        await settle(pilot)
        assert "KV capacity limits concurrency" not in screen_text(app)


async def test_narrow_screens_show_one_pane_with_tabs_and_resizing_follows():
    app, _ = console(b.founding())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "[1 GPU memory]" in screen_text(app)
        await pilot.press("tab")
        await settle(pilot)
        assert "[2 Server]" in screen_text(app)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert "[2 Server]" not in screen_text(app)
        assert all(name in screen_text(app) for name in ("GPU memory", "Formula", "Options"))
        await pilot.resize_terminal(59, 15)
        await settle(pilot)
        assert "kvtui needs 60×16; this terminal has 59×15" in screen_text(app)


async def test_banners_get_a_line_of_their_own():
    app, _ = console(b.founding(findings=(*b.FINDINGS, b.BANNER)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert screen_text(app).split("\n")[5].startswith("▌✖ Headroom is thin")


@pytest.mark.parametrize("analysis", [b.hostile(), b.bare()], ids=["hostile", "bare"])
@pytest.mark.parametrize("size", [(1, 1), (60, 16), (80, 24), (200, 60)])
async def test_no_input_and_no_size_breaks_any_screen(analysis, size):
    app, _ = console(analysis)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for key in (
            "1",
            "2",
            "3",
            "4",
            "right",
            "space",
            "down",
            "enter",
            "escape",
            "escape",
            "l",
            "escape",
            "b",
            "escape",
            "t",
            "escape",
            "w",
            "escape",
        ):
            await pilot.press(key)
            await settle(pilot)
            assert "\x1b" not in screen_text(app)


async def test_equal_analyses_paint_nothing():
    app, feed = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        painted = []
        for name in ("memory", "formula", "options"):
            pane = app.screen.query_one(f"#{name}")
            pane.paint = lambda model, name=name: painted.append(name)
        feed.put(b.founding())
        await settle(pilot)
        assert painted == []
        await pilot.press("right")
        await settle(pilot)
        assert sorted(painted) == ["formula", "memory", "options"]


@pytest.mark.parametrize("theme", ["kvtui-dark", "kvtui-light", "kvtui-contrast", "kvtui-ansi", "kvtui-mono"])
async def test_every_palette_paints(theme):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), theme=theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert app.theme == theme
        assert "116,171" in screen_text(app)


async def test_the_palette_of_commands_runs_one():
    app, _ = console(b.founding())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        found = {command.title: command for command in app.get_system_commands(app.screen)}
        assert "previous pane" in found
        await found["origin"].callback()
        await settle(pilot)
        assert isinstance(app.screen, TextScreen)
        assert "where from" not in {command.title for command in app.get_system_commands(app.screen)}


async def test_the_best_safe_plan_is_adopted_and_taken_out_again():
    app, _ = console(analysis_of(log("founding_a.log")))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        assert "raise-fraction" in app.view_state.plan
        assert app.view_state.fraction > 0.85
        await pilot.press("a")
        await settle(pilot)
        assert not app.view_state.plan
        assert app.view_state.fraction is None


async def test_memory_that_the_start_took_is_handed_back_once_and_again(monkeypatch):
    given = asyncio.Queue()
    monkeypatch.setattr("kvtui.app.give_back", lambda: given.put_nowait(True))
    monkeypatch.setattr("kvtui.app.GIVEN_BACK_S", 0.01)
    threshold = gc.get_threshold()
    app, _ = console(b.founding())
    app.paint_early = True
    try:
        async with app.run_test(size=(80, 24)):
            for _ in range(3):
                assert await asyncio.wait_for(given.get(), 10)
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)
