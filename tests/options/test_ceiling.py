from dataclasses import replace

import pytest
from options.option_build import KIMI, account, context, finding, identity, workload

from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.plan import Change
from kvtui.domain.reading import Known, Missing
from kvtui.options.ceiling import cards_of, ceiling, is_possible, under_ceiling
from kvtui.options.registry import estimates

BIG = replace(KIMI, parameters=1_026e9, active_parameters=32e9)
FAST = Known(1.79e12)


def story_a(**changes):
    parts = {"account": account(identity=identity(geometry=BIG), context_gib=Known(0.93)), "bandwidth": FAST}
    return context(**{**parts, **changes})


def test_4_to_5_times_is_not_realistic():
    told = ceiling(story_a())
    # facts/diagnoses.md 2.2: 2,545 to 2,848 tok/s at R=147
    assert told.tok_s == pytest.approx(2_848, rel=0.04)
    assert told.running == 147
    said = is_possible(story_a())
    assert "4–5× of 835 tok/s is not realistic" in said
    assert "3.4×" in said or "3.5×" in said


def test_without_the_card_the_needed_bandwidth_is_said():
    said = is_possible(story_a(bandwidth=Missing("the driver was not asked"), interconnect="pcie"))
    assert "is not realistic" in said
    assert "not to be expected" in is_possible(story_a(bandwidth=Missing("?")))
    assert "2.1 to 2.6 TB/s from every GPU" in said
    assert "an RTX PRO 6000 has 1.6 to 1.8 and ends at about 3.1 to 3.4×" in said
    assert "H20" not in said


def test_nothing_is_said_where_nothing_is_known():
    assert not is_possible(context())
    assert not is_possible(story_a(workload=workload(queued=0.0)))
    assert not is_possible(story_a(workload=workload(resident=None)))


def test_the_answer_stands_with_the_larger_pool():
    raised = next(e for e in estimates(story_a()) if e.id == "raise-fraction")
    assert any("not realistic" in note for note in raised.notes)


def test_what_promises_more_is_cut():
    wild = Estimate("raise-fraction", "x", applies=True, tok_s=Range(1_000, 3_500, 4_000, "test"))
    cut = under_ceiling(story_a(), wild)
    assert cut.tok_s.high == pytest.approx(2_848, rel=0.04)
    assert cut.tok_s.mid == cut.tok_s.high
    assert "ceiling" in cut.tok_s.basis
    half = under_ceiling(story_a(), replace(wild, change=Change(weight_ratio=0.5)))
    assert half.tok_s.high == 4_000


def test_a_bound_that_measurements_disprove_is_not_used():
    wild = Estimate("raise-fraction", "x", applies=True, tok_s=Range(900, 1_000, 1_100, "test"))
    assert under_ceiling(story_a(bandwidth=Known(1e11)), wild) == wild


@pytest.mark.parametrize("bandwidth", [1.0e12, 1.6e12])
@pytest.mark.parametrize("queued", [3.0, 97.0, 900.0])
@pytest.mark.parametrize("limit", ["kv-capacity", "running-cap", "client", "prefill", "retraction"])
def test_no_option_promises_more_than_roofline_or_demand(bandwidth, queued, limit):
    made = story_a(bandwidth=Known(bandwidth), workload=workload(queued=queued), findings=(finding(limit),))
    demand = (50 + queued) / 50
    for told in estimates(made):
        if told.tok_s is None or told.id == "client-concurrency":
            continue
        bound = ceiling(made, told.change).tok_s
        assert told.tok_s.high <= max(bound, 835) * 1.0001
        factor = told.change.speed.high if told.change.speed is not None else 1.02
        assert told.tok_s.high <= 835 * demand * max(1.0, factor) * 1.0001


def test_cards_by_memory():
    seen = account(context_gib=Known(0.93))
    assert [card.name for card in cards_of(seen, "pcie")] == ["an RTX PRO 6000"]
    assert not cards_of(account(context_gib=Known(9.0)), None)
    assert not cards_of(account(), None)
