"""Palettes of the terminal's own colours stay what they are; NO_COLOR leaves none."""

import builders as b
import pytest
from feeds import HandFeed

from kvtui.app import KvtuiApp


def colours(app):
    """Every colour of the screen's cells."""
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
    return {colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None}


async def seen(theme):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), theme=theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.pause()
        return colours(app)


@pytest.mark.parametrize(("theme", "own"), [("kvtui-ansi", False), ("kvtui-mono", False), ("kvtui-dark", True)])
async def test_only_the_palettes_with_colours_of_their_own_write_them(theme, own):
    assert any(colour.triplet is not None for colour in await seen(theme)) is own


async def test_no_color_leaves_no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert all(colour.is_default for colour in await seen("kvtui-mono"))
    assert all(colour.is_default for colour in await seen("kvtui-ansi"))


async def test_an_empty_no_color_is_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction))
    app.suit_terminal(None)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert any(colour.triplet is not None for colour in colours(app))


def test_the_terminal_decides_where_nobody_chose(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    app = KvtuiApp(HandFeed(), lambda _analysis, fraction: b.estimates(fraction))
    app.suit_terminal(None)
    assert (app.theme, app.ascii_only) == ("kvtui-mono", True)
    app.suit_terminal("light")
    assert app.theme == "kvtui-light"


@pytest.mark.parametrize("theme", ["kvtui-mono", "kvtui-ansi", "kvtui-dark"])
async def test_what_has_the_focus_is_told_by_more_than_a_colour(theme):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), theme=theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for pane, title in (("options", " Options "), ("memory", " GPU memory ─ 8 × 94.04 GiB free before weights ")):
            app.screen.query_one(f"#{pane}").focus()
            for _ in range(3):
                await pilot.pause()
            strips = app.screen._compositor.render_strips()
            reversed_ = [part.text for strip in strips for part in strip if part.style is not None and part.style.reverse]
            assert "".join(reversed_).strip(" kvtui").strip() == title.strip()
