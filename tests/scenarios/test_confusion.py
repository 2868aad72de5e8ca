"""Every labelled incident gets its verdict, from the log alone and from the metrics alone where they show it."""

from pathlib import Path

import pytest
from scenarios.confusion import judge

import kvtui.diagnose
from kvtui.scenarios import SCENARIOS

SEEDS = {"mild": 5, "plain": 6, "strong": 7}
"""Other draws than those that the rules were made with, a different one for each strength."""
LIMITED = [s.id for s in SCENARIOS.values() if s.axis == "concurrency" and "healthy" not in s.expected]
WELL = [s.id for s in SCENARIOS.values() if s.axis == "concurrency" and "healthy" in s.expected]
NO_LIMIT = {"healthy", "client", "not-enough-data"}


def rows(name, seeds):
    """Scenario, strength and view with their verdicts, and a text that names them."""
    scenario = SCENARIOS[name]
    for strength in scenario.strengths:
        for row in judge(scenario, strength, seeds(strength)):
            told = f"{name} {strength} from {row.view}: {[f.id for f in row.findings]}: {row.findings[0].sentence}"
            yield row, told


@pytest.mark.parametrize("name", SCENARIOS)
def test_incident_gets_its_verdict(name):
    for row, told in rows(name, lambda _: 0):
        assert row.right, told
        assert not row.wrong_ids, told


@pytest.mark.parametrize("name", LIMITED)
def test_no_limited_server_is_called_healthy(name):
    for row, told in rows(name, SEEDS.get):
        assert row.primary != "healthy", told
        assert row.right, told
        assert not row.wrong_ids, told


@pytest.mark.parametrize("name", WELL)
def test_no_healthy_server_is_called_limited(name):
    for row, told in rows(name, SEEDS.get):
        assert {f.id for f in row.findings if f.axis == "concurrency"} <= NO_LIMIT, told
        assert row.got in row.scenario.expected, told
        assert not row.wrong_ids, told


def test_the_list_holds_what_it_claims():
    assert len(LIMITED) >= 20
    assert len(WELL) >= 7
    assert {s.id for s in SCENARIOS.values() if "healthy" in s.never} <= {*LIMITED, "just-started"}


def test_healthy_is_said_in_two_places():
    """By its rule: 15 s of load, the queue empty in nine of ten samples on every rank and no side queue standing, no retraction,
    no stall, prefill known to stay below its limit. And of a running server at rest, on which nothing runs, waits or is computed.
    """
    folder = Path(kvtui.diagnose.__file__).parent
    saying = {path.name for path in folder.rglob("*.py") if 'id="healthy"' in path.read_text()}
    assert saying == {"healthy.py", "at_rest.py"}
