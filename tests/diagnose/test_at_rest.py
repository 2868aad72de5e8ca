"""A server at rest: what limited its last load does not limit it now."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log
from machines import failure, http, machine, page, steady

from kvtui.diagnose.at_rest import at_rest, rests_since
from kvtui.diagnose.registry import diagnose
from kvtui.diagnose.steady import Steady, advance
from kvtui.domain.answers import Loads
from kvtui.domain.finding import Finding
from kvtui.domain.http_reading import shifted
from kvtui.domain.motion import Motion
from kvtui.domain.resting import Rest
from kvtui.engine.analyse import analyse
from kvtui.options.of_analysis import context_of as options_of

END = 1060.0


def served(rests=30.0, *, worked=True, logged=True, now=None, age=0.0, **row):
    """A log of a minute with a full pool, then a server at rest for so many seconds."""
    log = Log()
    for _ in range(60):
        log.decode(32, queued=20)
    now = END + rests if now is None else now
    motion = Motion("idle", rest=Rest(END if worked else now, worked))
    told = http(now=now, scrape=page(now - age, running=0, queued=0, **row), motion=motion)
    return machine(log, http_reading=told, logged=logged, now=now)


def shown(context):
    return at_rest(context, diagnose(context))


def test_after_fifteen_seconds_it_is_idle_and_says_what_limited_the_last_load():
    primary = shown(served())[0]
    assert (primary.id, primary.at_rest, primary.since) == ("healthy", True, END)
    assert "KV capacity limits concurrency" in primary.sentence
    assert any("32 run, 20 wait" in proof.text for proof in primary.evidence)


def test_the_last_load_is_drawn_only_where_there_was_one():
    assert [picture.signal for picture in shown(served())[0].pictures] == ["load"]
    assert at_rest(served(), ())[-1].pictures == ()


def test_no_limit_stands_beside_it():
    assert [finding.id for finding in shown(served()) if finding.axis != "banner"] == ["healthy"]


def test_a_moment_of_rest_changes_nothing():
    context = served(10)
    assert rests_since(context) is None
    assert shown(context)[0].id == "kv-capacity"


def test_the_log_tells_since_when_a_server_rests_that_was_never_seen_at_work():
    assert rests_since(served(400, worked=False)) == END


def test_an_old_page_says_nothing_of_now():
    assert rests_since(served(30, age=30)) is None


def test_a_finished_log_is_judged_by_its_load():
    context = served()
    assert rests_since(replace(context, frame=replace(context.frame, finished=True))) is None


@pytest.mark.parametrize("verdict", ["server-stuck", "hardware-fault", "host-pressure"])
def test_what_holds_without_a_load_stays(verdict):
    context = served()
    other = Finding(verdict, verdict, f"{verdict}.", "concurrency", "high")
    assert at_rest(context, (other, *diagnose(context)))[0].id == verdict


def test_options_are_judged_by_the_last_load():
    busy, idle = (analyse(served(seconds).frame) for seconds in (5, 30))
    assert idle.findings[0].at_rest
    assert not busy.last_load
    assert options_of(idle).limit == options_of(busy).limit == busy.findings[0].id == "kv-capacity"


def test_rest_and_work_are_shown_at_once():
    context = served()
    busy, idle = diagnose(context), shown(context)
    state = Steady()
    for at in range(1000, 1060, 5):
        state = advance(state, busy, at)
    state = advance(state, idle, 1060)
    assert state.shown[0].at_rest
    state = advance(state, busy, 1065)
    assert state.shown[0].id == "kv-capacity"


def test_a_log_in_another_time_zone_changes_nothing():
    """The clock of a log runs hours ahead; what was read over HTTP is moved to it."""
    now, hour = END + 30, 3600.0
    motion = Motion("idle", rest=Rest(END - hour, worked=True))
    told = shifted(http(now=now - hour, scrape=page(now - hour, running=0, queued=0), motion=motion), hour)
    log = Log()
    for _ in range(60):
        log.decode(32, queued=20)
    assert rests_since(machine(log, http_reading=told, now=now)) == END


@pytest.mark.parametrize(("rest", "failures", "stuck"), [
    (Rest(END, worked=True), {}, False),
    (Rest(None, worked=True, doubtful=True), {}, False),
    (Rest(None, worked=True, doubtful=True), {"loads": failure("timeout")}, True),
])  # fmt: skip
def test_gauges_that_keep_the_last_batch_are_no_hang_unless_loads_hangs_too(rest, failures, stuck):
    log = steady(32, queued=20, pages=True)
    now = log.at + 14
    motion = Motion("moving", gauges_at=now - 14, counters_at=now - 14, rest=rest)
    told = http(now=now, scrape=page(now, running=32, queued=0), loads=Loads(now - 60, "0.5.9"), failures=failures, motion=motion)
    found = [finding.id for finding in diagnose(machine(log, http_reading=told, logged=False, now=now))]
    assert ("server-stuck" in found) == stuck
