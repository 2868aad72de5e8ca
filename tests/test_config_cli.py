"""``kvtui config`` and a configuration's way into the other verbs, as a user meets them."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from reading import LOGS

from kvtui.cli import main
from kvtui.domain.frame import EMPTY_FRAME
from kvtui.domain.process import Discovery
from kvtui.domain.settings import DEFAULTS, Settings, Thresholds
from kvtui.sources.errors import Unreadable
from kvtui.staging import open_demo
from kvtui.wiring import Request, open_feed, read_once

LOG = LOGS / "founding_a.log"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "kvtui").mkdir()
    return tmp_path / "kvtui" / "config.toml"


def run(*args, env=None):
    return CliRunner().invoke(main, [str(arg) for arg in args], env=env)


def origin(output, name):
    return next(line.rpartition("# ")[2] for line in output.splitlines() if re.match(rf"#?{name}\b", line))


def test_without_a_file_all_is_as_delivered(place):
    done = run("config")
    assert done.exit_code == 0
    assert "there is no such file" in done.stdout
    assert origin(done.stdout, "metrics") == "default"
    assert run("config", "--path").stdout.strip() == str(place)


def test_each_origin_is_named(place):
    place.write_text('palette = "light"\nmouse = false\n[intervals]\nmetrics = 2\n')
    done = run("config")
    assert (origin(done.stdout, "palette"), origin(done.stdout, "metrics")) == ("line 1", "line 4")
    done = run("config", env={"KVTUI_THEME": "mono", "KVTUI_MOUSE": "1"})
    assert 'palette = "mono"' in done.stdout
    assert (origin(done.stdout, "palette"), origin(done.stdout, "mouse")) == ("KVTUI_THEME", "KVTUI_MOUSE")
    done = run("config", "--theme", "dark", "--no-mouse", env={"KVTUI_THEME": "mono", "KVTUI_MOUSE": "1"})
    assert 'palette = "dark"' in done.stdout
    assert (origin(done.stdout, "palette"), origin(done.stdout, "mouse")) == ("--theme", "--no-mouse")


def test_another_place(place, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text("mouse = false\n")
    assert origin(run("config", "--config", other).stdout, "mouse") == "line 1"
    assert origin(run("config", env={"KVTUI_CONFIG": str(other)}).stdout, "mouse") == "line 1"
    assert run("config", "--path", env={"KVTUI_CONFIG": str(other)}).stdout.strip() == str(other)
    third = tmp_path / "third.toml"
    third.write_text("\nmouse = true")
    assert origin(run("config", "--config", third, env={"KVTUI_CONFIG": str(other)}).stdout, "mouse") == "line 2"
    assert "no such file" not in run("config", env={"KVTUI_CONFIG": os.devnull}).stdout


def test_the_example_is_taken_as_it_is(place):
    text = run("config", "--example").stdout
    place.write_text(text)
    done = run("config")
    assert done.exit_code == 0
    assert all(line.endswith("# default") or "# default: " in line for line in done.stdout.splitlines() if "= " in line)


EVERY_MISTAKE = 'palete = "x"\nmouse = 3\n[intervals]\nserver_info = 5\n'


@pytest.mark.parametrize("verb", [["config"], ["report", str(LOG)], [str(LOG)], ["--demo", "kv-full"], ["guide", "1"]], ids=" ".join)
def test_no_verb_starts_with_a_broken_file(place, verb, monkeypatch):
    monkeypatch.setattr("kvtui.verbs.console.has_screen", lambda: True)
    monkeypatch.setattr("kvtui.verbs.guide.needs_terminal", lambda _what: None)
    place.write_text(EVERY_MISTAKE)
    done = run(*verb)
    assert done.exit_code == 2
    assert not done.stdout
    lines = done.stderr.splitlines()
    assert lines[0].endswith("config.toml: 3 mistakes")
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["line 1", "line 2", "line 4"]
    assert lines[1].endswith("did you mean palette?")
    assert lines[2].endswith("true or false.")


def test_one_mistake_is_one_sentence(place):
    place.write_text("\nmouse = 3\n")
    done = run("config")
    assert done.exit_code == 2
    assert re.fullmatch(r"kvtui: \S+config\.toml, line 2: mouse must be true or false\.\n", done.stderr)


@pytest.mark.parametrize(
    ("text", "env", "words"),
    [
        ('\npalette = "lihgt"', {}, ["line 2", "“lihgt”", "light"]),
        ("", {"KVTUI_THEME": "lihgt"}, ["kvtui: KVTUI_THEME", "light"]),
        ("", {"KVTUI_MOUSE": "maybe"}, ["kvtui: KVTUI_MOUSE is “maybe”"]),
        ('[keys]\n\ntimeline = "l"', {}, ["line 3", "l is the key of log"]),
        ('[keys]\n\n\ntimeline = "q"', {}, ["line 4", "keys.timeline", "q is the key of quit"]),
        ('[keys]\nsearch-type = "ctrl+q"', {}, ["line 2", "keys.search-type", "^q is the key of quit-typing"]),
        ('[keys]\ntimlin = "x"', {}, ["line 2", "did you mean timeline?"]),
        ('[keys]\ntimeline = "esc"', {}, ["line 2", "did you mean escape?"]),
        ('[targets.config]\nurl = ":1"', {}, ["line 1", "config is a command"]),
        ('[targets.completion]\nurl = ":1"', {}, ["completion is a command"]),
        ("", {"KVTUI_CONFIG": "/nonexistent/c.toml"}, ["/nonexistent/c.toml does not exist"]),
    ],
)
@pytest.mark.parametrize("verb", [["config"], ["report", str(LOG)]], ids=["config", "report"])
def test_palette_keys_and_names_are_judged_too(place, text, env, words, verb):
    place.write_text(text)
    done = run(*verb, env=env)
    assert done.exit_code == 2
    assert not done.stdout
    for word in words:
        assert word in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x00\xff" * 100, "is not UTF-8 text"),
        (b"a" * (10 << 20), "is larger than 64 KiB"),
        (b"a = " + b"[" * 900, "brackets"),
        (b'"\\u001b[31m\\u0007" = 1\n', "\\x1b"),
    ],
    ids=["binary", "large", "deep", "control"],
)
def test_hostile_files_are_one_safe_sentence(place, data, words):
    place.write_bytes(data)
    begun = time.perf_counter()
    done = run("config")
    assert time.perf_counter() - begun < 20
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.rstrip("\n").isprintable()


def test_what_only_a_screen_knows_is_told_with_the_rest(place):
    place.write_text('palette = "lihgt"\nmouse = 3\n[keys]\ntimeline = "esc"\n')
    told = run("config").stderr
    lines = told.splitlines()
    assert lines[0].endswith("3 mistakes")
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["line 1", "line 2", "line 4"]
    assert run("report", LOG).stderr == told


def test_many_mistakes_are_counted(place):
    place.write_text("".join(f"a{i} = 1\n" for i in range(50)))
    done = run("config")
    assert "50 mistakes" in done.stderr
    assert "… and 30 more." in done.stderr
    assert done.stderr.count("\n") == 22


# -- what the settings do -----------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The request that a report would be made of."""
    seen = []

    def read_once(request):
        seen.append(request)
        raise Unreadable("enough")

    monkeypatch.setattr("kvtui.wiring.read_once", read_once)
    return seen


def test_a_target_is_opened_by_its_name(place, asked):
    (place.parent / "key").write_text("sk-123\n")
    place.write_text(
        '[targets.prod]\nurl = "http://gpu7:30000"\nlog = "logs/a.log"\napi_key_file = "key"\nmodel = "/m/config.json"\n'
        '[targets.old]\nlog = "~/b.log"\n[intervals]\nmetrics = 3\n[thresholds]\ndp_ratio = 2\n'
    )
    run("report", "prod")
    run("report", "old")
    prod, old = asked
    assert (prod.target, prod.log, str(prod.model), prod.api_key) == (
        "http://gpu7:30000",
        str(place.parent / "logs/a.log"),
        "/m/config.json",
        "sk-123",
    )
    assert (prod.settings.intervals.metrics, prod.settings.thresholds.dp_ratio) == (3, 2)
    assert (old.target, old.log) == (str(Path("~/b.log").expanduser()), None)


def test_the_command_line_goes_before_the_target(place, asked, tmp_path):
    mine = tmp_path / "mine.log"
    mine.write_text("")
    place.write_text('[targets.prod]\nurl = ":1"\nlog = "a.log"\n[targets.old]\nlog = "b.log"\n')
    run("report", "prod", "--log", mine)
    run("report", "old", "--log", mine)
    assert (asked[0].target, asked[0].log) == (":1", str(mine))
    assert (asked[1].target, asked[1].log) == (str(mine), None)


def test_a_path_names_the_file_beside_a_target_of_its_name(place, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prod").write_text("")
    place.write_text('[targets.prod]\nurl = ":1"\n')
    run("report", "prod")
    run("report", "./prod")
    assert [request.target for request in asked] == [":1", "./prod"]


def test_a_mistyped_target_is_asked_back(place):
    place.write_text('[targets.production]\nurl = ":1"\n')
    done = run("report", "produktion")
    assert done.exit_code == 3
    assert "neither a target nor a file “produktion”; did you mean production?" in done.stderr


def test_the_width_of_a_report(place):
    narrow, wide = run("report", LOG, "--width", 60).stdout, run("report", LOG, "--width", 100).stdout
    assert narrow != wide
    place.write_text("width = 60\n")
    assert run("report", LOG).stdout == narrow
    assert run("report", LOG, "--width", 100).stdout == wide


def test_thresholds_reach_what_judges():
    moved = Settings(thresholds=Thresholds(dp_ratio=2.0, persistence_s=60.0))
    request = Request(str(LOG), settings=moved)
    assert read_once(request).thresholds == moved.thresholds
    feed = open_feed(request)
    assert feed._hold_s == 60.0
    assert feed._analyse(EMPTY_FRAME).thresholds == moved.thresholds
    assert open_demo(None, moved)._hold_s == 60.0


def test_a_report_needs_no_screen_for_a_configuration(place):
    place.write_text('palette = "light"\n[keys]\ntimeline = "T"\n')
    probe = (
        "import sys; from click.testing import CliRunner; from kvtui.cli import main; "
        f"done = CliRunner().invoke(main, ['report', {str(LOG)!r}]); "
        "print(done.exit_code, sorted(m for m in sys.modules if m.split('.')[0] in {'textual', 'rich'}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 []"


def test_without_a_file_nothing_is_parsed(place):
    probe = (
        "import sys, click; from pathlib import Path; from kvtui.verbs.configured import configured; "
        "print(configured(None).settings.mouse, [m for m in ('tomllib', 'difflib', 'textual') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"


def test_the_console_takes_palette_mouse_signs_and_keys(place, monkeypatch):
    """What the app is given."""
    taken = []
    monkeypatch.setattr("kvtui.verbs.console.has_screen", lambda: True)
    monkeypatch.setattr("kvtui.app.run_console", lambda _feed, settings, **more: taken.append((settings, more["target"])) or 0)
    monkeypatch.setattr("kvtui.sources.discovery.discover", lambda: Discovery((), ()))
    place.write_text(f'palette = "light"\nmouse = false\nascii = true\n[keys]\ntimeline = "T"\n[targets.a]\nlog = "{LOG}"\n')
    assert run("a").exit_code == 0
    assert run(LOG, "--theme", "mono").exit_code == 0
    (first, called), (second, _) = taken
    assert (first.palette, first.mouse, first.ascii, first.keys) == ("light", False, True, {"timeline": ("T",)})
    assert called == "a · founding_a.log"
    assert second.palette == "mono"
    assert second.targets != DEFAULTS.targets
