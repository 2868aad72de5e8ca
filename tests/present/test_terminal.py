"""What is painted where nobody chose."""

from pathlib import Path

import pytest

from kvtui.present.terminal import PALETTES, Looks, looks

UTF8 = {"LANG": "en_US.UTF-8"}


@pytest.mark.parametrize(
    ("environ", "encoding", "wanted"),
    [
        ({"TERM": "xterm-256color", **UTF8}, "utf-8", Looks("dark", False)),
        ({"TERM": "tmux-256color", "COLORTERM": "truecolor"}, "UTF-8", Looks("dark", False)),
        ({"TERM": "xterm", **UTF8}, "utf-8", Looks("ansi", False)),
        ({"TERM": "xterm", "COLORTERM": "truecolor", **UTF8}, "utf-8", Looks("dark", False)),
        ({"TERM": "screen", **UTF8}, "utf-8", Looks("ansi", False)),
        ({"TERM": "tmux", **UTF8}, "utf-8", Looks("ansi", False)),
        ({"TERM": "alacritty", **UTF8}, "utf-8", Looks("ansi", False)),
        ({"TERM": "alacritty", "COLORTERM": "24bit", **UTF8}, "utf-8", Looks("dark", False)),
        ({"TERM": "rxvt", "COLORTERM": "rxvt", **UTF8}, "utf-8", Looks("ansi", False)),
        ({"TERM": "xterm-kitty", **UTF8}, "utf-8", Looks("dark", False)),
        ({"TERM": "linux", **UTF8}, "utf-8", Looks("ansi", True)),
        ({"TERM": "vt100", "COLORTERM": "truecolor", **UTF8}, "utf-8", Looks("mono", True)),
        ({"TERM": "dumb", **UTF8}, "utf-8", Looks("mono", True)),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", **UTF8}, "utf-8", Looks("mono", False)),
        ({"TERM": "xterm-256color", "NO_COLOR": "", **UTF8}, "utf-8", Looks("dark", False)),
        ({"TERM": "xterm-256color", "LANG": "de_DE.ISO-8859-1@euro"}, "utf-8", Looks("dark", True)),
        ({"TERM": "xterm-256color", "LC_ALL": "C", **UTF8}, "utf-8", Looks("dark", True)),
        ({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}, "utf-8", Looks("dark", False)),
        ({"TERM": "xterm-256color", **UTF8}, "ANSI_X3.4-1968", Looks("dark", True)),
        ({}, "utf-8", Looks("ansi", False)),
    ],
)
def test_by_the_environment(environ, encoding, wanted):
    assert looks(environ, encoding) == wanted


def test_every_palette_that_can_be_asked_for_has_its_file():
    themes = Path(__file__).resolve().parents[2] / "themes"
    assert {path.stem for path in themes.glob("*.toml")} == set(PALETTES)
