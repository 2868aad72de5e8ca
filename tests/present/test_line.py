import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.present import line
from kvtui.present.line import Span, between, cells, clean, clip, clip_line, line_cells, pad, pad_left, plain, wrap


def test_clean_leaves_nothing_a_terminal_would_act_on():
    assert clean("a\x1b[2Jb\u202ec\x07d\ne\udc80") == "a�[2Jb�c�d e�"


def test_clean_bounds_its_work():
    assert clean("x" * 10_000_000, 10) == "x" * 10 + "…"


def test_wide_characters_count_two_and_marks_none():
    assert cells("日本") == 4
    assert cells("e\u0301") == 1


def test_numbers_that_change_each_second_are_not_kept():
    cells("│")
    before = line._wide_cells.cache_info().currsize
    assert sum(cells(f"{number:,} tok/s") for number in range(2_000)) > 2_000
    assert line._wide_cells.cache_info().currsize == before


@given(st.text(), st.integers(0, 40))
def test_clip_pad_and_lines_never_exceed_the_width(text, width):
    safe = clean(text)
    assert cells(clip(safe, width)) <= width
    assert cells(pad(safe, width)) == width
    assert cells(pad_left(safe, width)) == width
    assert line_cells(clip_line((Span(safe), Span(safe)), width)) <= width
    assert line_cells(between((Span(safe),), (Span("end"),), width)) <= width


@given(st.text(), st.integers(1, 40))
def test_wrap_keeps_every_word_within_the_width(text, width):
    safe = clean(text)
    lines = wrap(safe, width)
    if width >= 2:
        assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == safe.replace(" ", "")


def test_wrap_does_not_break_a_number_from_its_unit():
    assert wrap("grows by 99\u00a0% today", 12) == ("grows by", "99\u00a0% today")


@pytest.mark.parametrize("width", [10, 20, 30])
def test_the_right_end_stays_where_the_left_gives_way(width):
    shown = plain(between((Span("a long left side"),), (Span("R"),), width))
    assert shown.endswith("R")
    assert cells(shown) == width
