from dataclasses import replace

import builders as b

from kvtui.domain.reading import Missing
from kvtui.domain.samples import EMPTY_TIMELINE
from kvtui.present.boots import UNSEEN, compare, comparison, facts, load_of, table
from kvtui.present.line import line_cells, plain

OLD, NEW = b.BOOTS


def by_name(differences):
    return {d.name: d for d in differences}


def test_only_what_differs_is_listed():
    found = by_name(compare(OLD, NEW))
    assert (found["mem_fraction_static"].left, found["mem_fraction_static"].right) == ("0.88", "0.85")
    assert (found["context_length"].left, found["context_length"].right) == ("131072", "unset")
    assert (found["pool, tokens"].left, found["pool, tokens"].note) == ("159,277", "−27%")
    assert "tp_size" not in found
    assert "free before weights" not in found


def test_memory_that_differs_is_subtracted():
    rank = NEW.ranks[0]
    poorer = replace(NEW, ranks=(replace(rank, loads=(replace(rank.loads[0], begin_gib=b.known(92.0, 1)),)),))
    assert by_name(compare(OLD, poorer))["free before weights"].note == "−2.04 GiB"


def test_a_setting_that_one_log_does_not_show_is_not_called_unset():
    assert by_name(compare(OLD, replace(NEW, settings={})))["tp_size"].right == "not shown"


def test_load_is_a_mean_of_decode_lines_and_an_unread_one_is_said_to_be():
    load = load_of(b.timeline())
    assert load is not None
    assert load.lines == 250
    assert 40 < load.running < 50
    found = by_name(compare(OLD, NEW, {1: load}))
    assert found["load: running"].left == UNSEEN
    assert found["load: running"].right == f"{load.running:,.0f}"
    assert load_of(EMPTY_TIMELINE) is None


def test_two_unread_loads_are_one_row():
    assert [d.name for d in compare(OLD, NEW) if d.name.startswith("load")] == ["load"]


def test_a_boot_without_anything():
    empty = replace(NEW, settings={}, ranks=(), version=Missing("not printed"), begun_at=None, state="failed")
    row = facts(empty)
    assert (row.version, row.fraction, row.pool, row.begun) == ("unknown", "automatic", "–", "–")
    assert by_name(compare(NEW, empty))["pool, tokens"].right == "unknown"


def test_the_table_says_which_one_is_shown():
    lines = [plain(line) for line in table(b.BOOTS, 1, frozenset({0}), 1, 100)]
    assert "shown" in lines[2]
    assert "shown" not in lines[1]
    assert lines[1].startswith(" ◆")
    assert lines[2].startswith("▸")


def test_columns_are_as_wide_as_what_stands_in_them():
    ranged = replace(NEW, version=Missing("not printed"), version_hint=("0.5.10", "0.5.12rc1"))
    head, row, other = (plain(line) for line in table((ranged, OLD), 0, frozenset(), 0, 100))
    at = head.index("fraction")
    assert row[at - 2 : at] == "  "
    assert row[: at - 2].endswith("0.5.12rc1")
    assert other[at - 2 : at] == "  "


def test_a_comparison_gives_its_room_to_the_longer_value():
    long = replace(NEW, settings={**NEW.settings, "model_path": b.Setting("model_path", "/models/" + "x" * 20, "log", b.log(1))})
    rows = [plain(line) for line in comparison(OLD, long, {OLD.index: None, long.index: None}, 80)]
    assert any("/models/" + "x" * 20 in row for row in rows), rows


def test_hostile_settings_stay_on_their_row():
    evil = replace(NEW, settings={"x\x1b[2J": b.Setting("x\x1b[2J", ("a" * 10_000,) * 100, "log", b.log(1))})
    lines = comparison(OLD, evil, {}, 80)
    assert all(line_cells(line) <= 80 for line in lines)
    assert "\x1b" not in "".join(plain(line) for line in lines)
