import os
from pathlib import Path

import pytest

from kvtui.sources.config_place import config_file, config_folder, read_config
from kvtui.sources.errors import Unreadable


def test_the_platforms_place_unless_somebody_names_another(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_folder() == tmp_path / "kvtui"
    assert config_file(None, {}) == (tmp_path / "kvtui" / "config.toml", False)
    assert config_file(None, {"KVTUI_CONFIG": "/a.toml"}) == (Path("/a.toml"), True)
    assert config_file(Path("b.toml"), {"KVTUI_CONFIG": "/a.toml"}) == (Path("b.toml"), True)
    assert config_file(Path("~/b.toml"), {})[0] == Path.home() / "b.toml"
    assert config_file(None, {"KVTUI_CONFIG": ""})[1] is False


def test_a_relative_place_does_not_count(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_folder() == Path.home() / ".config" / "kvtui"


def test_no_file_is_nothing_unless_it_was_named(tmp_path):
    assert read_config(tmp_path / "x.toml", named=False) == ""
    with pytest.raises(Unreadable, match="does not exist"):
        read_config(tmp_path / "x.toml", named=True)


def test_devnull_is_an_empty_configuration():
    assert read_config(Path(os.devnull), named=True) == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"a" * (65 << 10), "larger than 64 KiB"), (b"\xff\xfe\x00", "not UTF-8"), (b"\x80" * 100, "not UTF-8")],
    ids=["large", "binary", "latin"],
)
def test_what_is_no_configuration(tmp_path, data, words):
    file = tmp_path / "c.toml"
    file.write_bytes(data)
    with pytest.raises(Unreadable, match=words):
        read_config(file, named=False)


def test_ten_megabytes_are_not_read(tmp_path):
    file = tmp_path / "c.toml"
    with file.open("wb") as sparse:
        sparse.truncate(10 << 30)
    with pytest.raises(Unreadable, match="larger"):
        read_config(file, named=False)


def test_a_pipe_that_nobody_writes_to_holds_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="pipe"):
        read_config(tmp_path / "pipe", named=True)


def test_a_folder_and_a_name_that_is_none(tmp_path):
    with pytest.raises(Unreadable, match="cannot be read"):
        read_config(tmp_path, named=True)
    with pytest.raises(Unreadable, match="not the name of a file"):
        read_config(Path("a\x00b"), named=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(Unreadable, match="does not exist"):
        read_config(tmp_path / "file" / "config.toml", named=False)


def test_windows_lines_and_a_byte_order_mark(tmp_path):
    file = tmp_path / "c.toml"
    file.write_bytes(b"\xef\xbb\xbfmouse = true\r\n[keys]\r\n")
    assert read_config(file, named=False) == "mouse = true\n[keys]\n"
