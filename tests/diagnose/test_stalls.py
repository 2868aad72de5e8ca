"""The longest stall, looked for where a gap is long enough, is the one that a look at each row finds."""

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from kvtui.diagnose import stalls
from kvtui.domain.samples import DECODE, PREFILL, SampleStore

ROWS = st.lists(
    st.tuples(
        st.sampled_from([-0.5, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 30.0, 61.0, math.nan]),
        st.sampled_from([DECODE, DECODE, PREFILL]),
        st.sampled_from([math.nan, 0.0, 1.0, 2.0, 10.0, 11.0, 30.0]),
        st.sampled_from([math.nan, 0.0, 300.0, 40_000.0]),
    ),
    max_size=60,
)


def row_by_row(at, kind, running, new):
    gaps = sorted(later - earlier for earlier, later in itertools.pairwise(at) if later >= earlier)
    usual = gaps[int(0.95 * len(gaps))] if gaps else math.inf
    least = max(stalls._SHORTEST_S, stalls._TIMES_USUAL * usual)
    best, before = None, math.nan
    for i in range(1, len(at)):
        if kind[i - 1] == DECODE and math.isfinite(running[i - 1]):
            before = running[i - 1]
        gap = at[i] - at[i - 1]
        filled = any(tokens >= stalls._PREFILLS_S * gap for tokens in (new[i - 1], new[i]))
        same = stalls._KEPT * before <= running[i] <= stalls._GROWN * before and before >= stalls._FEWEST
        if not filled and same and gap >= least and (best is None or gap > best[1]):
            best = i, gap, before
    return best


@given(ROWS)
def test_the_longest_stall(rows):
    store, at = SampleStore(), 100.0
    for gap, kind, running, new in rows:
        at = at if math.isnan(gap) else at + gap
        store.append({"at": math.nan if math.isnan(gap) else at, "kind": kind, "running": running, "new_token": new})
    window = store.view()
    assert stalls._longest(window) == row_by_row(*(window.column(name) for name in ("at", "kind", "running", "new_token")))


def test_one_is_found_at_all():
    store = SampleStore()
    for number in range(40):
        store.append({"at": 100.0 + number + (60 if number >= 30 else 0), "kind": DECODE, "running": 10.0})
    assert stalls._longest(store.view()) == (30, 61.0, 10.0)


def test_of_two_alike_it_is_the_first():
    store, at = SampleStore(), 100.0
    for number in range(60):
        at += 61 if number in {30, 50} else 1
        store.append({"at": at, "kind": DECODE, "running": 10.0})
    assert stalls._longest(store.view()) == (30, 61.0, 10.0)
