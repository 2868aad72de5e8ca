"""Signs in ASCII, each as wide as it was."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import kvtui
from kvtui.present.line import cells
from kvtui.present.plain_ascii import TABLE, to_ascii


def test_signs_stay_apart_where_they_mean_different_things():
    assert to_ascii("✖ kv") == "x kv"
    assert len({to_ascii(fill) for fill in "≡█▓░▞▚▒:x?·"}) == 11
    assert len({to_ascii(sign) for sign in "✓▲✖◌"}) == 4
    assert to_ascii("⣀⡇⣿ ") == ".:* "
    assert to_ascii("╭─╮") == "+-+"


def test_no_sign_of_the_product_becomes_a_question_mark():
    sources = Path(kvtui.__file__).parent.rglob("*.py")
    signs = {char for path in sources for char in path.read_text(encoding="utf-8") if not char.isascii()} - {"\N{REPLACEMENT CHARACTER}"}
    assert not [char for char in signs if to_ascii(char) == "?"]


def test_every_entry_is_one_printable_character():
    assert all(len(plain) == 1 and plain.isascii() and plain.isprintable() for plain in TABLE.values())


@given(st.text())
def test_any_text_becomes_ascii_of_the_same_width(text):
    plain = to_ascii(text)
    assert plain.isascii()
    printable = "".join(c for c in text if c.isprintable())
    assert len(to_ascii(printable)) == cells(printable)
