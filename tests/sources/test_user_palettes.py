from kvtui.sources.user_palettes import LONGEST, palette_folder, user_palettes


def test_no_folder_is_no_palette(tmp_path):
    assert user_palettes(tmp_path / "none") == ()


def test_files_by_name_and_what_is_wrong_with_each(tmp_path):
    (tmp_path / "sea.toml").write_text("dark = true")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbfdark = true")
    (tmp_path / "latin.toml").write_bytes(b'about = "\xe9"')
    (tmp_path / "long.toml").write_text("#" * (LONGEST + 1))
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / ".hidden.toml").write_text("")
    (tmp_path / "readme.txt").write_text("")
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    found = {file.name: file for file in user_palettes(tmp_path)}
    assert list(found) == ["bom", "folder", "gone", "latin", "long", "sea"]
    assert (found["sea"].text, found["sea"].problem) == ("dark = true", "")
    assert found["bom"].text == "dark = true"
    assert found["latin"].problem == "it is not UTF-8 text"
    assert found["long"].problem == "it is longer than 64 KiB"
    assert found["folder"].problem == found["gone"].problem == "it is not a file"
    assert found["sea"].where == str(tmp_path / "sea.toml")


def test_the_folder_is_in_that_of_the_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert palette_folder() == tmp_path / "kvtui" / "themes"
    monkeypatch.setenv("KVTUI_CONFIG", str(tmp_path / "own" / "c.toml"))
    assert palette_folder() == tmp_path / "own" / "themes"
    monkeypatch.delenv("KVTUI_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    palette_folder().mkdir(parents=True)
    (palette_folder() / "sea.toml").write_text("")
    assert [file.where for file in user_palettes()] == ["~/kvtui/themes/sea.toml"]
