"""Choosing a palette: each is shown at once, enter keeps it, escape goes back; a broken one stops nothing."""

import builders as b
import pytest
from feeds import HandFeed

from kvtui.app import KvtuiApp
from kvtui.parse.palette import PaletteFile
from kvtui.views.screens.palettes import PaletteSearch

FILES = (
    PaletteFile("broken", "~/broken.toml", '[meaning]\nframe = "teel"\nnothing = "red"\n'),
    PaletteFile("odd [name]", "~/odd [name].toml", ""),
    PaletteFile("sea", "~/sea.toml", 'about = "[b]by the sea[/]"\n[base]\nbackground = "#012345"\n'),
)


def console(theme=None):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")
    app.find_palettes = lambda: FILES
    if theme is not None:
        app.suit_terminal(theme)
    return app


def ground(app):
    """The ground of the main screen's last cell: no search lies over it."""
    return list(app.screen._compositor.render_strips()[-1])[-1].style.bgcolor


async def choosing(pilot, *keys):
    await pilot.pause()
    pilot.app.action_change_theme()
    for _ in range(5):
        await pilot.pause()
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
        await pilot.pause()


def offered(app):
    return [str(option.hit.text) for option in app.screen.query_one("CommandList").options]


async def test_only_palettes_that_can_be_named_are_offered_the_shown_one_first():
    app = console("light")
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot)
        assert isinstance(app.screen, PaletteSearch)
        assert offered(app) == ["light", "dark", "contrast", "ansi", "mono", "broken", "sea"]
        assert app.theme == "kvtui-light"
        told = str(app.screen.query_one("CommandList").options[-1].prompt)
        assert "[b]by the sea[/] · ~/sea.toml" in told


async def test_the_palette_under_the_cursor_is_shown_and_escape_goes_back():
    app = console("dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot)
        before, list_before = ground(app), app.screen.query_one("CommandInput").styles.color
        await pilot.press("down")
        for _ in range(3):
            await pilot.pause()
        assert app.theme == "kvtui-light"
        assert ground(app) != before
        assert app.screen.query_one("CommandInput").styles.color != list_before, "the list is dressed as the screen below it"
        await pilot.press("escape")
        for _ in range(3):
            await pilot.pause()
        assert app.theme == "kvtui-dark"
        assert not isinstance(app.screen, PaletteSearch)
        assert ground(app) == before


async def test_enter_keeps_it():
    app = console("dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot, "up", "enter")
        for _ in range(3):
            await pilot.pause()
        assert app.theme == "kvtui-sea"
        # The palette of commands, closed without a choice, changes nothing.
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.theme == "kvtui-sea"


async def test_a_name_that_is_typed_is_found():
    app = console("dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot, "c", "o", "n")
        for _ in range(20):
            await pilot.pause(0.05)
            if app.theme == "kvtui-contrast":
                break
        assert app.theme == "kvtui-contrast"


async def test_a_broken_palette_is_named_and_not_shown():
    app = console("dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot, "up", "up")
        assert app.theme == "kvtui-dark"
        await pilot.press("enter")
        for _ in range(3):
            await pilot.pause()
        assert app.theme == "kvtui-dark"
        assert "~/broken.toml: line 2: frame is “teel”" in str(next(iter(app._notifications)).message)


@pytest.mark.parametrize(("theme", "shown"), [("sea", "kvtui-sea"), ("broken", "kvtui-dark"), ("gone", "kvtui-dark")])
async def test_the_console_starts_whatever_a_palette_holds(theme, shown):
    app = console(theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.theme == shown
        told = " ".join(str(one.message) for one in app._notifications)
        assert ("~/broken.toml: line 2" in told and "and 1 more" in told and "kvtui palettes" in told) is (theme == "broken")


async def test_a_file_of_the_name_of_kvtuis_own_takes_nothing_away():
    app = console("light")
    app.find_palettes = lambda: (PaletteFile("dark", "~/dark.toml", ""),)
    async with app.run_test(size=(120, 40)) as pilot:
        await choosing(pilot, "down", "enter")
        assert app.theme == "kvtui-dark"
