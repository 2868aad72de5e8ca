"""Command line before environment before file before default, each with its origin."""

import pytest

from kvtui.domain.settings import DEFAULTS
from kvtui.parse.effective import effective
from kvtui.parse.settings_file import read_settings

FILE = read_settings('palette = "light"\nmouse = true\n[thresholds]\ndp_ratio = 2\n[targets.x]\nurl = ":1"')


def test_the_order():
    found = effective(FILE, {}, {})
    assert (found.settings.palette, found.origins["palette"]) == ("light", "line 1")
    found = effective(FILE, {"KVTUI_THEME": "mono"}, {})
    assert (found.settings.palette, found.origins["palette"]) == ("mono", "KVTUI_THEME")
    found = effective(FILE, {"KVTUI_THEME": "mono"}, {"palette": ("dark", "--theme")})
    assert (found.settings.palette, found.origins["palette"]) == ("dark", "--theme")
    assert found.origins["thresholds.dp_ratio"] == "line 4"
    assert found.origins["targets.x.url"] == "line 6"
    assert "intervals.metrics" not in found.origins


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("FALSE", False), ("no", False)])
def test_switches_of_the_environment(text, value):
    found = effective(FILE, {"KVTUI_MOUSE": text, "KVTUI_ASCII": text}, {})
    assert (found.settings.mouse, found.settings.ascii) == (value, value)


def test_an_empty_variable_is_unset():
    assert effective(FILE, {"KVTUI_THEME": "", "KVTUI_MOUSE": ""}, {}).settings.palette == "light"


def test_mistakes_of_the_environment_join_those_of_the_file():
    found = effective(read_settings("mouse = 3"), {"KVTUI_MOUSE": "maybe\x1b", "KVTUI_THEME": "a\nb"}, {})
    told = [(one.line, one.text) for one in found.problems]
    assert told[0][0] == 1
    assert [line for line, _ in told[1:]] == [None, None]
    assert "KVTUI_THEME" in told[1][1]
    assert "KVTUI_MOUSE is “maybe\\x1b”: it must be 1 or 0" in told[2][1]
    assert found.settings == DEFAULTS
