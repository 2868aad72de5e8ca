"""A page like the one before: only its numbers are read, and it comes to the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_pages import body, load, series

from kvtui.parse import page_lines
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.page_lines import PageLines

UNWANTED = series("eviction_duration_seconds_bucket", 3, le="1")
PLAIN = ["# HELP sglang:x y", "# TYPE sglang:x gauge", "python_gc_total 1.0", UNWANTED, series("num_running_reqs", 4.0)]


def page(running=4.0, **more):
    return body([*PLAIN, *(line for dp in range(4) for line in load(dp=dp, tp=dp, running=running, **more))])


@pytest.fixture
def whole(monkeypatch):
    """Pages that were read line by line."""
    read = []

    def wanted(text, **more):
        read.append(text)
        return wanted_lines(text, **more)

    monkeypatch.setattr(page_lines, "wanted_lines", wanted)
    return read


def test_a_second_page_is_read_at_a_glance(whole):
    lines = PageLines()
    pages = [page(running=float(number), used=number * 1e6) for number in range(5)]
    assert [lines.read(text) for text in pages] == [wanted_lines(text) for text in pages]
    assert whole == pages[:1]


def test_series_of_the_page_before_are_used_again():
    lines = PageLines()
    first, second = lines.read(page()), lines.read(page(running=5.0))
    assert all(one is other for (one, _), (other, _) in zip(first.samples, second.samples, strict=True))


PAGE = page()
OTHERS = {
    "a new series": PAGE + b"sglang:token_usage 0.5\n",
    "a series less": PAGE.replace(PAGE.splitlines()[-1] + b"\n", b""),
    "another order": body([line.decode() for line in PAGE.splitlines()[::-1]]),
    "another label": PAGE.replace(b'dp_rank="3"', b'dp_rank="9"'),
    "a wanted line in an unwanted one's place": PAGE.replace(b"eviction_duration_seconds_bucket", b"num_queue_reqs"),
    "a wanted line in a comment's place": PAGE.replace(b"# HELP sglang:x y", b"sglang:token_usage 0.25"),
    "a wanted line in another program's place": PAGE.replace(b"python_gc_total 1.0", b"sglang:token_usage 0.25"),
    "a name that goes on": PAGE.replace(b"sglang:num_running_reqs 4.0", b"sglang:num_running_reqs_of_nobody 4.0"),
    "a time stamp": PAGE.replace(b" 100.0\n", b" 100.0 1700000000\n", 1),
    "no number": PAGE.replace(b" 100.0\n", b" NaN\n", 1),
    "a word": PAGE.replace(b" 100.0\n", b" many\n", 1),
    "no value": PAGE.replace(b" 100.0\n", b"\n", 1),
    "a number with an underscore": PAGE.replace(b" 100.0\n", b" 1_00.0\n", 1),
    "a number that is too long": PAGE.replace(b" 100.0\n", b" 1" + b"0" * 60 + b"\n", 1),
    "a value without a space": PAGE.replace(b"} 100.0\n", b"}100.0\n", 1),
    "a blank line": PAGE.replace(b"\n", b"\n\n", 1),
    "a torn end": PAGE[:-3],
    "a torn end in a number": PAGE[:-2],
    "no end of the last line": PAGE[:-1],
    "returns": PAGE.replace(b"\n", b"\r\n"),
    "nothing": b"",
    "a web page": b"<!doctype html><html>",
    "another server's": b"vllm:num_requests_running 1.0\n",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("cut", [False, True])
def test_a_page_that_differs_comes_to_what_it_says(name, cut):
    lines = PageLines()
    lines.read(PAGE)
    assert repr(lines.read(OTHERS[name], cut=cut)) == repr(wanted_lines(OTHERS[name], cut=cut))
    # And so does the one behind it.
    assert lines.read(PAGE) == wanted_lines(PAGE)
    assert repr(lines.read(OTHERS[name])) == repr(wanted_lines(OTHERS[name]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PAGE)), st.integers(0, len(PAGE)), st.binary(max_size=12)), min_size=1, max_size=4))
def test_whatever_a_page_becomes(edits):
    lines = PageLines()
    for first, second, put in edits:
        low, high = sorted((first, second))
        text = PAGE[:low] + put + PAGE[min(high, low + 30) :]
        assert repr(lines.read(text)) == repr(wanted_lines(text))
        assert repr(lines.read(text)) == repr(wanted_lines(text))
