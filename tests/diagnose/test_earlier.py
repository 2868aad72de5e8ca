"""What the verdicts were in the part of a log that the newest verdict does not stand on."""

from dataclasses import replace

import phases
import pytest
from reading import analysis_of

from kvtui.diagnose import earlier
from kvtui.diagnose.earlier import MOST, looked_back, periods_of
from kvtui.domain.samples import EMPTY_TIMELINE

MINUTE = 60.0
BEGIN = phases.UP.timestamp()


def told(*loads, **more):
    periods = periods_of(analysis_of(phases.phased(*loads, **more)))
    return [(p.id, round((p.begin - BEGIN) / MINUTE, 1), round((p.end - BEGIN) / MINUTE, 1)) for p in periods]


def test_three_hours_are_told_by_their_loads():
    found = told((60 * MINUTE, phases.CLIENT), (40 * MINUTE, phases.FULL), (80 * MINUTE, phases.CALM))
    assert [name for name, _, _ in found] == ["client", "kv-capacity", "healthy"]
    assert [end for _, _, end in found] == pytest.approx([60, 100, 180], abs=0.2)


def test_changes_are_found_inside_a_window():
    loads = ((1_234, phases.CLIENT), (250, phases.FULL), (777, phases.CALM), (333, phases.FULL), (410, phases.CALM))
    found = told(*loads, every=2.0)
    assert [name for name, _, _ in found] == ["client", "kv-capacity", "healthy", "kv-capacity", "healthy"]
    assert [begin for _, begin, _ in found[1:]] == pytest.approx([20.6, 24.7, 37.7, 43.2], abs=1.5)


def test_time_without_samples_is_nobodys():
    found = told((600, phases.CALM), (1_500, None), (700, phases.CALM))
    assert found == [("healthy", -0.1, pytest.approx(10, abs=0.1)), ("healthy", 35.0, pytest.approx(46.6, abs=0.1))]


def test_a_change_of_every_two_minutes_is_judged_at_bounded_cost(monkeypatch):
    asked = 0
    whole = earlier.diagnose

    def counted(context):
        nonlocal asked
        asked += 1
        assert len(context.frame.timeline) <= earlier.ROWS
        return whole(context)

    analysis = analysis_of(phases.phased(*[(150, phases.FULL), (150, phases.CALM)] * 60, every=1.0))
    monkeypatch.setattr(earlier, "diagnose", counted)
    assert periods_of(analysis)
    assert 20 <= asked <= MOST


def test_the_newest_period_is_the_verdict_itself():
    analysis = analysis_of(phases.phased((900, phases.CLIENT), (900, phases.FULL)))
    last = periods_of(analysis)[-1]
    assert (last.id, last.end) == (analysis.findings[0].id, analysis.frame.now)
    growing = replace(analysis, frame=replace(analysis.frame, finished=False))
    assert periods_of(growing)[-1].end is None


def test_since_when_looks_further_back_than_the_rules_do():
    analysis = analysis_of(phases.phased((300, phases.CALM), (3_000, phases.FULL)))
    assert analysis.findings[0].since == pytest.approx(BEGIN + 2_700, abs=5)
    assert looked_back(analysis).findings[0].since == pytest.approx(BEGIN + 300, abs=5)


def test_a_log_without_times_has_no_periods():
    analysis = analysis_of(phases.phased((900, phases.CLIENT)))
    assert periods_of(replace(analysis, frame=replace(analysis.frame, timeline=EMPTY_TIMELINE))) == ()


def test_a_server_that_failed_in_the_end_had_not_failed_before():
    text = phases.phased((900, phases.CALM), (900, phases.FULL))
    text += "[2026-03-18 09:35:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: boom\n"
    names = [p.id for p in periods_of(analysis_of(text))]
    assert names[0] == "healthy"
    assert names[-1] != "healthy"
