"""Carriage returns: line ends of their own, progress bars, halves of a line end."""

import pytest

from kvtui.parse.carriage import FEW, lines_of, settled, without_bars

BAR = b"Loading safetensors checkpoint shards: %3d%% Completed | 1/4 [00:00<00:01,  2.11it/s]"
LINE = b"[2026-03-18 09:05:10 TP0] Decode batch, #running-req: 4"


def bars(count):
    return b"\r".join(BAR % n for n in range(count))


def test_bars_go_and_the_last_state_stays():
    assert without_bars(bars(50)) == BAR % 49
    assert lines_of(bars(500) + b"\r" + LINE + b"\r") == [LINE + b"\r"]


def test_a_record_written_into_a_bar_stays():
    assert LINE in without_bars(BAR % 1 + LINE + b"\r" + BAR % 2)


@pytest.mark.parametrize("line", [LINE, LINE + b"\r", LINE + b"\r" + LINE, b""])
def test_ordinary_lines_keep_their_number(line):
    assert lines_of(line) == [line]


def test_carriage_returns_alone_end_lines():
    assert lines_of(b"\r".join([LINE] * 40)) == [LINE] * 40


@pytest.mark.parametrize("size", [1, 7, 64, 5_000])
def test_the_pieces_in_which_it_comes_do_not_matter(size):
    text, got, rest = b"\r".join([LINE, b"other"] * 40) + b"\r", [], b""
    for at in range(0, len(text), size):
        more, rest = settled(rest + text[at : at + size])
        got += more
    assert [*got, *rest.rstrip(b"\r").split(b"\r")] == [LINE, b"other"] * 40
    assert rest.count(b"\r") <= FEW + 1


def test_a_bar_that_is_drawn_for_hours_stays_small():
    rest = b""
    for number in range(5_000):
        lines, rest = settled(rest + BAR % (number % 100) + b"\r")
        assert not lines
    assert len(rest) < 2_000
