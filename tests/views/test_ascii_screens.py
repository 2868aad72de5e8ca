"""In ASCII mode no cell of any screen holds anything else, and nothing moves."""

import builders as b
import pytest
from feeds import HandFeed
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.views.commands import COMMANDS

SCREENS = [c.id for c in COMMANDS if c.scope == "main" and c.action.startswith("app.")] + ["help"]
SKIPPED = {"palette"}


def console():
    return KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_main_screen_in_ascii(size):
    texts = []
    for only in (False, True):
        app = console()
        app.ascii_only = only
        async with app.run_test(size=size) as pilot:
            for _ in range(3):
                await pilot.pause()
            texts.append(screen_text(app))
    plain, ascii_only = texts
    assert not plain.isascii()
    assert ascii_only.isascii()
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in ascii_only.split("\n")]
    assert "x KV capacity limits concurrency" in ascii_only


@pytest.mark.parametrize("command", [c for c in SCREENS if c not in SKIPPED])
async def test_every_screen_in_ascii(command):
    app = console()
    app.ascii_only = True
    action = next(c.action for c in COMMANDS if c.id == command)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.pause()
        await app.run_action(action, app.screen)
        await pilot.pause()
        await pilot.pause()
        assert screen_text(app).isascii(), screen_text(app)
