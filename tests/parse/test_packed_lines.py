"""Raw lines that wait: in order, whole, and let go of a piece at a time."""

import pytest

from kvtui.parse.packed_lines import PIECE, PackedLines

LINES = [(number, b"line %d \r\n" % number if number % 7 else b"") for number in range(1, 3 * PIECE + 50)]


def filled(step=700):
    lines = PackedLines()
    for start in range(0, len(LINES), step):
        lines.extend(LINES[start : start + step])
    return lines


@pytest.mark.parametrize("step", [1, 999, 1_000, 1_001, 10_000])
def test_what_was_put_in_comes_out_in_order(step):
    lines = filled(step)
    assert len(lines) == len(LINES)
    assert list(lines) == LINES
    assert lines.newest == LINES[-1]
    assert [line for piece in lines.take_all() for line in piece] == LINES
    assert len(lines) == 0
    assert lines.newest is None


def test_the_newest_can_be_changed_and_the_oldest_go_first():
    lines = filled()
    lines.change_newest((LINES[-1][0], b"wrapped and joined"))
    taken = [line for piece in lines.take(2 * PIECE + 10) for line in piece]
    assert taken == LINES[: 2 * PIECE]
    assert list(lines) == [*LINES[2 * PIECE : -1], (LINES[-1][0], b"wrapped and joined")]
    assert list(lines.take(PIECE - 1)) == []


def test_those_that_are_not_wanted_are_let_go_of_and_counted():
    lines = filled()
    assert lines.keep(lambda number: number % 3 == 0) == sum(number % 3 != 0 for number, _ in LINES)
    assert list(lines) == [line for line in LINES if line[0] % 3 == 0]
    assert lines.keep(lambda _: True) == 0


def test_many_lines_are_few_objects():
    lines = filled()
    assert len(lines._pieces) == len(LINES) // PIECE
    assert len(lines._loose) <= PIECE
