import pytest

from kvtui.options.stated import Stated
from kvtui.options.stated_text import parse_stated, read_stated, stated_text


@pytest.mark.parametrize(
    ("typed", "stated"),
    [
        ("64 users, 4k in, 500 out", Stated(64, 4_000, 500)),
        ("  64 USERS ; 4,000 in and 0.5k out", Stated(64, 4_000, 500)),
        ("prompt 1200, answer 1.5k, 8 clients", Stated(8, 1_200, 1_500)),
        ("900 tok/s", Stated(target_tok_s=900)),
        ("wait 10 s", Stated(target_wait_s=10)),
        ("200 users, 10 s wait", Stated(users=200, target_wait_s=10)),
        ("1m tokens in", Stated(prompt=1e6)),
    ],
)
def test_what_is_typed(typed, stated):
    assert parse_stated(typed) == stated
    assert parse_stated(stated_text(stated)) == stated


@pytest.mark.parametrize(
    "typed", ["", ",,", "64", "users", "0 users", "-4 users", "nan users", "1e9 in", "99999999 users", "64 users, 3 users", "64 bananas", "x" * 10_000, "[red]1[/] users", "1\x1b[2J users"],
)  # fmt: skip
def test_what_is_not_understood_gets_a_sentence(typed):
    found = parse_stated(typed)
    assert isinstance(found, str)
    assert len(found) < 160
    with pytest.raises(ValueError, match="The load"):
        read_stated(typed)


def test_nothing_typed_is_no_load():
    assert read_stated(None) is None
