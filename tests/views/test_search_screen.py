"""The screen of a machine without a server, or with several: what it says, and every key of it."""

import pytest
from screen import check_golden, screen_text
from textual.widgets import Input

import kvtui.search
from kvtui.domain.process import Discovery, FoundServer, LogTarget
from kvtui.domain.reading import Known, Missing
from kvtui.present.found import nothing_found
from kvtui.present.line import line_cells, plain
from kvtui.present.search import servers
from kvtui.search import SearchApp
from kvtui.views.commands import COMMANDS
from kvtui.views.screens.ask import AskScreen
from kvtui.views.screens.search import Choice

NONE = Discovery(
    (),
    (
        "launch commands (python -m sglang.launch_server, sglang serve): none among 214 processes",
        "process titles (sglang::scheduler, sglang::detokenizer): none among 214 processes",
        "3 of 214 processes: their command lines may not be read; run kvtui as root or as the server's user",
        "port 30000, SGLang's own: nothing listens there",
        "a server in a container is seen from the host, not from another container",
    ),
)
KIMI = FoundServer(
    Known(4100), (), Known("a"), model=Known("/models/Kimi-K2.5"), port=Known(30000), log=LogTarget("file", "/var/log/sglang.log")
)
QWEN = FoundServer(
    Known(5100),
    (),
    Known("b"),
    model=Known("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"),
    port=Known(30001),
    log=LogTarget("docker", "abc"),
    notes=("it has a network of its own (container): if its port does not answer here, give the URL at which it is published",),
)
LEFT = FoundServer(Missing("its main process is gone"), (), Missing("gone"))
SEVERAL = Discovery((KIMI, QWEN, LEFT), ())
SIZES = [(80, 24), (120, 40), (200, 60)]


class Finds:
    """Gives what it is told, and counts how often it is asked."""

    def __init__(self, seen):
        self.seen, self.asked = seen, 0

    async def __call__(self):
        self.asked += 1
        return self.seen


def refused(text):
    return "" if text.startswith("http") else f"there is no file {text}"


def app_of(seen, then=None):
    found = Finds(then if then is not None else seen)
    return SearchApp(seen, found, refused), found


async def until(pilot, condition):
    for _ in range(500):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(screen_text(pilot.app))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("name", "seen", "keys"), [("nothing", NONE, ()), ("several", SEVERAL, ("down",))], ids=["nothing", "several"])
async def test_what_it_shows(name, seen, keys, size):
    app, _ = app_of(seen)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        check_golden(f"search-{name}-{size[0]}x{size[1]}", screen_text(app))


async def test_a_server_that_appears_is_opened_by_itself(monkeypatch):
    monkeypatch.setattr(kvtui.search, "EVERY_S", 0.01)
    app, found = app_of(NONE)
    async with app.run_test() as pilot:
        await until(pilot, lambda: found.asked > 2)
        assert app.choice is None
        found.seen = Discovery((KIMI,), ())
        await until(pilot, lambda: app.choice is not None)
    assert app.choice == Choice("server", server=KIMI)


async def test_what_appears_while_somebody_types_is_only_shown(monkeypatch):
    monkeypatch.setattr(kvtui.search, "EVERY_S", 0.01)
    app, found = app_of(NONE)
    async with app.run_test() as pilot:
        await pilot.press("t", "a")
        found.seen = Discovery((KIMI,), ())
        asked = found.asked
        await until(pilot, lambda: found.asked > asked + 2)
        assert isinstance(app.screen, AskScreen)
        assert app.screen.query_one(Input).value == "a"
        await pilot.press("escape", "enter")
        await until(pilot, lambda: app.choice is not None)
    assert app.choice == Choice("server", server=KIMI)


async def test_several_that_appear_are_a_list_to_choose_from():
    app, found = app_of(NONE, SEVERAL)
    async with app.run_test() as pilot:
        await pilot.press("r")
        await until(pilot, lambda: "3 servers run" in screen_text(app))
        assert "looked 2 times" in screen_text(app)
        await pilot.press("down", "enter")
        await pilot.pause()
    assert found.asked == 1
    assert app.choice == Choice("server", server=QWEN)


async def test_the_pointer_stays_at_its_server():
    app, found = app_of(SEVERAL)
    async with app.run_test() as pilot:
        await pilot.press("j")
        found.seen = Discovery((QWEN, KIMI), ())
        await pilot.press("r")
        await until(pilot, lambda: "2 servers run" in screen_text(app))
        await pilot.press("enter")
        await pilot.pause()
    assert app.choice == Choice("server", server=QWEN)


@pytest.mark.parametrize(("key", "kind"), [("d", "demo"), ("g", "guide")])
async def test_what_needs_no_server(key, kind):
    app, _ = app_of(NONE)
    async with app.run_test() as pilot:
        await pilot.press("enter")
        assert app.choice is None
        await pilot.press(key)
        await pilot.pause()
    assert app.choice == Choice(kind)


@pytest.mark.parametrize("key", ["t", "slash"])
async def test_a_target_is_typed_and_a_wrong_one_is_said(key):
    app, _ = app_of(NONE)
    async with app.run_test() as pilot:
        await pilot.press(key, "x", "enter")
        await pilot.pause()
        assert "there is no file x" in screen_text(app)
        app.screen.query_one(Input).value = " http://gpu7:30000 "
        await pilot.press("enter")
        await pilot.pause()
    assert app.choice == Choice("target", target="http://gpu7:30000")


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_it_can_be_left(key):
    app, _ = app_of(NONE)
    async with app.run_test() as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running or app._exit
    assert app.choice is None


async def test_every_key_of_it_stands_on_it():
    app, _ = app_of(SEVERAL)
    async with app.run_test(size=(120, 40)):
        shown = screen_text(app)
        for command in COMMANDS:
            if command.scope == "search":
                assert f" {command.shown} {command.title}" in shown, command.id


async def test_a_key_of_ones_own_holds_here(monkeypatch):
    app, _ = app_of(NONE)
    app.take_keys({"search-demo": ("x",)})
    async with app.run_test() as pilot:
        await pilot.press("x")
        await pilot.pause()
    assert app.choice == Choice("demo")


@pytest.mark.parametrize("width", [20, 60, 80, 300])
def test_no_row_is_wider_than_its_box_and_none_carries_control_characters(width):
    evil = FoundServer(Known(1), (), Known("x"), model=Known("a\x1b[2J" * 400), port=Known(1), notes=("\x1b[2J" * 90,))
    rows = servers(Discovery((evil,), ()), 0, width)
    assert all(line_cells(row) <= width for row in rows)
    assert "\x1b" not in "".join(plain(row) for row in rows)


def test_the_sentence_off_a_terminal_says_the_same():
    said = nothing_found(NONE)
    assert all(one in said for one in NONE.looked_for)
    assert "processes; process titles" in said
