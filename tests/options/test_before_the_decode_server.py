"""Requests that wait for the pool of a decode server: a larger pool is a cure of which nobody knows the worth."""

from dataclasses import replace

import pytest
from scenarios.confusion import log_frame

from kvtui.domain.reading import optional
from kvtui.engine.analyse import analyse
from kvtui.options.of_analysis import context_of
from kvtui.options.plan import best_safe
from kvtui.scenarios import SCENARIOS, build


@pytest.fixture(scope="module")
def analysis():
    return analyse(log_frame(build(SCENARIOS["pd-prealloc"], "plain")))


def test_a_larger_pool_is_offered_without_a_figure_and_says_why(analysis):
    pool = optional(analysis.account.tokens_reported)
    levers = {e.id: e for e in analysis.estimates if e.tokens is not None and pool is not None and e.tokens > pool}
    assert set(levers) & {"raise-fraction", "fp8-kv"}
    for name in set(levers) & {"raise-fraction", "fp8-kv"}:
        assert levers[name].tok_s is None
        assert "prefill servers" in levers[name].tok_s_why
        assert not levers[name].idle
        assert name in analysis.findings[0].fixes


def test_no_plan_claims_a_gain(analysis):
    plan = best_safe(context_of(analysis), analysis.estimates)
    assert plan is None or "raise-fraction" not in plan.options


def test_another_queue_of_disaggregation_does_not_ask_for_the_pool():
    incident = build(SCENARIOS["pd-prealloc"], "plain")
    lines = incident.log.replace("#prealloc-req", "#transfer-req")
    analysis = analyse(log_frame(replace(incident, log=lines)))
    assert analysis.findings[0].id == "pd-queue"
    assert not context_of(analysis).waits_for_pool
    assert not analysis.findings[0].fixes
