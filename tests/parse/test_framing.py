from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parse.logs import BOOT, WRAPS, read

from kvtui.domain.rank import MAIN, Rank
from kvtui.parse.framing import Framer
from kvtui.parse.stamps import Midnights


def one(text: str):
    records = Framer().records(text, 1)
    assert len(records) == 1
    return records[0]


@pytest.mark.parametrize(
    ("text", "at", "rank", "message"),
    [
        ("[1970-01-02 00:00:01 TP3] hello", 86401.0, Rank(tp=3), "hello"),
        ("[1970-01-02 00:00:01.250] hello", 86401.25, MAIN, "hello"),
        ("[1970-01-02 00:00:01 DP1 PP2 ATTN_CP3 MOE_DP4 TP5 EP6] x", 86401.0, Rank(1, 2, 5, 6, 3, 4), "x"),
        ("[TP0] x", None, Rank(tp=0), "x"),
        ("[gpu=3] x", None, Rank(tp=3), "x"),
        ("[00:00:05 TP0] x", 5.0, Rank(tp=0), "x"),
        ("[HH:MM:SS] x", None, MAIN, "x"),
        ("1970-01-02 00:00:01 TP0] x", 86401.0, Rank(tp=0), "x"),
        ("1970-01-02 00:00:01 TP0 x", 86401.0, Rank(tp=0), "x"),
        ("1970-01-01T23:59:59Z  INFO sglang.srt.model_runner: x y", 86399.0, MAIN, "x y"),
        ("1970-01-02T01:00:00+01:00 stderr F x", 86400.0, MAIN, "x"),
        ("WARNING:sglang.srt.server_args:x", None, MAIN, "x"),
        ("[1970-01-02 00:00:01] WARNING server_args.py:1841: x", 86401.0, MAIN, "x"),
        ("[1970-13-02 00:00:01] x", None, MAIN, "x"),
        ("no prefix at all", None, MAIN, "no prefix at all"),
    ],
)
def test_prefixes(text, at, rank, message):
    framed = one(text)
    assert (framed.at, framed.rank, framed.message) == (at, rank, message)


def test_a_time_of_day_that_goes_back_is_a_midnight():
    midnights = Midnights()
    for line, seconds in enumerate((86_000.0, 86_390.0, 5.0, 4.0, 80_000.0, 1.0), 1):
        midnights.note(line, seconds)
    assert [midnights.at(line, 0.0) // 86_400 for line in range(1, 7)] == [0, 0, 1, 1, 1, 2]


def test_a_container_clock_is_shifted_to_the_clock_of_the_log():
    framer = Framer()
    framer.records("2026-03-18T01:00:00Z [2026-03-18 09:00:00] x", 1)
    plain = framer.records("2026-03-18T01:00:10Z Traceback", 2)[0]
    assert plain.at == one("[2026-03-18 09:00:10] x").at


def test_glued_records_are_two():
    records = Framer().records("a[2026-03-18 09:00:00 TP0] b[2026-03-18 09:00:01 TP1] c", 4)
    assert [(r.message, r.rank.tp, r.line) for r in records] == [("a", None, 4), ("b", 0, 4), ("c", 1, 4)]


@pytest.mark.parametrize("wrap", WRAPS)
def test_every_wrapping_gives_the_same_start(wrap):
    plain, wrapped = read(BOOT), read(WRAPS[wrap](BOOT))
    assert len(wrapped.boots) == 1
    expected, got = plain.boots[0], wrapped.boots[0]
    assert got.ranks[0].final is not None
    assert {n: s.value for n, s in got.settings.items()} == {n: s.value for n, s in expected.settings.items()}
    for before, after in zip(expected.ranks, got.ranks, strict=True):
        assert before.rank == after.rank
        assert [(x.type, x.draft) for x in before.loads] == [(x.type, x.draft) for x in after.loads]
        assert [(x.tokens, x.size_gib, x.draft) for x in before.pools] == [(x.tokens, x.size_gib, x.draft) for x in after.pools]
    assert (wrapped.counts.prefill_lines, wrapped.counts.decode_lines, len(wrapped.timelines[0])) == (1, 1, 2)
    assert wrapped.counts.memory_lines == plain.counts.memory_lines
    assert wrapped.timelines[0].value("running", 1) == 4
    if wrap not in {"journald", "cat -n"}:
        assert wrapped.now == plain.now


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_framed(text):
    for framed in Framer().records(text, 1):
        assert framed.line == 1


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                '{"log":"',
                "[2026-03-18 09:00:00",
                " TP0",
                "] ",
                "\\n",
                '"}',
                "\x1b[2m",
                "| ",
                "Z stderr P ",
                "2026-03-18T01:00:00",
                "9" * 30,
                "TP",
                "HH:MM:SS",
            ]
        ),
        max_size=12,
    )
)
def test_any_mixture_of_prefixes_is_framed(parts):
    Framer().records("".join(parts), 1)
