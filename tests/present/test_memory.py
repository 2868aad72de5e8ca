from __future__ import annotations

import math
from dataclasses import replace

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.ledger import GpuLedger, Part
from kvtui.domain.reading import Known, Missing
from kvtui.present.cuts import GHOST, Cut, Edge, bar_line, cuts, ghost
from kvtui.present.glyphs import EIGHTHS, FILLS
from kvtui.present.line import line_cells, plain
from kvtui.present.memory import _share, memory_model
from kvtui.present.state import ViewState

SIZES = [(57, 12), (76, 14), (96, 22), (20, 4), (8, 1), (1, 1)]


def state(analysis=None, fraction=None):
    return ViewState(analysis or builders.founding(), fraction=fraction, what_if=builders.what_if(fraction) if fraction else None)


def bar(*parts, total=None, used=0.5, device=True):
    made = tuple(Part(kind, size) for kind, size in parts)
    return GpuLedger("GPU 0", total or sum(p.gib for p in made), device, made, Known(used))


@given(st.lists(st.tuples(st.sampled_from(sorted(FILLS)), st.floats(1e-6, 1e4)), min_size=1, max_size=8), st.integers(1, 200))
def test_parts_fill_exactly_the_width_in_their_order(parts, width):
    line = bar_line([Cut(tone, size) for tone, size in parts], width)
    assert line_cells(line) == width
    order = [tone for tone, _ in parts]
    at = 0
    for span in line:
        at = order.index(span.tone, at)
        if isinstance(span, Edge):
            assert span.text in EIGHTHS
            assert span.under in order[at:]


@given(st.integers(1, 400), st.integers(1, 60))
def test_a_cell_is_cut_to_the_eighth(eighths, width):
    """One solid part of so many eighths of a cell is drawn as so many, within rounding."""
    share = min(1.0, eighths / (width * 8))
    line = bar_line([Cut("weights", share), *([Cut("free", 1 - share)] if share < 1 else [])], width)
    text = plain(line)
    full = text.count("█")
    part = next((EIGHTHS.index(c) + 1 for c in text if c in EIGHTHS), 0)
    assert full * 8 + part == min(eighths, width * 8)


def test_the_used_part_of_the_pool_is_marked():
    assert cuts(bar(("kv", 8.0), ("free", 2.0), used=0.75)) == (Cut("kv-used", 6.0), Cut("kv-free", 2.0), Cut("free", 2.0))
    unknown = replace(bar(("kv", 8.0)), kv_used_share=Missing("no batch line"))
    assert cuts(unknown) == (Cut("kv-free", 8.0),)


def test_bars_can_be_told_apart_without_colour():
    assert len({glyph for glyph, _ in FILLS.values()}) == len(FILLS)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fraction", [None, 0.91, 0.97])
@pytest.mark.parametrize("make", [builders.founding, builders.bare, builders.hostile])
def test_it_fits_and_shows_nothing_hostile(size, fraction, make):
    model = memory_model(state(make(), fraction), *size)
    assert len(model.rows) <= size[1]
    for row in model.rows:
        assert line_cells(row) <= size[0]
        assert "\x1b" not in plain(row)


def test_founding_case():
    text = "\n".join(plain(row) for row in memory_model(state(), 57, 12).rows)
    assert text.count("TP") == 8
    assert "weights 72.33" in text
    assert "KV used 7.07" in text
    assert "free 8.41–8.47" in text
    assert "card size not told: bars start at free before weights" in text


def test_the_what_if_is_a_ghost_edge_and_a_sentence():
    raised = memory_model(state(fraction=0.91), 57, 12)
    text = "\n".join(plain(row) for row in raised.rows)
    assert "pool ends at 0.91: 7.60 → 13.24  free 2.77" in text
    assert sum(GHOST in plain(row) for row in raised.rows[:8]) == 8
    assert raised != memory_model(state(), 57, 12)
    too_much = "\n".join(plain(row) for row in memory_model(state(fraction=0.97), 57, 12).rows)
    assert "✖ 2.87 GiB too much" in too_much


def test_the_ghost_moves_with_the_pool():
    analysis = builders.founding()
    one = analysis.ledgers[0]
    today = (72.33 + 7.60) / one.total_gib
    assert ghost(one, analysis, builders.what_if(0.85)) == pytest.approx(today)
    assert ghost(one, analysis, builders.what_if(0.90)) == pytest.approx(today + 0.05)
    assert ghost(one, analysis, None) is None


def test_ranks_that_are_the_same_are_folded_where_there_is_no_room():
    one = builders.ledgers()[0]
    same = replace(builders.founding(), ledgers=tuple(replace(one, label=f"TP{i}") for i in range(16)))
    rows = [plain(row) for row in memory_model(state(same), 57, 12).rows]
    assert rows[0].startswith("TP0..TP15 same")
    assert "weights" in rows[2]
    differ = tuple(bar(("weights", 10.0 + i), ("free", 20.0 - i)) for i in range(16))
    many = replace(builders.founding(), ledgers=differ)
    rows = [plain(row) for row in memory_model(state(many), 57, 12).rows]
    assert any("more, least free 5.00 GiB" in row for row in rows)


def test_unknown_is_shown_as_unknown():
    lonely = replace(builders.founding(), ledgers=(bar(("weights", 70.0), ("unknown", 24.0), device=False),))
    text = "\n".join(plain(row) for row in memory_model(state(lonely), 57, 12).rows)
    assert "?? unknown" in text
    assert "24.00 GiB" in text


def test_a_size_that_is_no_number_is_not_drawn():
    odd = bar(("weights", math.nan), ("kv", math.inf), ("free", 3.0), total=80.0)
    assert cuts(odd) == (Cut("free", 3.0),)
    assert bar_line((), 10) == ()


def test_nothing_read_is_a_sentence():
    model = memory_model(state(builders.bare()), 40, 5)
    assert "no memory line was read" in plain(model.rows[0])


@pytest.mark.parametrize("size", [(57, 11), (57, 16), (78, 23), (98, 11), (98, 16), (98, 23), (98, 25)])
def test_a_what_if_moves_nothing_but_its_own_line(size):
    before = [plain(row) for row in memory_model(state(), *size).rows]
    after = [plain(row) for row in memory_model(state(fraction=0.91), *size).rows]
    same = [row for row in after if "pool ends" not in row]
    assert [row.split("  ")[0][:4] for row in same if row] == [row.split("  ")[0][:4] for row in before if row]


def test_bars_are_two_rows_high_where_there_is_room_and_a_row_is_copied_as_its_bar():
    model = memory_model(state(), 98, 26)
    rows = [plain(row) for row in model.rows]
    assert [row[:3] for row in rows[:4]] == ["TP0", "   ", "TP1", "   "]
    assert dict(model.copies)[3].startswith("TP1, 94.04 GiB: weights 72.33")


def test_few_gpus_have_bars_of_three_rows_named_in_the_middle():
    one = replace(state().analysis, ledgers=state().analysis.ledgers[:2])
    model = memory_model(ViewState(one), 98, 26)
    assert [plain(row)[:3] for row in model.rows[:7]] == ["   ", "TP0", "   ", "   ", "TP1", "   ", ""]
    assert dict(model.copies)[5].startswith("TP1, 94.04 GiB: weights 72.33")


def test_a_small_part_is_not_told_as_nothing():
    assert [_share(size, 100.0) for size in (0.0, 0.001, 0.3, 0.7, 40.0)] == ["0%", "0%", "<1%", "1%", "40%"]
