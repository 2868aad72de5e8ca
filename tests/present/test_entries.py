"""What y copies from a page."""

import pytest

from kvtui.present.entries import entries, entry_text, row_text
from kvtui.present.line import BLANK, Begin, Span

PAGE = (
    (Span("▌✖ ", "bad"), Span("KV capacity", "strong")),
    (Span("   evidence", "label"),),
    (Span("     ✓ ", "good"), Span("running 50.9,")),
    (Span("       ", "good"), Span("queued 96")),
    (Span("     ✓ ", "good"), Span("usage 0.90")),
    BLANK,
    (Span("flags          ", "label"), Span("--a 1")),
    (Span(" " * 15, "label"), Span("--b 2")),
    (Begin(" " * 15, "label"), Span("sglang"), Span(" "), Span("◆ --a 1", "changed")),
    (Span(" " * 15), Span("--tp 8")),
)


def test_wrapped_lines_are_one_entry_and_headings_are_none():
    assert entries(PAGE) == (range(1), range(2, 4), range(4, 5), range(6, 8), range(8, 10))


@pytest.mark.parametrize(
    ("number", "copied"),
    [(0, "KV capacity"), (1, "running 50.9, queued 96"), (2, "usage 0.90"), (3, "--a 1 --b 2"), (4, "sglang --a 1 --tp 8")],
)
def test_an_entry_is_copied_without_sign_label_and_marks(number, copied):
    assert entry_text([PAGE[n] for n in entries(PAGE)[number]]) == copied


def test_of_a_fix_only_the_flags_are_copied():
    fix = ((Span("     ▸ ", "key"), Span("fp8 KV cache: --kv-cache-dtype fp8_e4m3")),)
    assert entry_text(fix) == "--kv-cache-dtype fp8_e4m3"
    advice = ((Span("     ▸ ", "key"), Span("Raise --schedule-conservativeness from 1 to 1.3: more is held back.")),)
    assert entry_text(advice).startswith("Raise --schedule")


def test_a_row_is_copied_without_its_sparkline():
    row = (Span("running   ", "label"), Span("   48"), Span(" ▁▂▃█ ", "kv-used"), Span("cap 2,048", "dim"))
    assert row_text(row) == "running  48  cap 2,048"
