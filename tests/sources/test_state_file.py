import os
import stat
from pathlib import Path

import pytest

from kvtui.sources.state_file import read_state, state_folder, write_state


def test_the_file_is_the_owners_alone_and_replaced_whole(tmp_path):
    path = tmp_path / "deep" / "guide.json"
    assert read_state(path) is None
    assert write_state(path, {"a": 1}) == ""
    path.chmod(0o644)
    assert write_state(path, {"a": 2}) == ""
    assert read_state(path) == {"a": 2}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["guide.json"]


def test_a_draft_that_is_a_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / f".guide.json.{os.getpid()}").symlink_to(victim)
    assert "Progress is not kept" in write_state(tmp_path / "guide.json", {})
    assert victim.read_text() == "kept"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    told = write_state(tmp_path / "file" / "guide.json", {})
    assert told.startswith("Progress is not kept")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_nonsense_is_nothing(tmp_path, content):
    path = tmp_path / "guide.json"
    path.write_bytes(content)
    assert read_state(path) is None


@pytest.mark.parametrize(
    ("told", "found"), [("/somewhere", Path("/somewhere/kvtui")), ("", None), ("relative", None)], ids=["told", "unset", "relative"]
)
def test_the_platforms_folder(monkeypatch, told, found):
    """Where saved plans and progress were kept by earlier releases."""
    monkeypatch.setenv("XDG_STATE_HOME", told)
    assert state_folder() == (found or Path.home() / ".local" / "state" / "kvtui")
