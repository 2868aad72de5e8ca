"""Lines of keys, against the standard reader: it finds a key in the text from its line on, and not after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.parse.toml_lines import line_of, lines_of, loads, statements

TEXT = '''# a comment with = and [brackets]
palette = "x" # [not]
"q#[" = 1
 [ targets . "a.b" ] # x = 1
url = """
[not]
key = 1 "" \\""" """
arr = [ # c ]
 1, "]",
 2]
in = {a = 1, b = [1]}

[[x]]
y.z = 'a[\\'
w = \'\'\'
[no]\'\'\'
'''


def test_every_kind_of_statement():
    assert dict(lines_of(TEXT)) == {
        ("palette",): 2,
        ("q#[",): 3,
        ("targets",): 4,
        ("targets", "a.b"): 4,
        ("targets", "a.b", "url"): 5,
        ("targets", "a.b", "arr"): 8,
        ("targets", "a.b", "in"): 11,
        ("x",): 13,
        ("x", "y"): 14,
        ("x", "y", "z"): 14,
        ("x", "w"): 15,
    }
    assert loads(TEXT)


def test_what_has_no_line_of_its_own_has_that_of_what_holds_it():
    lines = lines_of(TEXT)
    assert line_of(lines, "targets", "a.b", "in", "b") == 11
    assert line_of(lines, "nothing") is None


NAMES = st.text(alphabet='abc-_0 #="[]é', min_size=1, max_size=6)
VALUES = st.sampled_from(
    [
        "1",
        "true",
        '"a = [1] # b"',
        "'#['",
        '"""\n x = 1\n[no]\n"""',
        "'''\n\"\"\" [\n'''",
        "[\n 1, # ] \n '[',\n]",
        "{ a = 1, b = [2] }",
        '"\\""',
    ]
)


@given(st.lists(st.tuples(st.booleans(), NAMES, VALUES), max_size=12, unique_by=lambda row: row[1]))
def test_lines_are_those_of_a_text_made_line_by_line(rows):
    text, expected, table = "", {}, ()
    for is_table, name, value in rows:
        quoted = '"' + name.replace('"', '\\"') + '"'
        text += "# comment\n\n"
        line = text.count("\n") + 1
        if is_table:
            table = (name,)
            text += f"[{quoted}] # x\n"
            expected[table] = line
        else:
            text += f"  {quoted}={value}\n"
            expected[(*table, name)] = line
    loads(text)
    assert dict(lines_of(text)) == expected


@given(st.text(alphabet="[]{}\"'#\n\\= a", max_size=80))
def test_what_is_no_toml_is_cut_all_the_same(text):
    found = list(statements(text))
    assert all(1 <= one.line <= text.count("\n") + 1 for one in found)


@pytest.mark.parametrize("text", ['"""' * 20_000, "'" * 60_000, "[" * 60_000, '"\\' * 30_000, "a = '''" + "x\n" * 20_000], ids=range(5))
def test_hostile_text_takes_no_time(text):
    assert len(list(statements(text))) < 60_000
