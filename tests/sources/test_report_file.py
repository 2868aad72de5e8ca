import os
import stat
from pathlib import Path

import pytest

from kvtui.sources.errors import Unreadable
from kvtui.sources.report_file import write_report


def test_a_report_is_for_its_owner_alone_and_replaces_nothing(tmp_path):
    before = os.umask(0)
    try:
        first, second = (write_report("kvtui-report", text, (tmp_path,)) for text in ("one ×", "two"))
    finally:
        os.umask(before)
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in ("kvtui-report.md", "kvtui-report-2.md")] == ["one ×", "two"]
    assert {stat.S_IMODE(Path(path).stat().st_mode) for path in (first, second)} == {0o600}


def test_a_link_that_somebody_left_is_not_followed(tmp_path):
    (tmp_path / "kvtui-report.md").symlink_to(tmp_path / "elsewhere")
    assert write_report("kvtui-report", "text", (tmp_path,)).endswith("-2.md")
    assert not (tmp_path / "elsewhere").exists()


def test_the_next_folder_where_one_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert write_report("r", "text", (tmp_path / "file", tmp_path / "state")) == str(tmp_path / "state" / "r.md")
    with pytest.raises(Unreadable, match="cannot be written"):
        write_report("r", "text", (tmp_path / "file",))
