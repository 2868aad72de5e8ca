"""Every key of every command, pressed on the real console: each does something that can be seen or says why not, and every
screen can be left."""

from __future__ import annotations

import builders as b
import pytest
from feeds import HandFeed
from play_lessons import HandClock, Player, guide_app
from screen import screen_text
from textual.widgets import Input

from kvtui.app import KvtuiApp
from kvtui.learn import DemoApp
from kvtui.staging import open_demo
from kvtui.views.commands import COMMANDS, SECTIONS, Command
from kvtui.views.screens.guide import GuideScreen
from kvtui.views.screens.main import MainScreen

SIZE = (100, 30)
PLACES: dict[str, tuple[str, ...]] = {
    "app": ("1",), "main": ("1",), "options": ("4",), "text": ("v",), "timeline": ("t",), "boots": ("b",), "ask": ("equals_sign",), "demo": ("1",),
}  # fmt: skip
"""Keys that lead from the main screen to where the commands of a scope work."""
FIRST: dict[str, tuple[str, ...]] = {
    "pane-memory": ("2",),
    "today": ("right",),
    "row-up": ("down", "down"),
    "up": ("down",),
    "text-up": ("down", "down"),
    "text-page-up": ("pagedown",),
    "text-home": ("pagedown",),
    "text-copy": ("down",),
    "zoom-out": ("plus",),
    "charts-up": ("down",),
    "scrub-on": ("left_curly_bracket",),
    "scrub-far-on": ("left_curly_bracket", "left_curly_bracket"),
    "cursor-on": ("left", "left"),
    "cursor-far-on": ("left", "left"),
    "cursor-newest": ("left",),
    "boots-up": ("down",),
    "boots-down": ("up",),
    "boots-mark": ("up",),
    "slower": ("greater_than_sign",),
    "card-back": ("enter",),
    "card-page-up": ("enter", "2", "enter", "enter", "1", "enter"),
    "card-page-down": ("enter", "2", "enter", "enter", "1", "enter", "pageup"),
    "card-up": ("enter", "down"),
    "card-down": ("enter",),
    "hint": ("enter",),
    "answer": ("1",),
}
"""Keys without which a command has nothing to do, after those of the place."""
UNSEEN = {"ctrl+z": "suspended", "q": "left", "ctrl+c": "left", "ctrl+q": "left"}


class Console:
    """An app whose leaving and suspending are only noted."""

    def __init__(self, app, pilot):
        self.app, self.pilot = app, pilot
        self.noted: list[str] = []
        app.exit = lambda *_args, **_more: self.noted.append("left")
        app.action_suspend_process = lambda: self.noted.append("suspended")

    async def ready(self):
        for _ in range(600):
            if self.app.view_state is not None:
                break
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def press(self, *keys):
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    def seen(self):
        """All that a person, or whoever called, could notice."""
        app, state = self.app, self.app.view_state
        demo = getattr(app, "_demo", None)
        return (
            screen_text(app),
            type(app.screen).__name__,
            (getattr(app.focused, "id", None), getattr(app.focused, "row", None)),
            app.clipboard,
            tuple(note.message for note in app._notifications),
            tuple(self.noted),
            (state.fraction, state.plan, state.cursor, state.paused_at) if state is not None else None,
            (demo.speed, demo.paused) if demo is not None else None,
            tuple(getattr(app._feed, "chosen", ())),
        )

    async def home(self):
        """Back to the main screen as a person would get there; gives what stood in the way."""
        for _ in range(6):
            if isinstance(self.app.screen, MainScreen):
                break
            await self.press("escape")
        away = "" if isinstance(self.app.screen, MainScreen) else f"{type(self.app.screen).__name__} cannot be left by escape"
        while not isinstance(self.app.screen, MainScreen):
            self.app.pop_screen()
            await self.pilot.pause()
        await self.press("escape")
        if self.app.view_state is not None and self.app.view_state.paused_at is not None:
            await self.press("p")
        self.app.clear_notifications()
        self.app._clipboard = ""
        self.noted.clear()
        await self.pilot.pause()
        return away

    async def deaf(self, scope, place):
        """Keys of a scope that nobody would notice, and screens that cannot be left."""
        faults = []
        for command in (c for c in COMMANDS if c.scope == scope):
            for key in command.keys:
                faults += await self.tried(command, key, place)
        return faults

    async def tried(self, command: Command, key: str, place: tuple[str, ...]):
        await self.press(*place, *FIRST.get(command.id, ()))
        self.app.clear_notifications()
        await self.pilot.pause()
        before = self.seen()
        await self.press(key)
        for _ in range(20):
            if self.seen() != before:
                break
            await self.pilot.pause(0.02)
        faults = [] if self.seen() != before else [f"{command.id}: {key} does nothing that can be seen"]
        if UNSEEN.get(key) and command.scope == "app" and self.noted != [UNSEEN[key]]:
            faults.append(f"{command.id}: {key} did not reach the app")
        away = await self.home()
        return [*faults, *([f"{command.id}: after {key} {away}"] if away else [])]


def on_a_log():
    return KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")


def demo():
    return DemoApp(open_demo(None, clock=HandClock()), target="demo")


def test_every_command_has_a_section_of_the_help():
    assert {command.scope for command in COMMANDS} <= set(SECTIONS)


async def test_every_command_stands_on_the_help_page():
    app = on_a_log()
    async with app.run_test(size=(120, 300)) as pilot:
        console = Console(app, pilot)
        await console.ready()
        await console.press("f1")
        lines = screen_text(app).split("\n")
        for command in COMMANDS:
            assert any(command.shown in line and f"{command.title}: {command.help}"[:30] in line for line in lines), command.id


@pytest.mark.parametrize("scope", ["app", "main", "options", "text", "timeline", "boots", "ask"])
async def test_no_key_is_deaf(scope):
    app = on_a_log()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        console = Console(app, pilot)
        await console.ready()
        assert not await console.deaf(scope, PLACES[scope])


async def test_no_key_of_the_demo_is_deaf():
    app = demo()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        console = Console(app, pilot)
        await console.ready()
        assert not await console.deaf("demo", PLACES["demo"])


@pytest.mark.parametrize("scope", ["lesson", "card"])
async def test_no_key_of_a_lesson_is_deaf(scope, tmp_path):
    faults = []
    for number, command in enumerate(c for c in COMMANDS if c.scope == scope):
        if command.id == "again":
            continue  # On the last card only: tests/guide plays up to it.
        for key in command.keys:
            app = guide_app("only-500", tmp_path / f"{number}{key}.json")
            async with app.run_test(size=(80, 24), notifications=True) as pilot:
                console = Console(app, pilot)
                await Player(app, pilot).ready()
                faults += await console.tried(command, key, ())
    assert not faults


async def test_a_key_that_does_nothing_is_found(monkeypatch):
    monkeypatch.setattr(MainScreen, "action_explain", lambda _self: None)
    app = on_a_log()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        console = Console(app, pilot)
        await console.ready()
        command = next(c for c in COMMANDS if c.id == "explain")
        assert await console.tried(command, "question_mark", ("1",)) == ["explain: question_mark does nothing that can be seen"]


@pytest.mark.parametrize("kind", ["log", "demo"])
async def test_every_command_of_the_palette_runs(kind):
    app = demo() if kind == "demo" else on_a_log()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        console = Console(app, pilot)
        await console.ready()
        commands = list(app.get_system_commands(app.screen))
        scopes = ("app", "main", "demo") if kind == "demo" else ("app", "main")
        assert {c.title for c in COMMANDS if c.scope in scopes and c.id != "palette"} <= {command.title for command in commands}
        for command in commands:
            told = command.callback()
            if hasattr(told, "__await__"):
                await told
            await pilot.pause()
            assert not await console.home(), command.title


async def test_a_field_takes_nothing_but_typing():
    app = on_a_log()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        console = Console(app, pilot)
        await console.ready()
        await console.press("equals_sign")
        await console.press(*"q?1")
        assert app.screen.query_one(Input).value.endswith("q?1")
        for key in ("f1", "ctrl+z", "ctrl+q", "ctrl+c", "escape"):
            before = console.seen()
            await console.press(key)
            assert console.seen() != before, key
            await console.home()
            await console.press("equals_sign")


async def test_a_lessons_field_takes_nothing_but_typing(tmp_path):
    app = guide_app("safe-change", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        player = Player(app, pilot)
        await player.ready()
        assert isinstance(app.screen, GuideScreen)
        await player.press("2", "0", "k")
        assert player.screen.pane.entry == "20k"
        await player.press("f1")
        assert "Help" in screen_text(app)
