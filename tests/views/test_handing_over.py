"""Copying what has the focus, and writing the report."""

import builders as b
import pytest
from feeds import HandFeed
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.ports import RefusedError


def console():
    return KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")


@pytest.mark.parametrize(
    ("keys", "begin", "held"),
    [
        (("1", "y"), "GPU memory\n", "weights 72.33"),
        (("2", "y"), "Server\n", "running"),
        (("3", "y"), "Formula\n", "rest = 21.71"),
        (("4", "y"), "--mem-fraction-static", ""),
        (("4", "tab", "y"), "KV capacity limits concurrency: ", "116,171"),
    ],
    ids=["memory", "server", "formula", "options", "strip"],
)
async def test_y_copies_what_has_the_focus(keys, begin, held):
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
