"""Copying what has the focus, and writing the report."""

import builders as b
import pytest
from feeds import HandFeed
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.ports import RefusedError
from kvtui.present.line import Span
from kvtui.present.state import ViewState
from kvtui.views.screens.text import TextScreen
from kvtui.views.widgets.pointed_page import PointedPage


def console():
    return KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")


async def until(pilot, there):
    for _ in range(200):
        if there():
            return
        await pilot.pause(0.02)
    pytest.fail("what was waited for never came")


@pytest.mark.parametrize(
    ("keys", "begin", "held"),
    [
        (("1", "Y"), "GPU memory\n", "weights 72.33"),
        (("2", "Y"), "Server\n", "running"),
        (("3", "Y"), "Formula\n", "rest = 21.71"),
        (("1", "y"), "TP0, 94.04 GiB: weights 72.33, KV used ", "free 8.41"),
        (("1", "down", "down", "y"), "TP1, ", "free 8.44"),
        (("2", "down", "down", "y"), "queued  97", ""),
        (("2", "j", "j", "k", "y"), "running  52  cap 2,048", ""),
        (("3", *("down",) * 4, "y"), "rest = 21.71 − 94.04 × (1 − 0.85)", ""),
        (("4", "y"), "--mem-fraction-static", ""),
        (("4", "tab", "y"), "KV capacity limits concurrency: ", "116,171"),
    ],
    ids=["memory pane", "server pane", "formula pane", "first bar", "second bar", "queued", "running", "formula", "options", "strip"],
)
async def test_y_copies_the_row_and_shift_y_the_pane(keys, begin, held):
    app = console()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert app.clipboard.startswith(begin)
        assert held in app.clipboard


async def test_e_writes_the_report_and_says_where():
    written = []

    def write(name, text):
        written.append((name, text))
        return "/home/oncall/report.md"

    app = console()
    app.write_report = write
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("e")
        for _ in range(50):
            await pilot.pause(0.02)
            if "/home/oncall/report.md" in screen_text(app):
                break
        assert "/home/oncall/report.md" in screen_text(app)
    ((name, text),) = written
    assert name == "kvtui-report-2025-11-29-14-12-00"
    assert "KV capacity limits concurrency" in text
    assert "116,171" in text


@pytest.mark.parametrize("writer", [None, "refuses"])
async def test_why_a_report_is_not_written(writer):
    def refuse(_name, _text):
        raise RefusedError("The report cannot be written (no folder).")

    app = console()
    app.write_report = refuse if writer else None
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("e")
        said = "cannot be written" if writer else "no server here"
        for _ in range(50):
            await pilot.pause(0.02)
            if said in screen_text(app):
                break
        assert said in screen_text(app)


@pytest.mark.parametrize(
    ("keys", "copied"),
    [
        (("v", "down", "y"), "KV capacity limits concurrency"),
        (("v", *("down",) * 4, "y"), "97 requests wait while 50 run, for 480 s"),
        (("4", "enter", "y"), "--mem-fraction-static 0.91"),
        (("4", "enter", "down", "down", "y"), "--mem-fraction-static 0.91"),
        (("o", "down", "y"), "0.85"),
    ],
    ids=["title", "evidence", "option", "its flags", "origin"],
)
async def test_y_copies_the_entry_of_a_page(keys, copied):
    app = console()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            if isinstance(app.screen, TextScreen):
                await until(pilot, lambda: app.screen.query_one(PointedPage).lines)
        assert app.clipboard.startswith(copied), app.clipboard
        assert "\n" not in app.clipboard


async def test_the_pointer_stays_with_its_entry_when_lines_come_above_it():
    def page(*texts):
        return lambda _width: tuple((Span(text),) for text in texts)

    app = console()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TextScreen("Page", lambda _state, width: page("one", "two", "three")(width), ViewState(b.founding())))
        await pilot.pause()
        shown = app.screen.query_one(PointedPage)
        await until(pilot, lambda: shown.lines)
        await pilot.press("down", "down")
        assert shown.copied() == "two"
        shown.show(page("zero", "one", "two", "three"))
        assert shown.copied() == "two"
        shown.show(page("zero", "one", "2", "three"))
        assert shown.copied() == "2"


async def test_what_was_copied_is_said_in_the_footers_row_and_covers_nothing_else():
    app = console()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("3")
        await pilot.pause()
        before = screen_text(app).split("\n")
        await pilot.press("y")
        await pilot.pause()
        await pilot.pause()
        after = screen_text(app).split("\n")
        assert "✓ copied: mem_fraction_static" in after[-2]
        assert after[:-2] == before[:-2]


async def test_a_page_says_how_to_choose_before_it_copies():
    app = console()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("v", "y")
        await pilot.pause()
        assert "↓ chooses what is copied; Y copies the whole page" in screen_text(app)
        await pilot.press("Y")
        await pilot.pause()
        assert app.clipboard.startswith("Why\n")


async def test_a_message_replaces_the_last_key_s_and_not_its_own_key_s():
    app = console()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        app.notify("one")
        app.notify("two", severity="warning")
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["✓ one", "▲ two"]
        app.notify("three")
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["✓ three"]
