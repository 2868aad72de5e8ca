"""``kvtui palettes`` and ``--theme``."""

import pytest
from click.testing import CliRunner

from kvtui.cli import main
from kvtui.parse.palette_names import BASE, MEANING
from kvtui.present.terminal import PALETTES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KVTUI_CONFIG", raising=False)
    themes = tmp_path / "kvtui" / "themes"
    themes.mkdir(parents=True)
    return themes


def run(*words):
    return CliRunner().invoke(main, list(words))


def test_every_palette_is_listed_with_where_it_comes_from(folder):
    (folder / "sea.toml").write_text('about = "by the sea"\n')
    told = run("palettes")
    assert told.exit_code == 0
    lines = told.output.splitlines()
    assert [line.split()[1] for line in lines[: len(PALETTES) + 1]] == [*PALETTES, "sea"]
    assert f"✓ sea       by the sea · {folder / 'sea.toml'}" in lines
    assert str(folder) in lines[-1]


def test_every_mistake_of_every_file_is_told_at_once(folder):
    (folder / "one.toml").write_text('extends = "drak"\n[base]\nprimry = "red"\n')
    (folder / "two.toml").write_text("[meaning]\nframe = 3\n")
    (folder / "odd\x1b[31m.toml").write_text("")
    told = run("palettes")
    assert told.exit_code == 1
    assert "line 1: extends names no palette “drak”; did you mean dark?" in told.output
    assert "line 3: unknown name “primry” in [base]; did you mean primary?" in told.output
    assert "line 2: frame must be a colour in quotes" in told.output
    assert "\x1b" not in told.output


def test_the_names_are_told():
    told = run("palettes", "--names").output
    assert all(name in told for name in (*BASE, *MEANING))


def test_a_theme_that_does_not_exist_is_refused_with_the_nearest(folder):
    (folder / "seaside.toml").write_text("")
    assert "did you mean seaside?" in run("--demo", "--theme", "seasid").output
    assert "did you mean light?" in run("guide", "--theme", "ligth").output
    # One that exists is taken, also with mistakes in it: the console starts with the default palette.
    (folder / "broken.toml").write_text("= 3")
    assert "The demo needs a terminal" in run("--demo", "--theme", "broken").output
