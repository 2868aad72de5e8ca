"""The commands that follow a log, and chunks cut into lines."""

import datetime as dt

import pytest

from kvtui.domain.process import LogTarget
from kvtui.parse.follow import LineCutter, _rfc3339, follow_command


def test_each_kind_has_its_command():
    journal = follow_command(LogTarget("journal", "sglang.service"), tail=10)
    assert journal == (
        "journalctl",
        (
            *("--no-pager", "--quiet", "--all", "--output=json", "--output-fields=MESSAGE,_LINE_BREAK"),
            *("--lines", "10", "--follow", "--unit", "sglang.service"),
        ),
    )
    assert follow_command(LogTarget("journal", "a.service", user=True))[1][-2:] == ("--user-unit", "a.service")
    assert follow_command(LogTarget("docker", "abc"), since=5.5) == ("docker", ("logs", "--follow", "--since", "5.500000", "--", "abc"))
    assert follow_command(LogTarget("kubernetes", "p", container="c"), since=86_400.9)[1] == (
        "logs",
        "--follow",
        "--since-time=1970-01-02T00:00:00Z",
        "--container=c",
        "--",
        "p",
    )
    assert follow_command(LogTarget("file", "x.log")) is None


@pytest.mark.parametrize("seconds", [0, 951_782_399, 951_782_400, 1_709_164_800, 1_735_689_599, 4_107_542_400, 1_795_971_931])
def test_stamps_are_the_calendar_s(seconds):
    wanted = dt.datetime.fromtimestamp(seconds, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert _rfc3339(seconds) == wanted


def test_lines_come_out_the_same_however_the_chunks_fall():
    text = b"one\r\ntwo\n\nfour" + b"x" * 30 + b"\nlast"
    whole = [b"one", b"two", b"", b"four" + b"x" * 30, b"last"]
    for size in range(1, len(text) + 1):
        cutter = LineCutter(limit=100)
        got = [line for at in range(0, len(text), size) for line in cutter.feed(text[at : at + size])]
        assert [*got, cutter.rest()] == whole
        assert cutter.cut == 0


def test_a_long_line_keeps_its_beginning():
    cutter = LineCutter(limit=4)
    assert cutter.feed(b"abc") == []
    assert cutter.feed(b"def\nok\n") == [b"abcd", b"ok"]
    assert cutter.cut == 1
