"""Keys of one's own: what can be said in the configuration, and what then works and is shown."""

import re
import string

import builders as b
import pytest
from feeds import HandFeed
from play_lessons import Player, guide_app
from screen import screen_text
from textual.keys import Keys, _character_to_key, key_to_character

from kvtui.app import KvtuiApp
from kvtui.domain.settings import Settings
from kvtui.views.commands import COMMANDS
from kvtui.views.key_names import NAMED, character_of, name_of
from kvtui.views.keymap import remap, shown
from kvtui.views.screens.text import TextScreen
from kvtui.views.screens.timeline import TimelineScreen
from kvtui.views.widgets.lesson_pane import LessonPane


def keys_of(told, name):
    found = remap(told)
    assert not found.problems
    return next(command.keys for command in found.commands if command.id == name)


@pytest.mark.parametrize(
    ("written", "name", "sign"),
    [
        ("T", "T", "T"),
        ("?", "question_mark", "?"),
        (",", "comma", ","),
        ("+", "plus", "+"),
        (" ", "space", "space"),
        ("space", "space", "space"),
        ("F5", "f5", "F5"),
        ("Enter", "enter", "⏎"),
        ("Ctrl+K", "ctrl+k", "^k"),
        ("ctrl+shift+f5", "ctrl+shift+f5", "^⇧F5"),
        ("shift+ctrl+f5", "ctrl+shift+f5", "^⇧F5"),
        ("alt+x", "alt+x", "alt+x"),
        ("é", "é", "é"),
        ("question_mark", "question_mark", "?"),
        ("pageup", "pageup", "PgUp"),
    ],
)
def test_names_of_keys(written, name, sign):
    # A command whose scope has few keys.
    assert keys_of({"ask-close": (written, "f12")}, "ask-close")[0] == name
    assert shown(name) == sign


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"timline": ("x",)}, "there is no command “timline”; did you mean timeline?"),
        ({"timeline": ("esc",)}, "there is no key “esc”; did you mean escape?"),
        ({"timeline": ("ctl+x",)}, "the modifier “ctl”; did you mean ctrl?"),
        ({"timeline": ("shift+t",)}, "a terminal sends “T” for “shift+t”: write that"),
        ({"timeline": ("ctrl+m",)}, "a terminal sends the same for “ctrl+m” as for enter"),
        ({"timeline": ("\x1b[31m",)}, "there is no key “\\x1b[31m”"),
        ({"timeline": ("l",)}, "l is the key of log"),
        ({"timeline": ("x",), "log": ("x",)}, "x is the key of"),
        ({"quit": ("p",)}, "p is the key of pause"),
        ({"quit": ("t",)}, "the main screen keeps it from quit"),
        ({"timeline": ("p",)}, "the main screen keeps it from pause"),
        ({"apply": ("p",)}, "p is the key of pause"),
        ({"timeline": ("H",)}, "H is the key of hint"),
        ({"timeline": ("q",)}, "keys.timeline: q is the key of quit too, and the main screen keeps it from quit"),
        ({"timeline": ("T", "q")}, "q is the key of quit too"),
        ({"mark": ("q",)}, "keys.mark: q is the key of quit too, and the options pane keeps it from quit"),
        ({"timeline": ("ctrl+q",)}, "keys.timeline: ^q is the key of quit-typing too"),
        ({"text-down": ("ctrl+q",)}, "^q is the key of quit-typing too, and quit-typing goes before all others"),
        ({"search-type": ("q",)}, "keys.search-type: q is the key of quit too, and the search keeps it from quit"),
        ({"search-again": ("ctrl+q",)}, "keys.search-again: ^q is the key of quit-typing too"),
        ({"search-demo": ("ctrl+z",)}, "keys.search-demo: ^z is the key of suspend too"),
        ({"quit": ("d",)}, "keys.quit: d is the key of search-demo too, and the search keeps it from quit"),
        (
            {"quit": ("t", "x")},
            "t is the key of timeline too, and the main screen keeps it from quit; it is the key of search-type besides",
        ),
    ],
)
def test_what_cannot_be(told, words):
    found = remap(told)
    assert len(found.problems) == 1, found.problems
    name, text = found.problems[0]
    assert name in told
    assert words in text
    assert text.isprintable()
    assert found.commands == COMMANDS


@pytest.mark.parametrize("sign", string.punctuation)
def test_every_sign_is_shown_as_itself(sign):
    assert shown(keys_of({"ask-close": (sign,)}, "ask-close")[0]) == sign


def test_a_moved_key_is_shown_as_a_delivered_one_would_be():
    assert [c.id for c in COMMANDS if not c.shown.startswith(shown(c.keys[0]))] == []


@pytest.mark.parametrize(
    "told",
    [
        {"timeline": ("l",), "log": ("t",)},
        {"timeline": ("q",), "quit": ("Q",)},
        # The search knows neither pause nor help, and a pane can be left.
        {"search-again": ("p", "f1")},
        {"pause": ("space",)},
        # As delivered the one stands for the other, where both are.
        {"simulate": ("x",), "simulate-option": ("x",)},
        {"quit": ("x",), "text-close": ("escape", "x")},
    ],
    ids=str,
)
def test_what_can_be(told):
    assert not remap(told).problems


def test_names_are_those_of_textual():
    words = (key.value.rpartition("+")[2] for key in Keys)
    named = {word for word in words if re.fullmatch(r"[a-z][a-z0-9_]+", word)}
    signs = {_character_to_key(sign) for sign in string.punctuation} - {","}
    assert named - signs == NAMED
    for character in map(chr, range(32, 0x2600)):
        if character.isprintable():
            assert name_of(character) == _character_to_key(character)
    for key in (*NAMED, *map(name_of, "éx€«")):
        assert character_of(key) == key_to_character(key), key


def test_a_key_that_a_command_has_as_delivered_can_stay_among_others():
    """A lesson's answer and the main screen's why share Enter as delivered."""
    assert keys_of({"why": ("enter", "f7")}, "why") == ("enter", "f7")


def console(keys):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="server.log")
    app.settle(Settings(palette="dark", keys=keys), tuple)
    return app


async def settle(pilot):
    await pilot.pause()
    await pilot.pause()


async def test_a_moved_key_works_and_the_old_one_does_not():
    app = console({"timeline": ("T", "f6"), "today": ("backspace",)})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("t")
        assert not isinstance(app.screen, TimelineScreen)
        await pilot.press("T")
        await settle(pilot)
        assert isinstance(app.screen, TimelineScreen)
        await pilot.press("escape", "f6")
        await settle(pilot)
        assert isinstance(app.screen, TimelineScreen)
        await pilot.press("escape", "right")
        assert app.view_state.fraction is not None
        await pilot.press("escape")
        assert app.view_state.fraction is not None
        await pilot.press("backspace")
        assert app.view_state.fraction is None


async def test_all_other_keys_stay():
    """Textual takes keys from their commands where one is moved to them: all are given again."""
    app = console({"best-plan": ("B",)})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for key, kind in {"enter": TextScreen, "v": TextScreen, "o": TextScreen, "f1": TextScreen, "t": TimelineScreen}.items():
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, kind), key
            await pilot.press("escape")
            await settle(pilot)
        await pilot.press("q")
    assert app.return_code == 0


async def test_footer_help_palette_and_pane_show_the_keys_in_effect():
    app = console({"timeline": ("T",), "machine": ("ctrl+g",), "mark": ("x",), "lower": ("h",), "raise": ("J",)})
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        await pilot.press("4")
        await settle(pilot)
        footer = screen_text(app).rstrip("\n").split("\n")[-1]
        assert "T timeline" in footer
        assert "^g machine" in footer
        assert "x plan" in footer
        assert "hJ fraction" in footer
        assert "t timeline" not in footer.replace("T timeline", "")
        assert "x plan · ⏎ detail" in screen_text(app)
        await pilot.press("f1")
        await settle(pilot)
        helped = "\n".join("".join(span.text for span in line) for line in app.screen.query_one("#text").rows)
        assert re.search(r"  T +timeline", helped)
        assert "^g" in helped
        await pilot.press("escape")
        await settle(pilot)
        told = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert told["timeline"].startswith("T · ")
        assert told["machine"].startswith("^g · ")
        assert told["log"].startswith("l · ")


async def test_hints_in_the_panes_name_the_keys_in_effect():
    app = console({"why": ("x",), "today": ("backspace",), "scrub-back": ("F2",), "mark": ("m",), "machine": ("M",)})
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "x why" in screen_text(app)
        assert "⏎ why" not in screen_text(app)
        await pilot.press("right", "f2")
        await settle(pilot)
        shown_now = screen_text(app)
        assert "what if: ⌫ returns to today's" in shown_now
        assert "F2 ] scrub  ⌫ newest" in shown_now


@pytest.mark.parametrize(("told", "only"), [(None, False), (True, True), (False, False)])
def test_signs_are_chosen_or_follow_the_terminal(told, only):
    app = KvtuiApp(HandFeed(), lambda _analysis, fraction: b.estimates(fraction))
    app.settle(Settings(ascii=told), tuple)
    assert app.ascii_only is only


def test_signs_that_are_chosen_go_before_what_the_terminal_says(monkeypatch):
    monkeypatch.setenv("TERM", "vt100")
    app = KvtuiApp(HandFeed(), lambda _analysis, fraction: b.estimates(fraction))
    app.settle(Settings(), tuple)
    assert app.ascii_only
    app.settle(Settings(ascii=False), tuple)
    assert not app.ascii_only


async def test_a_lesson_keeps_its_own_keys_beside_moved_ones(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    app.take_keys({"timeline": ("T",), "hint": ("I",), "why": ("enter", "f7")})
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter")
        assert player.play.at == 1
        await player.press("H")
        assert "hint:" not in screen_text(app)
        await player.press("I")
        assert "hint:" in screen_text(app)
        # From a pane Enter leads back to the lesson, although why was given Enter too.
        await player.press("tab")
        assert not isinstance(app.focused, LessonPane)
        await player.press("enter")
        assert isinstance(app.focused, LessonPane)


def test_keys_that_cannot_be_used_change_nothing():
    app = console({"timeline": ("l",)})
    assert app.commands == COMMANDS
