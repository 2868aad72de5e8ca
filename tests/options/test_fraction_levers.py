from dataclasses import replace

import pytest
from options.option_build import CELL, account, context, finding, identity, workload

from kvtui.domain.events import Event
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import GIB
from kvtui.options.lower_fraction import lower_fraction
from kvtui.options.raise_fraction import best_safe, grid_above, raise_fraction

STORY_B = account(
    fraction=Known(0.88), tokens_reported=Known(159_277), tokens_predicted=Known(159_294), kv_gib=Known(10.424), headroom_gib=Known(7.43)
)


@pytest.mark.parametrize(
    ("fraction", "tokens", "headroom"),
    # facts/diagnoses.md 2.1, from story (b)'s 7.43 GiB at the end of the pool
    [(0.90, 188_017, 5.6), (0.91, 202_388, 4.6), (0.92, 216_759, 3.7), (0.93, 231_130, 2.7), (0.94, 245_500, 1.8), (0.95, 259_871, 0.85)],
)
def test_worked_table(fraction, tokens, headroom):
    told = raise_fraction(context(account=STORY_B, fraction=fraction))
    assert told.tokens == pytest.approx(tokens, abs=20)
    assert told.headroom_gib == pytest.approx(headroom, abs=0.06)
    assert told.flags == (f"--mem-fraction-static {fraction:.2f}",)


def test_founding_case_a():
    told = raise_fraction(context())
    assert told.title == "raise fraction to 0.90"
    assert told.tokens == pytest.approx(188_017, abs=20)
    assert told.tokens / 116_171 == pytest.approx(1.62, abs=0.005)
    assert told.tok_s is not None
    assert 1.18 <= told.tok_s.mid / 835 <= 1.35
    assert told.tok_s.low < told.tok_s.mid < told.tok_s.high
    assert "prior R0" in told.tok_s.basis
    assert any("0.95 would give 259,8" in note and "likely to run out" in note for note in told.notes)
    assert any("14,369 tokens a GPU" in note for note in told.notes)
    assert told.risk == "low"
    assert told.restart


def test_founding_case_a_over_pcie_stays_in_the_band():
    told = raise_fraction(context(interconnect="pcie"))
    assert told.tok_s is not None
    assert 1.18 <= told.tok_s.mid / 835 <= 1.35
    assert "PCIe" in told.tok_s.basis


def test_095_is_flagged():
    told = raise_fraction(context(fraction=0.95))
    assert told.risk == "high"
    assert "likely to run out of memory" in told.risk_text
    assert told.rank < raise_fraction(context()).rank


@pytest.mark.parametrize(
    ("limit", "words"), [("running-cap", "running cap"), ("client", "clients"), ("prefill", "prefill"), ("healthy", "waits")]
)
def test_a_limit_elsewhere_makes_it_worth_nothing(limit, words):
    told = raise_fraction(context(limit))
    assert told.applies
    assert words in told.why_not
    assert told.tok_s is not None
    assert (told.tok_s.low, told.tok_s.mid, told.tok_s.high) == pytest.approx((835, 835, 835 * 1.02))
    assert told.rank < 0


def test_no_verdict_no_figure():
    told = raise_fraction(context(None))
    assert told.tok_s is None
    assert "not known yet" in told.tok_s_why
    assert told.tokens is not None
    assert told.rank > 0


def test_demand_and_cap_hold_the_gain():
    short = raise_fraction(context(workload=workload(queued=5.0)))
    assert "running 50 → 55" in short.notes
    capped = raise_fraction(context(account=account(running_cap=Known(60))))
    assert "running 50 → 60" in capped.notes
    assert any("running cap of 60 then binds" in note for note in capped.notes)


def test_max_total_tokens_makes_it_useless():
    held = account(cap_tokens=Known(116_171), rest_gib=Known(12.0))
    told = raise_fraction(context(account=held))
    assert told.tokens == 116_171
    assert "max_total_tokens holds the pool" in told.why_not
    assert told.rank < 0


def test_pages_align_and_state_pools_take_their_share():
    paged = account(identity=identity(page_size=Known(64)), tokens_reported=Known(116_160))
    assert raise_fraction(context(account=paged)).tokens % 64 == 0
    half = raise_fraction(context(account=account(kv_share=0.5), fraction=0.90))
    assert half.tokens - 116_171 == pytest.approx(0.5 * 94.04 * 0.05 * GIB / CELL, abs=2)


def test_unknown_headroom_allows_one_step():
    told = raise_fraction(context(account=account(headroom_gib=Missing("no final line"))))
    assert told.title == "raise fraction to 0.86"
    assert told.risk == "medium"
    assert "unknown" in told.risk_text


def test_no_room():
    told = raise_fraction(context(account=account(headroom_gib=Known(3.5))))
    assert not told.applies
    assert "3.5 GiB" in told.why_not
    short = raise_fraction(context(findings=(finding("kv-capacity"), finding("headroom", "banner"))))
    assert not short.applies


def test_best_safe_is_the_last_step_above_three_gib():
    assert best_safe(context(account=STORY_B), 0.88) == 0.92
    assert grid_above(0.85) == 0.86
    assert grid_above(0.8484) == 0.85


def test_a_start_without_a_pool_names_the_least_fraction():
    failed = account(
        fraction=Known(0.70),
        tokens_reported=Missing("failed"),
        tokens_predicted=Missing("failed"),
        headroom_gib=Missing("failed"),
        kv_gib=Missing("failed"),
    )
    told = raise_fraction(context(account=failed, findings=(finding("startup-failure", fixes=("raise-fraction",)),)))
    assert told.applies
    assert told.flags == ("--mem-fraction-static 0.79",)
    assert told.tokens > 0
    assert any("0.769" in note for note in told.notes)
    assert not lower_fraction(context(account=failed, findings=(finding("startup-failure", fixes=("raise-fraction",)),))).applies


def test_lower_is_not_offered_without_need():
    told = lower_fraction(context())
    assert not told.applies
    assert "8.4 GiB is enough" in told.why_not


def test_lower_gives_back_at_least_a_fiftieth():
    told = lower_fraction(context(account=account(headroom_gib=Known(1.2))))
    assert told.flags == ("--mem-fraction-static 0.83",)
    assert told.headroom_gib == pytest.approx(3.08, abs=0.01)
    assert told.tokens < 116_171
    assert told.tok_s is not None
    assert told.tok_s.mid < 835
    assert told.rank >= 3


def test_lower_under_the_cursor_costs_throughput_where_the_pool_binds():
    told = lower_fraction(context(fraction=0.80))
    assert told.title == "lower fraction to 0.80"
    assert told.tok_s.mid < 835
    assert told.rank < 0
    idle = lower_fraction(context("client", fraction=0.84, workload=workload(running=10.0, queued=0.0)))
    assert idle.tok_s.mid == 835


def test_lower_after_out_of_memory():
    told = lower_fraction(context(findings=(finding("kv-capacity"), finding("headroom", "banner"))))
    assert told.applies
    assert told.flags == ("--mem-fraction-static 0.83",)


def test_lower_to_nothing_is_refused():
    told = lower_fraction(context(fraction=0.60))
    assert told.tokens == 0
    assert not told.applies


def test_unknown_fraction():
    bare = replace(account(), fraction=Missing("not in the log"))
    for lever in (raise_fraction, lower_fraction):
        told = lever(context(account=bare))
        assert not told.applies
        assert "unknown" in told.why_not


def test_lower_goes_on_to_two_gib():
    told = lower_fraction(context(account=account(headroom_gib=Known(-1.5))))
    assert told.flags == ("--mem-fraction-static 0.81",)
    assert told.headroom_gib == pytest.approx(2.26, abs=0.01)


def test_a_failed_start_uses_the_servers_own_minimum():
    bare = account(
        fraction=Known(0.80),
        pre_gib=Missing("?"),
        post_gib=Missing("?"),
        tokens_reported=Missing("failed"),
        tokens_predicted=Missing("failed"),
        headroom_gib=Missing("failed"),
    )
    line = Event("not-enough-memory", None, 5, "Raise --mem-fraction-static above 0.87", fields={"minimum_fraction": 0.87})
    parts = {"account": bare, "findings": (finding("startup-failure", fixes=("raise-fraction",)),)}
    assert raise_fraction(context(events=(line,), **parts)).flags == ("--mem-fraction-static 0.90",)
    assert raise_fraction(context(**parts)).flags == ("--mem-fraction-static 0.82",)
    other = context(account=bare, findings=(finding("startup-failure"),))
    assert not raise_fraction(other).applies
    assert "another reason" in lower_fraction(other).why_not
