import json
import stat
from dataclasses import replace

import pytest

from kvtui.domain.saved_plan import SavedPlan
from kvtui.parse.saved_plan import plan_line, plan_of_line
from kvtui.sources.errors import Unreadable
from kvtui.sources.saved_plans import SavedPlans

PLAN = SavedPlan(
    "Kimi-K2.5", 8, 1, 1, 1_764.5, 1_000.0, ("raise-fraction",), ("--mem-fraction-static 0.90",), 0.9, 116_171.0, 188_016.0, 3.7, 148.6,
    (51.0, 83.7), 837.0, (919.0, 1_042.0, 1_229.0),
)  # fmt: skip


def test_what_is_saved_comes_back():
    assert plan_of_line(plan_line(PLAN).encode()) == PLAN
    bare = replace(PLAN, at=None, tok_s=None, running=None, fraction=None, tp=None)
    assert plan_of_line(plan_line(bare).encode()) == bare
    stated = replace(PLAN, stated="64 users, 4000 in")
    assert plan_of_line(plan_line(stated).encode()) == stated


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"null", b"{}", b'{"schema":2,"model":"x"}', b'{"schema":1,"model":7}', b'{"schema":1,"model":""}', b"\xff\xfe", b"[" * 5_000, b'{"schema":1,"model":"x"' + b"9" * 100],
)  # fmt: skip
def test_a_line_that_is_none_of_ours_is_passed_over(line):
    assert plan_of_line(line) is None


def test_a_hostile_line_gives_a_harmless_plan():
    body = json.loads(plan_line(PLAN)) | {
        "model": "\x1b[2Jevil", "flags": ["x" * 10_000, 7, None] * 100, "tokens": 1e300, "running": [1, "2"], "tok_s": {"a": 1}, "tp": -4, "at": True,
    }  # fmt: skip
    found = plan_of_line(json.dumps(body).encode())
    assert "\x1b" not in found.model
    assert len(found.flags) <= 40
    assert max(map(len, found.flags)) <= 301
    assert (found.tokens, found.running, found.tok_s, found.tp, found.at) == (None, None, None, None, None)


def test_the_file_is_the_users_own(tmp_path):
    shelf = SavedPlans(tmp_path / "state")
    assert shelf.load() == ()
    place = shelf.save(PLAN)
    shelf.save(replace(PLAN, model="other"))
    file = tmp_path / "state" / "plans.jsonl"
    assert place == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [plan.model for plan in shelf.load()] == ["Kimi-K2.5", "other"]
    file.write_bytes(b"\x00garbage\n" + file.read_bytes() + b'{"half')
    assert len(shelf.load()) == 2


def test_an_older_file_that_others_may_read_is_closed_to_them(tmp_path):
    (tmp_path / "plans.jsonl").touch(mode=0o644)
    SavedPlans(tmp_path).save(PLAN)
    assert stat.S_IMODE((tmp_path / "plans.jsonl").stat().st_mode) == 0o600


def test_a_link_is_not_followed_and_a_file_in_the_way_is_a_sentence(tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep")
    (tmp_path / "plans.jsonl").symlink_to(target)
    with pytest.raises(Unreadable, match="cannot be saved"):
        SavedPlans(tmp_path).save(PLAN)
    assert target.read_text() == "keep"
    with pytest.raises(Unreadable, match="cannot be saved"):
        SavedPlans(target).save(PLAN)


def test_the_state_folder_is_the_platforms(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    SavedPlans().save(PLAN)
    assert (tmp_path / "kvtui" / "plans.jsonl").is_file()


def test_only_the_newest_are_looked_at(tmp_path):
    shelf = SavedPlans(tmp_path)
    (tmp_path / "plans.jsonl").write_bytes(
        (plan_line(PLAN).encode() + b"\n") * 30_000 + plan_line(replace(PLAN, model="last")).encode() + b"\n"
    )
    found = shelf.load()
    assert len(found) == 200
    assert found[-1].model == "last"
