"""The configuration file: what it sets, and every way in which it can be wrong."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.settings import DEFAULTS, Target
from kvtui.parse.settings_file import read_settings

WHOLE = """
palette = "light"
ascii = false
mouse = false
width = 100

[intervals]
metrics = 2
server_info = 120.5

[thresholds]
usage_full = 0.95

[targets.prod]
url = "http://gpu7:30000"
api_key_file = "~/key"

[targets."a.b"]
log = "server.log"

[keys]
timeline = "T"
quit = ["q", "f10"]
"""


def problems(text):
    return [(one.line, one.text) for one in read_settings(text, ("report", "plan")).problems]


def test_a_whole_file():
    read = read_settings(WHOLE)
    found = read.settings
    assert not read.problems
    assert (found.palette, found.ascii, found.mouse, found.width) == ("light", False, False, 100)
    assert (found.intervals.metrics, found.intervals.server_info, found.intervals.gpu) == (2.0, 120.5, DEFAULTS.intervals.gpu)
    assert found.thresholds.usage_full == 0.95
    assert found.targets["prod"] == Target("http://gpu7:30000", None, "~/key", None)
    assert found.targets["a.b"].opens == "server.log"
    assert found.keys == {"timeline": ("T",), "quit": ("q", "f10")}
    assert read.named >= {"palette", "intervals.metrics", "targets.prod.url", "keys.quit"}


def test_an_empty_file_changes_nothing():
    assert read_settings("").settings == DEFAULTS


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\npalete = 'x'", 2, ["“palete”", "did you mean palette?"]),
        ("[intervals]\nmetric = 2", 2, ["“intervals.metric”", "did you mean metrics?"]),
        ("[interval]\nmetrics = 2", 1, ["“interval”", "did you mean intervals?"]),
        ("usage_full = 0.9", 1, ["it belongs in [thresholds]"]),
        ("[intervals]\npalette = 'x'", 2, ["it belongs above the first [table]"]),
        ("[thresholds]\nzzz = 1", 2, ["there is cache_hit_low, dp_ratio"]),
        ("[targets.x]\nurl=':1'\napi_key = 'sk-secret'", 3, ["did you mean api_key_file?"]),
        ("mouse = 'true'", 1, ["mouse must be true or false; leave the quotes out"]),
        ("mouse = 1", 1, ["true or false"]),
        ("palette = 7", 1, ["palette must be a text in quotes"]),
        ("palette = ''", 1, ["palette must be a text in quotes"]),
        ('palette = "a\\u001b[31m"', 1, ["control character"]),
        ("width = 99.5", 1, ["a whole number, 40 to 400 columns"]),
        ("width = true", 1, ["a whole number"]),
        ("width = 4000", 1, ["width is 4000: it must be 40 to 400 columns"]),
        ("[intervals]\nmetrics = 0.5", 2, ["intervals.metrics is 0.5: it must be 1 to 5 s"]),
        ("[intervals]\nserver_info = 30", 2, ["it must be 60 to 3600 s"]),
        ("[thresholds]\nusage_full = '0.9'", 2, ["leave the quotes out", "0.5 to 0.999"]),
        ("[thresholds]\nusage_full = nan", 2, ["usage_full is nan"]),
        ("[thresholds]\nusage_full = inf", 2, ["usage_full is inf"]),
        ("[thresholds]\nusage_full = [1]", 2, ["must be a number"]),
        ("[thresholds]\npersistence_s = 1" + "0" * 800, 2, ["out of range", "15 to 600"]),
        ("intervals = 3", 1, ["intervals must be a table: a line [intervals]"]),
        ("[[targets]]\nurl=':1'", 1, ["targets must be a table"]),
        ("targets.prod = ':1'", 1, ["targets.prod must be a table"]),
        ("[targets.prod]\nmodel='x'", 1, ["targets.prod names neither a url nor a log"]),
        ("[targets.prod]\nurl='gpu7'", 2, ["no address", "http://host:port"]),
        ("[targets.report]\nurl=':1'", 1, ["report is a command"]),
        ('[targets."a b"]\nurl=":1"', 1, ["“a b” cannot be the name of a target"]),
        ('[targets."\\u001b[2J"]\nurl=":1"', 1, ["cannot be the name"]),
        ("[keys]\ntimeline = 3", 2, ["“keys.timeline” must be a key"]),
        ("[keys]\ntimeline = []", 2, ["must be a key"]),
        ("[keys]\ntimeline = ['a', 1]", 2, ["must be a key"]),
        ("a = 1\na = 2", 2, ["this is not TOML: cannot overwrite a value"]),
        ("a = [\n1,", 2, ["this is not TOML"]),
        ("a = \x00", 1, ["this is not TOML"]),
        ("x" * 2_000, 1, ["longer than 1000 characters"]),
        ("\na = " + "[" * 50, 2, ["more than 8 brackets"]),
        ("a = " + "{b=" * 50, 1, ["more than 8 brackets"]),
    ],
)
def test_each_mistake_has_its_line_and_a_way_out(text, line, words):
    told = problems(text)
    assert len(told) == 1, told
    assert told[0][0] == line
    for word in words:
        assert word in told[0][1]
    assert told[0][1].isprintable()
    assert not told[0][1].endswith(".")


def test_all_mistakes_come_at_once_and_in_order():
    told = problems("mouse = 1\n[intervals]\nmetrics = 9\n[nothing]\n[thresholds]\nfoo = 1\nusage_full = 2")
    assert [line for line, _ in told] == [1, 3, 4, 6, 7]


def test_a_file_with_a_mistake_sets_nothing():
    assert read_settings("palette = 'light'\nmouse = 1").settings == DEFAULTS


def test_no_secret_stands_in_a_mistake():
    text = 'api_key = "sk-abcdef0123456789"\n[targets.x]\nurl = "gpu?token=sk-abcdef0123456789"\nkey = "sk-abcdef0123456789"'
    assert "abcdef" not in str(problems(text))


def test_control_characters_of_a_name_are_shown():
    ((line, told),) = problems('"\\u001b[31mred\\n" = 1')
    assert line == 1
    assert told.isprintable()


def test_a_thousand_mistakes_are_found_in_no_time():
    begun = time.perf_counter()
    told = problems("\n".join(f"a{i} = {i}" for i in range(4_000)))
    assert len(told) == 4_000
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize("text", ["[" + ".".join("a" * 400) + "]\n", ".".join("b" * 400) + " = 1\n"], ids=["header", "key"])
def test_long_dotted_names_are_bounded(text):
    assert problems(text)


@given(st.text(max_size=300))
def test_any_text_gives_settings_or_mistakes(text):
    read = read_settings(text)
    assert read.problems or read.settings
    assert all(one.text.isprintable() for one in read.problems)


TOKENS = st.sampled_from(
    [
        "[intervals]\n",
        "[targets.a]\n",
        "[keys]\n",
        "[[targets]]\n",
        "metrics",
        "url",
        "timeline",
        "palette",
        " = ",
        "1",
        "2.5",
        "'x'",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "true",
        '"""',
        "#",
    ]
)


@given(st.lists(TOKENS, max_size=25).map("".join))
def test_any_toml_gives_settings_or_mistakes(text):
    read = read_settings(text)
    assert all(one.line is not None for one in read.problems)
