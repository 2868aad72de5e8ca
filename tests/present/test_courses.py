"""Between two columns of the chart only numbers move, and they are those that a model made anew would show."""

import math
from dataclasses import replace

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.buckets import Axis, newest_before
from kvtui.domain.events import Event
from kvtui.domain.samples import DECODE, PREFILL, SampleStore
from kvtui.present import courses
from kvtui.present import history as histories
from kvtui.present.history import History
from kvtui.present.server import server_model
from kvtui.present.state import ViewState

STRETCH_S = 600
SIZE = (58, 18)


class Server:
    """Eight ranks that each print a decode line a second, and sometimes a prefill line."""

    def __init__(self, ranks=8):
        self.store, self.ranks, self.now = SampleStore(), ranks, b.NOW
        self.first = b.founding()
        self.events = ()

    def run(self, seconds):
        for _ in range(seconds):
            self.now += 1
            for rank in range(self.ranks):
                wave = math.sin(self.now / 30 + rank)
                row = {"at": self.now, "kind": DECODE, "dp": rank, "pp": 0, "running": 40 + round(5 * wave), "queued": 9 + rank}
                self.store.append({**row, "usage": 0.9 + wave / 50, "gen_tput": 800 + 50 * wave, "line": self.now})
            self.store.append({"at": self.now, "kind": PREFILL, "dp": 0, "pp": 0, "new_token": 100, "cached_token": 50, "input_tput": 900})
        return self

    def retract(self):
        self.events = (*self.events, Event("retract", self.now, 0, "KV cache pool is full", fields={"retracted": 3}))

    def state(self):
        frame = replace(self.first.frame, finished=False, now=self.now, timeline=self.store.view(), events=self.events)
        return ViewState(replace(self.first, frame=frame))


@pytest.fixture
def folded(monkeypatch):
    """Signals that were folded over the ranks, sample by sample."""
    names = []
    plain = histories.over_ranks

    def over_ranks(timeline, places, name, *rest):
        names.append(name)
        return plain(timeline, places, name, *rest)

    monkeypatch.setattr(histories, "over_ranks", over_ranks)
    return names


def test_within_a_column_no_course_is_made_anew_and_all_is_right(folded):
    server = Server().run(STRETCH_S + 60)
    model = server_model(server.state(), *SIZE)
    folded.clear()
    made = 0
    for second in range(60):
        server.run(1)
        if second % 7 == 0:
            server.retract()
        before = model
        model = server_model(server.state(), *SIZE, before=before.courses)
        made += bool(folded)
        folded.clear()
        assert model == server_model(server.state(), *SIZE)
        assert model.plot is not None
        folded.clear()
    # 600 s in 52 columns.
    assert 5 <= made <= 6


def test_another_width_another_store_and_a_cursor_are_drawn_anew():
    server = Server().run(300)
    model = server_model(server.state(), *SIZE)
    assert server_model(server.state(), 80, 20, before=model.courses) == server_model(server.state(), 80, 20)
    scrubbed = replace(server.state(), cursor=server.now - 100)
    assert server_model(scrubbed, *SIZE, before=model.courses) == server_model(scrubbed, *SIZE)
    other = Server(ranks=2).run(300)
    assert server_model(other.state(), *SIZE, before=model.courses) == server_model(other.state(), *SIZE)


def test_retractions_of_every_kind_are_counted_as_they_stand():
    server = Server().run(STRETCH_S)
    for _ in range(3):
        server.retract()
        server.run(1)
    model = server_model(server.state(), *SIZE)
    changes = (
        lambda events: (*events, Event("ready", server.now, 0, "up")),
        lambda events: (*events[:-1], replace(events[-1], count=9)),
        lambda events: (*events, Event("retract", server.now - 2 * STRETCH_S, 0, "a stamp that goes far back")),
        lambda events: (*events, Event("retract", server.now, 0, "after it")),
        lambda events: events[2:],
        lambda _events: (),
    )
    for change in changes:
        server.events = change(server.events)
        model = server_model(server.state(), *SIZE, before=model.courses)
        assert model == server_model(server.state(), *SIZE)
    server.retract()
    seen = server_model(server.state(), *SIZE, before=model.courses)
    assert seen == server_model(server.state(), *SIZE) != model


def test_only_what_came_is_looked_at(monkeypatch):
    server = Server().run(STRETCH_S + 60)
    for _ in range(50):
        server.retract()
    model = server_model(server.state(), *SIZE)
    looked = []
    plain = courses.retractions_of
    monkeypatch.setattr(courses, "retractions_of", lambda events, *rest: looked.append(len(events)) or plain(events, *rest))
    monkeypatch.setattr(courses, "retractions", None)
    server.retract()
    server_model(server.state(), *SIZE, before=model.courses)
    assert looked == [1]


def test_what_a_server_begins_to_say_is_shown_before_the_next_column():
    server = Server().run(STRETCH_S)
    model = server_model(server.state(), *SIZE)
    server.now += 0.5
    server.store.append({"at": server.now, "kind": DECODE, "dp": 0, "pp": 0, "running": 40, "accept_len": 2.5})
    after = server_model(server.state(), 58, 24, before=server_model(server.state(), 58, 24, before=model.courses).courses)
    assert any("accept" in span.text for row in after.rows for span in row)


LINES = st.lists(
    st.tuples(
        st.floats(0, 4),
        st.sampled_from([0.0, 1.0, 2.0, math.nan]),
        st.sampled_from([0.0, 0.0, 1.0]),
        st.one_of(st.just(math.nan), st.floats(0, 100)),
    ),
    min_size=1,
    max_size=60,
)


@given(LINES, st.sampled_from(["sum", "max", "mean"]), st.floats(0, 1))
def test_the_value_found_from_the_end_is_the_last_of_all_points(lines, how, share):
    store, at = SampleStore(), 100.0
    for gap, rank, stage, value in lines:
        at += gap
        store.append({"at": at, "kind": DECODE, "dp": rank, "pp": stage, "running": value})
    timeline = store.view()
    places = Axis("time", timeline.column("at"))
    ranks = max(1, len({d for d in timeline.column("dp") if math.isfinite(d)}))
    stage = min(s for s in timeline.column("pp") if math.isfinite(s))
    now = 100 + share * (at - 100)
    told = History(timeline, places, 15.0, 100.0, at + 1, 50, now, ranks, stage, (100.0, at))
    expected, found = newest_before(*told.points("running", how), now), told.value("running", how)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found[0] == expected[0]
        # A rank without a name beside named ones may be looked for in vain.
        if not any(math.isnan(rank) for _, rank, _, _ in lines):
            assert found[1] == pytest.approx(expected[1])
