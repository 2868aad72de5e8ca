import re

import pytest
from textual.color import Color

from kvtui.parse.palette import PaletteFile
from kvtui.parse.palette_names import BASE, MEANING, WIDGETS
from kvtui.present.line import TONES
from kvtui.present.terminal import PALETTES
from kvtui.views import style
from kvtui.views.paint import STYLES

COLOURED = ("kvtui-dark", "kvtui-light", "kvtui-contrast")
TEXT = ("foreground", *(name for name in MEANING if name.startswith(("tone", "severity"))), "frame-focus")
"""What words and figures are written in."""
PARTS = tuple(name for name in MEANING if name.startswith("kv-"))


def test_every_tone_has_a_style_and_every_palette_its_colours():
    assert set(STYLES) == set(TONES)
    used = {name for text in STYLES.values() for name in re.findall(r"\$([\w-]+)", text)}
    used |= set(re.findall(r"\$((?:tone|severity|kv|chart|frame)[\w-]*)", (style.folder() / "base.tcss").read_text()))
    assert used == set(MEANING)
    for palette in style.palettes():
        assert set(MEANING) <= set(palette.variables) <= set(MEANING) | WIDGETS, palette.name


def test_the_palettes():
    names = [palette.name for palette in style.palettes()]
    assert names == [f"kvtui-{name}" for name in PALETTES]
    assert [palette.name for palette in style.palettes() if not palette.dark] == ["kvtui-light"]
    assert all(dress.about and not dress.where and not dress.problems for dress in style.dresses())


def test_every_colour_of_kvtuis_own_is_one():
    for palette in style.palettes():
        for name, colour in palette.variables.items():
            if not name.endswith("-text-style"):
                Color.parse(colour)
        for name in BASE:
            if getattr(palette, name) is not None:
                Color.parse(getattr(palette, name))


def luminance(palette, name):
    """Relative luminance as WCAG 2 defines it."""
    parts = Color.parse(palette.variables.get(name) or getattr(palette, name)).normalized
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(palette, name, ground):
    low, high = sorted((luminance(palette, name), luminance(palette, ground)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", COLOURED)
def test_text_can_be_read_on_every_ground(name):
    """WCAG 2: 4.5 to 1 for text, 7 to 1 for the palette that promises high contrast."""
    palette = next(palette for palette in style.palettes() if palette.name == name)
    needed = 7 if name == "kvtui-contrast" else 4.5
    for text in TEXT:
        for ground in ("background", "surface", "panel"):
            ratio = contrast(palette, text, ground)
            assert ratio >= needed, f"{text} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("name", COLOURED)
def test_parts_of_a_bar_stand_out_from_the_ground(name):
    """WCAG 2: 3 to 1 for what a picture is read by; free memory and borders are ground, not figure."""
    palette = next(palette for palette in style.palettes() if palette.name == name)
    for part in sorted({*PARTS} - {"kv-free", "kv-pool"}):
        ratio = contrast(palette, part, "background")
        assert ratio >= 3, f"{part}: {ratio:.2f}"


def test_the_monochrome_palette_names_no_colour():
    palette = next(palette for palette in style.palettes() if palette.name == "kvtui-mono")
    assert {palette.variables[name] for name in MEANING} == {"ansi_default"}


def test_layout_has_no_literal_colour():
    assert not re.search(r"#[0-9a-fA-F]{3,8}\s*[;%]", (style.folder() / "base.tcss").read_text())


def test_a_broken_palette_of_kvtuis_own_is_named(tmp_path, monkeypatch):
    (tmp_path / "base.tcss").write_text("")
    (tmp_path / "dark.toml").write_text('[base]\nprimary = "red"\nnonsense = "blue"\n[meaning]\n')
    monkeypatch.setattr(style, "folder", lambda: tmp_path)
    style._of_kvtui.cache_clear()
    try:
        with pytest.raises(style.ThemeError, match=r"dark\.toml.*nonsense"):
            style.palettes()
    finally:
        style._of_kvtui.cache_clear()


def of_user(text, name="mine", problem=""):
    return style.dresses([PaletteFile(name, f"~/{name}.toml", text, problem)])[-1]


def test_a_palette_of_the_user_inherits_what_it_does_not_name():
    light = next(palette for palette in style.palettes() if palette.name == "kvtui-light")
    theme = of_user('extends = "light"\n[base]\nforeground = "black"\n[meaning]\nkv-weights = "teal"\n').theme
    assert (theme.name, theme.dark, theme.ansi) == ("kvtui-mine", False, False)
    assert (theme.foreground, theme.background) == ("black", light.background)
    assert theme.variables == {**light.variables, "kv-weights": "teal"}


def test_without_extends_it_is_the_dark_one():
    assert of_user('[meaning]\nframe = "teal"\n').theme.background == "#0f1317"
    assert of_user('extends = "mono"\n').theme.ansi is True


@pytest.mark.parametrize(
    ("dress", "problem"),
    [
        (lambda: of_user('[meaning]\nframe = "teel"\n'), "line 2: frame is “teel”, which is no colour: did you mean teal"),
        (lambda: of_user("", name="dark"), "dark is a palette of kvtui's own"),
        (lambda: of_user("", name="my [blue]"), "letters, digits"),
        (lambda: of_user("", problem="it is not UTF-8 text"), "it is not UTF-8 text"),
        (lambda: of_user('extends = "mine"\n'), "extends names no palette"),
    ],
)
def test_a_palette_that_cannot_be_used_says_why(dress, problem):
    told = dress()
    assert told.theme is None
    assert re.search(problem, " ".join(told.problems))


def test_only_the_wanted_palette_is_read():
    def find():
        raise AssertionError("a palette of kvtui's own needs no folder")

    assert style.dress("light", find).name == "light"
    assert style.dress("none") is None
