"""The table of settings: complete, and within the rules that no configuration may leave."""

import dataclasses

import pytest

from kvtui.domain.settings import DEFAULTS, Intervals, Settings, Target, entries_of, every_entry

ENTRIES = (*every_entry(), *entries_of(Target, "targets.NAME"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.path)
def test_every_setting_says_what_it_is(entry):
    told = entry.told
    assert told.help
    assert not told.help.endswith(".")
    if told.kind == "number":
        assert told.unit
        assert told.low <= entry.default <= told.high
    if entry.default is None:
        assert told.unset
        assert told.example


def test_every_field_is_a_setting_or_a_table():
    named = {entry.name for entry in entries_of(Settings)} | {"intervals", "thresholds", "targets", "keys"}
    assert named == {field.name for field in dataclasses.fields(Settings)}
    assert not [field.name for field in dataclasses.fields(Intervals) if "told" not in field.metadata]


def test_no_interval_can_disturb_a_server():
    """DESIGN.md section 5: at most one page of metrics a second, /server_info once a minute."""
    low = {entry.name: entry.told.low for entry in entries_of(Intervals)}
    assert low["metrics"] >= 1
    assert low["loads"] >= 1
    assert low["server_info"] >= 60


def test_defaults_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.mouse = False
    with pytest.raises(TypeError):
        DEFAULTS.targets["x"] = Target()
