"""Shell completion: what click is told to offer, and one real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete, get_completion_class
from click.testing import CliRunner

from kvtui.cli import main
from kvtui.present.terminal import PALETTES
from kvtui.staging import demo_lines, lessons

BIN = Path(sys.executable).parent


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "kvtui").mkdir()
    file = tmp_path / "kvtui" / "config.toml"
    file.write_text('[targets.prod]\nurl = "http://u:secret@gpu7:1"\n[targets.prod-old]\nlog = "a.log"\n[targets.staging]\nurl = ":2"\n')
    return file


def offered(*args):
    *before, incomplete = args
    return BashComplete(main, {}, "kvtui", "_KVTUI_COMPLETE").get_completions(before, incomplete)


def values(*args):
    return [item.value for item in offered(*args) if item.type == "plain"]


def test_the_first_word(place):
    assert {"prod", "prod-old", "staging", "report", "guide", "config"} <= set(values(""))
    assert values("pro") == ["prod", "prod-old"]
    assert values("rep") == ["report"]
    # Files are completed where no name is left.
    assert [item.type for item in offered("server")] == ["file"]


def test_options_of_the_console_come_without_its_name(place):
    assert {"--theme", "--config", "--demo", "--version"} <= set(values("--"))
    assert values("--the") == ["--theme"]


def test_targets_after_options_and_verbs(place):
    assert values("report", "st") == ["staging"]
    assert values("--no-mouse", "st") == ["staging"]
    assert values("--theme", "mono", "st") == ["staging"]


def test_values_of_options(place):
    assert set(PALETTES) <= set(values("--theme", ""))
    assert values("--theme", "li") == ["light"]
    names = {line.split()[0] for line in demo_lines()}
    assert set(values("--demo", "")) == names | {"list"}
    assert values("report", "--format", "j") == ["json"]


def test_lessons_and_shells(place):
    assert set(values("guide", "")) == {lesson.id for lesson in lessons()}
    assert set(values("completion", "")) == {"bash", "zsh", "fish"}


def test_no_secret_is_offered(place):
    assert "secret" not in str([(item.value, item.help) for item in offered("")])


@pytest.mark.parametrize("text", ["[[[", "mouse = 3", "\x00"], ids=range(3))
def test_a_broken_configuration_offers_no_targets_and_says_nothing(place, capsys, text):
    place.write_text(text)
    assert "report" in values("")
    assert "prod" not in values("")
    place.unlink()
    place.mkdir()
    assert "report" in values("")
    assert capsys.readouterr().err == ""


def test_another_configuration_is_asked(place, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text('[targets.elsewhere]\nurl = ":3"\n')
    assert values("--config", str(other), "e") == ["elsewhere"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_clicks_own(shell, monkeypatch):
    # The class for bash asks the bash that is installed for its version.
    monkeypatch.setattr(BashComplete, "_check_version", staticmethod(lambda: None))
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    own = get_completion_class(shell)(main, {}, "kvtui", "_KVTUI_COMPLETE").source()
    told = done.stdout.splitlines()
    if shell == "zsh":
        # #compdef must stay the first line; what loads completion where nothing else does comes next.
        assert "compinit" in told.pop(1)
    assert told == own.splitlines()


def test_an_unknown_shell_is_a_usage_error():
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash(place, tmp_path):
    script = """
        eval "$(kvtui completion bash)"
        complete -p kvtui
        for words in "kvtui pro" "kvtui report st" "kvtui --theme li"; do
            COMP_WORDS=($words) COMP_CWORD=$(( $(wc -w <<< "$words") - 1 )) COMPREPLY=()
            _kvtui_completion kvtui
            echo "$words: ${COMPREPLY[*]}"
        done
    """
    environ = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "_kvtui_completion kvtui" in lines[0]
    assert lines[1:] == ["kvtui pro: prod prod-old", "kvtui report st: staging", "kvtui --theme li: light"]


def environ(**more):
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **more}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_can_read_its_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = tmp_path / "script"
    script.write_bytes(subprocess.run([BIN / "kvtui", "completion", shell], capture_output=True, check=True, env=environ()).stdout)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False, env=environ(HOME=str(tmp_path)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


ZSH = r"""
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'eval "$(kvtui completion zsh)"; echo set up: re""ady, $?'
zpty -r shell seen '*ready, <->*'
print -r -- "${seen[(f)-1]}"
for typed found in "kvtui report st" staging "kvtui --theme li" light; do
    zpty -w -n shell $'\C-u'"$typed"$'\t'
    zpty -r shell seen "*$found*"
    print -r -- "$typed: $found"
done
zpty -d shell
"""
"""A zsh that nothing was set up for, at a terminal of its own, and Tab. What is typed does not hold what is waited for."""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_a_real_zsh(place, tmp_path):
    home = environ(HOME=str(tmp_path), ZDOTDIR=str(tmp_path), TERM="dumb")
    done = subprocess.run(["zsh", "-fc", ZSH], capture_output=True, text=True, check=False, env=home, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].strip().endswith("ready, 0"), lines
    assert lines[1:] == ["kvtui report st: staging", "kvtui --theme li: light"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_a_real_fish(place, tmp_path):
    script = """
        kvtui completion fish | source
        for words in "kvtui pro" "kvtui report st" "kvtui --theme li"
            echo "$words: "(complete -C "$words" | string split -f 1 \\t | string join " ")
        end
    """
    home = environ(HOME=str(tmp_path))
    done = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, check=False, env=home, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["kvtui pro: prod prod-old", "kvtui report st: staging", "kvtui --theme li: light"]
