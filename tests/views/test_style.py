import re

import pytest

from kvtui.present.line import TONES
from kvtui.views import style
from kvtui.views.paint import STYLES


def test_every_tone_has_a_style_and_every_palette_its_colours():
    assert set(STYLES) == set(TONES)
    used = {name for text in STYLES.values() for name in re.findall(r"\$([\w-]+)", text)}
    used |= set(re.findall(r"\$((?:tone|severity|kv|chart|frame)[\w-]*)", (style.folder() / "base.tcss").read_text()))
    for palette in style.palettes():
        assert used <= set(palette.variables), palette.name


def test_the_palettes():
    names = [palette.name for palette in style.palettes()]
    assert names == ["kvtui-ansi", "kvtui-contrast", "kvtui-dark", "kvtui-light", "kvtui-mono"]
    assert [palette.name for palette in style.palettes() if not palette.dark] == ["kvtui-light"]


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_of_the_high_contrast_palette_stands_out():
    palette = next(palette for palette in style.palettes() if palette.name == "kvtui-contrast")
    for name, colour in palette.variables.items():
        if name.startswith(("tone", "severity")):
            for ground in (palette.background, palette.surface, palette.panel):
                assert (_luminance(colour) + 0.05) / (_luminance(ground) + 0.05) >= 7, name


def test_the_monochrome_palette_names_no_colour():
    palette = next(palette for palette in style.palettes() if palette.name == "kvtui-mono")
    meaning = {colour for name, colour in palette.variables.items() if name.startswith(("tone", "severity", "kv", "chart", "frame"))}
    assert meaning == {"ansi_default"}


def test_layout_has_no_literal_colour():
    assert not re.search(r"#[0-9a-fA-F]{3,8}\s*[;%]", (style.folder() / "base.tcss").read_text())


def test_a_broken_palette_is_named(tmp_path, monkeypatch):
    (tmp_path / "base.tcss").write_text("")
    (tmp_path / "odd.toml").write_text('[base]\nprimary = "red"\nnonsense = "blue"\n[meaning]\n')
    monkeypatch.setattr(style, "folder", lambda: tmp_path)
    style.palettes.cache_clear()
    with pytest.raises(style.ThemeError, match=r"odd\.toml.*nonsense"):
        style.palettes()
