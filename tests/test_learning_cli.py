import pytest
from click.testing import CliRunner

from kvtui.cli import main
from kvtui.domain.process import Discovery
from kvtui.present.found import nothing_found
from kvtui.staging import demo_lines, lessons


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_demos_and_lessons_are_listed():
    demos = CliRunner().invoke(main, ["--demo", "list"])
    assert demos.exit_code == 0
    names = [line.split()[0] for line in demos.output.splitlines()]
    assert names[0] == "founding-kimi"
    assert len(names) >= 12
    listed = CliRunner().invoke(main, ["guide", "--list"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()] == [lesson.id for lesson in lessons()]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["guide", "nothing"], "There is no lesson 'nothing'"),
        (["guide", "9"], "There is no lesson '9'"),
        (["guide", "1"], "needs a terminal"),
        (["guide", "L1"], "needs a terminal"),
        (["--demo"], "needs a terminal"),
        (["--demo", "kv-full", "server.log"], "leave TARGET out"),
        (["--demo", "kv-full", "--speed", "600"], "600"),
    ],
)
def test_a_wrong_use_is_a_sentence(args, words):
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output


def test_who_finds_no_server_is_told_of_both():
    told = nothing_found(Discovery(servers=(), looked_for=()))
    assert "kvtui guide" in told
    assert "kvtui --demo" in told
    assert demo_lines()
