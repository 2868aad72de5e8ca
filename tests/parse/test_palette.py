"""A palette file: what it sets, or everything that is wrong with it, with lines and the nearest right names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.parse.palette import Palette, read_palette

KNOWN = ("dark", "light")


def read(text):
    return read_palette(text, KNOWN, lambda colour: None if colour.startswith("#") else "no hint")


def test_a_palette_names_only_what_it_changes():
    read_ = read('extends = "light"\nabout = "mine"\n[meaning]\nkv-weights = "#123456"\n')
    assert read_ == Palette("mine", "light", None, None, {}, {"kv-weights": "#123456"})


def test_an_empty_file_changes_nothing():
    assert read("") == Palette()


def test_everything_wrong_is_told_at_once_in_the_files_order():
    told = read(
        'extends = "drak"\nabuot = "x"\ndark = "yes"\n[base]\nprimry = "#fff"\nkv-weights = "#fff"\nforeground = 3\n'
        '[meaning]\n"kv-wieghts" = "#fff"\nkv-graphs = "greeen"\ninput-cursor-text-style = "blinky"\n'
    )
    assert told.problems == (
        "line 1: extends names no palette “drak”; did you mean dark?",
        "line 2: unknown name “abuot”; did you mean about?",
        "line 3: dark must be true or false",
        "line 5: unknown name “primry” in [base]; did you mean primary?",
        "line 6: unknown name “kv-weights” in [base]; it belongs in [meaning]",
        'line 7: foreground must be a colour in quotes, such as "#58c48f"',
        "line 9: unknown name “kv-wieghts” in [meaning]; did you mean kv-weights?",
        "line 10: kv-graphs is “greeen”, which is no colour: no hint",
        "line 11: input-cursor-text-style is “blinky”: it can be bold, none, reverse, underline",
    )
    assert told.meaning == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("base = 3", "line 1: base must be a table: a line [base], then one name = colour a line"),
        ("extends = 3", 'line 1: extends must be a text, such as "dark"'),
        ("base.primry = '#fff'", "line 1: unknown name “primry” in [base]; did you mean primary?"),
        ('a = "', "it is not valid TOML"),
        ("[[base]]\nprimary = 1", "base must be a table"),
    ],
)
def test_one_mistake(text, problem):
    (told,) = read(text).problems
    assert problem in told


def test_a_mistake_of_toml_has_its_place():
    assert "line 2" in read("dark = true\n= 3").problems[0]


def test_a_value_cannot_reach_beyond_its_colour():
    assert read('[meaning]\nframe = "red; } Screen { display: none"\n').problems
    assert read('[meaning]\ninput-cursor-text-style = "none; color: red"\n').problems


@given(st.text(max_size=300))
def test_no_text_breaks_it(text):
    read(text)


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=4))
def test_no_name_breaks_it(names):
    lines = "\n".join(f'{name!r} = "x"' for name in names if "'" not in name and name.isprintable() and "\\" not in name)
    for problem in read(f"[base]\n{lines}").problems:
        assert problem.isprintable()
