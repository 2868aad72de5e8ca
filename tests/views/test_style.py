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
    assert [palette.name for palette in style.palettes()] == ["kvtui-ansi", "kvtui-dark", "kvtui-light"]
    assert {palette.name: palette.dark for palette in style.palettes()} == {"kvtui-ansi": True, "kvtui-dark": True, "kvtui-light": False}


def test_layout_has_no_literal_colour():
    assert not re.search(r"#[0-9a-fA-F]{3,8}\s*[;%]", (style.folder() / "base.tcss").read_text())


def test_a_broken_palette_is_named(tmp_path, monkeypatch):
    (tmp_path / "base.tcss").write_text("")
    (tmp_path / "odd.toml").write_text('[base]\nprimary = "red"\nnonsense = "blue"\n[meaning]\n')
    monkeypatch.setattr(style, "folder", lambda: tmp_path)
    with pytest.raises(style.ThemeError, match=r"odd\.toml.*nonsense"):
        style.palettes()
