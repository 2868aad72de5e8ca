"""What ``kvtui config`` prints is TOML that says what it was made from."""

import re

from kvtui.domain.settings import DEFAULTS, Settings, Target, every_entry
from kvtui.parse.effective import effective
from kvtui.parse.settings_file import read_settings
from kvtui.present.settings_text import KeyRow, example, listing, table_rows
from kvtui.views.commands import COMMANDS
from kvtui.views.keymap import remap

EXAMPLE = example([KeyRow(c.id, c.keys, c.help) for c in COMMANDS], "~/.config/kvtui/config.toml")


def test_the_example_is_valid_and_changes_nothing():
    read = read_settings(EXAMPLE)
    assert not read.problems
    assert read.settings == DEFAULTS


def test_the_example_with_its_marks_taken_off_is_the_default_too():
    text = re.sub(r"(?m)^#(?! )", "", EXAMPLE)
    read = read_settings(text)
    assert not read.problems
    found = read.settings
    assert (found.intervals, found.thresholds, found.mouse) == (DEFAULTS.intervals, DEFAULTS.thresholds, DEFAULTS.mouse)
    assert set(found.keys) == {command.id for command in COMMANDS}
    moved = remap(found.keys)
    assert not moved.problems
    assert [c.keys for c in moved.commands] == [c.keys for c in COMMANDS]
    assert list(found.targets) == ["prod"]
    assert all(getattr(found.targets["prod"], name) for name in ("url", "log", "api_key_file", "model"))


def test_the_example_says_every_setting_and_its_range():
    for entry in every_entry():
        assert re.search(rf"(?m)^#{entry.name} = ", EXAMPLE), entry.path
        if entry.told.range:
            assert entry.told.range in EXAMPLE


TEXT = """palette = "light"
[thresholds]
dp_ratio = 2.5
[targets."a.b"]
url = "http://user:hunter2@gpu7:1/?token=hunter2"
[targets.c]
log = "x\\ty.log"
[keys]
quit = ["q", "f10"]
"""


def test_the_listing_tells_values_and_origins():
    found = effective(read_settings(TEXT.replace("\\t", "")), {"KVTUI_MOUSE": "0"}, {})
    lines = listing(found.settings, found.origins, "FILE")
    told = {line.split("#")[0].strip(): line.rpartition("# ")[2] for line in lines}
    assert told['palette = "light"'] == "line 1"
    assert told["mouse = false"] == "KVTUI_MOUSE"
    assert told["dp_ratio = 2.5"] == "line 3"
    assert told["metrics = 1"] == "default"
    assert told['quit = ["q", "f10"]'] == "line 9"
    assert "#width" in "\n".join(lines)
    assert "hunter2" not in "\n".join(lines)


def test_the_listing_is_a_configuration_again():
    settings = Settings(palette="mono", width=90, targets={"a.b": Target(log='we"ird\\.log')}, keys={"quit": ("q", "f10")})
    read = read_settings("\n".join(listing(settings, {}, "FILE")))
    assert not read.problems
    assert read.settings == settings


def test_the_table_has_every_setting():
    rows = table_rows()
    assert {row[0] for row in rows} >= {entry.path for entry in every_entry()}
    assert all(all(cell for cell in row) for row in rows)
