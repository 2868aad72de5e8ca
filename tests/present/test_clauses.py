"""Sentences that give up clauses, never half a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.present.clauses import fitted, shortened, wrapped
from kvtui.present.line import cells

TOLD = "51 run, 96 wait: the 116,171 tokens of the pool are 90% full (up to 95%), 2,060 a request; cap 2,048 not reached."


def test_clauses_go_from_the_end_and_numbers_stay_whole():
    assert shortened(TOLD)[:3] == (
        TOLD,
        "51 run, 96 wait: the 116,171 tokens of the pool are 90% full (up to 95%), 2,060 a request.",
        "51 run, 96 wait: the 116,171 tokens of the pool are 90% full (up to 95%).",
    )


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("A prompt of 26,500 tokens (84% of the pool) waits at the head.", "A prompt of 26,500 tokens."),
        ("It is slow, but it works.", "It is slow."),
        ("If the pool is full: raise it.", "If the pool is full."),
        ("A bracket (one, two) here.", "A bracket (one."),
    ],
)
def test_what_would_say_something_else_is_not_cut_off(text, never):
    assert never not in shortened(text)


def test_nothing_where_not_even_the_first_clause_fits():
    assert fitted("a sentence without any clause in it", 10, 2) == ()
    assert fitted(TOLD, 20, 1) == ("51 run, 96 wait.",)


@given(st.text(st.characters(categories=["L", "N"], include_characters=" ,.;:()"), max_size=200), st.integers(1, 90), st.integers(0, 60))
def test_no_line_is_wider_unless_a_word_is(text, width, begin):
    lines = wrapped(" ".join(text.split()), width, begin=begin)
    longest = max((cells(word) for word in text.split()), default=0)
    assert all(len(line) <= max(width, longest) for line in lines)
    assert " ".join(line for line in lines if line).split() == text.split()
