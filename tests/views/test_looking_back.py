"""Looking back on the console: the verdicts over time, worked out when they are first asked for."""

import functools
import re
from dataclasses import replace

import builders as b
import phases
import pytest
from feeds import HandFeed
from reading import analysis_of
from screen import check_golden, screen_text

from kvtui.app import KvtuiApp
from kvtui.diagnose import earlier
from kvtui.domain.periods import Period
from kvtui.engine.analyse import estimates
from kvtui.present.figures import clock
from kvtui.views.session import Session

SIZES = [(80, 24), (120, 40), (200, 60)]


@functools.cache
def hour():
    return analysis_of(phases.phased((1_500, phases.CLIENT), (900, phases.FULL), (1_500, phases.CALM)))


async def settle(app, pilot):
    await pilot.pause()
    # An empty list would wait for the feed, which has no end.
    past = [worker for worker in app.workers if worker.name == "past"]
    if past:
        await app.workers.wait_for_complete(past)
    await pilot.pause()
    await pilot.pause()


def console(analysis):
    return KvtuiApp(HandFeed(analysis), estimates, target="server.log")


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
async def test_the_timeline_of_an_hour(size):
    app = console(hour())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("t", *["minus"] * 3)
        await settle(app, pilot)
        check_golden(f"timeline-{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
async def test_scrubbed_back_to_another_verdict(size):
    app = console(hour())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*["left_curly_bracket"] * 28)
        await settle(app, pilot)
        check_golden(f"scrubbed-{size[0]}x{size[1]}", screen_text(app))
        await pilot.press("escape")
        await pilot.pause()
        assert "now:" not in screen_text(app)


async def test_why_answers_since_when():
    app = console(hour())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert not app.view_state.analysis.periods, "nothing is worked out that nobody asked for"
        await pilot.press("enter")
        await settle(app, pilot)
        seen = screen_text(app)
        assert "since 09:45:00; before: KV capacity limits concurrency 09:30–09:45" in seen
        assert re.search(r"09:04–09:30  . The clients send too little", seen)


async def test_the_past_is_worked_out_once(monkeypatch):
    asked = []
    monkeypatch.setattr(earlier, "periods_of", lambda analysis: asked.append(analysis) or ())
    app = console(hour())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await settle(app, pilot)
        await pilot.press("escape", "enter", "escape", "left_square_bracket", "t")
        await settle(app, pilot)
    assert len(asked) == 1


PAST = (
    Period(b.NOW - 600, b.NOW - 480, "client", "The clients send too little", "high"),
    Period(b.NOW - 480, None, "kv-capacity", "KV", "high"),
)


def shown(analysis=None):
    session = Session(lambda _analysis, fraction: b.estimates(fraction))
    session.show(analysis or b.founding())
    return session


def test_what_is_watched_later_goes_on_from_what_was_worked_out():
    session = shown()
    session.recall(session.unjudged(), PAST)
    assert session.state.analysis.periods == PAST
    watched = (Period(b.NOW - 100, None, "healthy", "Nothing limits this server", "high"),)
    session.show(b.founding(periods=watched))
    assert [(p.id, p.end) for p in session.state.analysis.periods] == [
        ("client", b.NOW - 480), ("kv-capacity", b.NOW - 100), ("healthy", None),
    ]  # fmt: skip


def test_another_server_has_another_past():
    session = shown()
    asked = session.unjudged()
    assert session.unjudged() is None
    session.forget()
    session.show(b.founding())
    session.recall(asked, PAST)
    assert session.state.analysis.periods == ()
    assert session.unjudged() is not None


def test_a_log_that_is_still_being_read_is_not_judged():
    base = b.founding()
    reading = replace(base.frame.sources[0], state="waiting")
    assert shown(replace(base, frame=replace(base.frame, sources=(reading,)))).unjudged() is None


def test_a_paused_screen_learns_of_the_past_and_stays():
    session = shown()
    session.pause()
    before = session.state
    session.show(b.founding(notes=("newer",)))
    session.recall(session.unjudged(), PAST)
    assert session.state.analysis.periods == PAST
    assert session.state.analysis.notes == before.analysis.notes


def test_a_learner_who_is_to_find_the_verdict_does_not_read_it_in_its_past():
    session = shown()
    session.hide(frozenset({"verdict"}))
    session.recall(session.unjudged(), PAST)
    assert session.state.analysis.periods == ()
    session.hide(frozenset())
    assert session.state.analysis.periods == PAST


async def test_a_page_that_is_just_being_opened_gets_the_answer_too():
    app = console(hour())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.look_back()
        await settle(app, pilot)
        app.action_why()
        page, state = app.screen, app._session.state
        assert not page.is_mounted
        late = replace(state.analysis, findings=tuple(replace(one, title="Told late") for one in state.analysis.findings))
        app._session.state = replace(state, analysis=late)
        app._paint()
        await pilot.pause()
        await pilot.pause()
        assert any("Told late" in "".join(span.text for span in line) for line in page.query_one("#text").lines)


async def test_the_strip_tells_since_when_without_being_asked():
    analysis = analysis_of(phases.phased((300, phases.CLIENT), (900, phases.FULL)))
    running = replace(analysis, frame=replace(analysis.frame, finished=False))
    edge = replace(running, findings=tuple(replace(one, since=one.since and running.frame.now - 600) for one in running.findings))
    app = console(edge)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        told = app.view_state.analysis.findings[0].since
        assert told < running.frame.now - 800
        assert f"since {clock(told, seconds=False)}" in screen_text(app)
