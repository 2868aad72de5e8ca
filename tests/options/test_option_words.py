"""Levers say in words what the verdict says, and say it once."""

from __future__ import annotations

import pytest
from options.option_build import account, boot, context, finding, workload

from kvtui.domain.lowering import lowered_fraction
from kvtui.domain.reading import Known
from kvtui.options.conservativeness import conservativeness
from kvtui.options.lower_fraction import lower_fraction
from kvtui.options.raise_fraction import raise_fraction
from kvtui.options.registry import estimates
from kvtui.options.resized import _clause


@pytest.mark.parametrize("limit", ["healthy", "client"])
def test_where_nothing_limits_nothing_is_held_back(limit):
    for lever in estimates(context(limit, workload=workload(queued=0.0), boot=boot(tp_size=8))):
        assert "healthy" not in lever.why_not
        assert "client is" not in lever.why_not
    assert conservativeness(context(limit)).why_not == "nothing is held back: no request waits"
    assert conservativeness(context("prefill")).why_not == "the reservation is not the limit: prefill is"


@pytest.mark.parametrize("limit", [None, "healthy", "prefill", "kv-capacity", "running-cap", "reservation", "retraction"])
def test_no_clause_is_said_twice(limit):
    for lever in estimates(context(limit, boot=boot(tp_size=8, chunked_prefill_size=8192))):
        if lever.applies:
            clauses = [c.strip() for part in (lever.why_not, lever.risk_text, lever.tok_s_why) for c in part.split(";") if c.strip()]
            assert len(clauses) == len(set(clauses)), lever.id


def test_the_option_lowers_to_what_the_verdict_says():
    tight = account(headroom_gib=Known(0.4))
    shown = lower_fraction(context(account=tight, findings=(finding("headroom", axis="banner"),)))
    assert shown.flags == (f"--mem-fraction-static {lowered_fraction(tight):.2f}",)


def test_a_plan_for_activations_above_the_card_is_left_out():
    assert "SGLang plans" in raise_fraction(context(boot=boot(chunked_prefill_size=16_384))).risk_text
    assert "SGLang plans" not in raise_fraction(context(boot=boot(chunked_prefill_size=262_144))).risk_text


def test_why_a_size_is_not_told_is_a_clause():
    assert _clause("The fp4 recipes are not modelled.") == "the fp4 recipes are not modelled"
    assert _clause("DeepSeek-V4 needs a page size.") == "DeepSeek-V4 needs a page size"
    assert _clause("0.5.9 refuses MLA.") == "0.5.9 refuses MLA"
