"""Resizing loses nothing: the focus, the what-if, the marks, the row that is pointed at, the place in a text."""

import builders as b
import pytest
from feeds import HandFeed
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.views.widgets.options_pane import OptionsPane

SIZES = [(20, 5), (60, 16), (80, 24), (5, 2), (200, 60), (59, 15), (1, 1), (120, 40)]


def console():
    return KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")


async def through(pilot, sizes=SIZES):
    for size in sizes:
        await pilot.resize_terminal(*size)
        for _ in range(4):
            await pilot.pause()


@pytest.mark.parametrize("pane", ["memory", "server", "formula", "options", "strip"])
async def test_the_focus_stays(pane):
    app = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.screen.query_one(f"#{pane}").focus()
        await pilot.pause()
        for size in SIZES:
            await through(pilot, [size])
            if size[0] >= 60:
                assert app.focused is not None, size
                assert app.focused.id == pane, size


async def test_what_if_marks_and_cursor_stay():
    app = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for key in ("right", "right", "4", "down", "space"):
            await pilot.press(key)
            await pilot.pause()
        state, before = app.view_state, screen_text(app)
        pointed = app.screen.query_one(OptionsPane).pointed
        assert state.plan
        await through(pilot)
        assert (app.view_state.fraction, app.view_state.plan) == (state.fraction, state.plan)
        assert app.screen.query_one(OptionsPane).pointed == pointed
        assert screen_text(app) == before


async def test_the_place_in_a_text_stays():
    app = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("f1")
        await pilot.pause()
        box = app.screen.query_one("#box")
        for _ in range(9):
            await pilot.press("down")
        await pilot.pause()
        assert (before := box.scroll_y) > 0
        await through(pilot, [(100, 30), (200, 40), (120, 40)])
        assert box.scroll_y == before
