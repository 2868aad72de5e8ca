"""Rows of options stay where they are read, unless the gain differs by something."""

import itertools
from dataclasses import replace

import builders as b
from hypothesis import given
from hypothesis import strategies as st

from kvtui.present.order import MARGIN, steady

BASE = b.estimates()[0]


def ranked(**ranks):
    made = [replace(BASE, id=name.replace("_", "-"), rank=rank, applies=rank > -5) for name, rank in ranks.items()]
    return tuple(sorted(made, key=lambda e: (not e.applies, -e.rank)))


def ids(estimates):
    return [e.id for e in estimates]


def test_rows_do_not_swap_for_the_third_digit():
    before = ranked(hicache=1.277, conservativeness=1.023, page_size=1.014)
    now = ranked(hicache=1.278, page_size=1.017, conservativeness=1.015)
    assert ids(now) == ["hicache", "page-size", "conservativeness"]
    assert ids(steady(before, now)) == ids(before)


def test_a_clear_gain_passes_and_what_ceases_to_apply_sinks():
    before = ranked(hicache=1.2, conservativeness=1.1, page_size=1.0)
    assert ids(steady(before, ranked(hicache=1.2, conservativeness=1.1, page_size=1.2)))[1] == "page-size"
    assert ids(steady(before, ranked(hicache=-9, conservativeness=1.1, page_size=1.0)))[-1] == "hicache"


def test_what_is_new_stands_by_its_rank():
    before = ranked(hicache=1.2, page_size=1.0)
    assert ids(steady(before, ranked(hicache=1.2, conservativeness=1.1, page_size=1.0))) == ["hicache", "conservativeness", "page-size"]


def test_the_same_order_is_the_same_object():
    before, now = ranked(hicache=1.2, page_size=1.0), ranked(hicache=1.3, page_size=1.0)
    assert steady(before, now) is now
    assert steady((), now) is now


@given(st.lists(st.floats(-2, 2), min_size=5, max_size=5), st.lists(st.floats(-2, 2), min_size=5, max_size=5))
def test_nothing_is_lost_and_no_neighbour_is_far_out_of_order(old, new):
    names = ("hicache", "page_size", "fp8_kv", "fp4_kv", "dcp")
    told = steady(ranked(**dict(zip(names, old, strict=True))), ranked(**dict(zip(names, new, strict=True))))
    assert sorted(ids(told)) == sorted(name.replace("_", "-") for name in names)
    assert all(later.rank <= earlier.rank + MARGIN for earlier, later in itertools.pairwise(told))
