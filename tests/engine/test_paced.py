"""A running server is judged at its own pace; readings are shown each second."""

import itertools
from dataclasses import replace

import builders as b

from kvtui.diagnose.steady import HOLD_S
from kvtui.domain.events import Event
from kvtui.domain.frame import SourceHealth
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.motion import Motion
from kvtui.domain.reading import Missing
from kvtui.domain.resting import Rest
from kvtui.engine.paced import EVERY_S, NEW_S, STUCK_S, Paced


def http(*, now, motion):
    none = Missing("not read")
    return HttpReading(now, "http://127.0.0.1:30000", none, none, none, none, none, none, motion, (), {})


class Judge:
    def __init__(self):
        self.frames, self.found, self.told = [], b.founding().findings, {}

    def __call__(self, frame):
        self.frames.append(frame)
        self.told[frame.now] = self.found
        return replace(b.founding(), frame=frame, findings=self.found)


def frame(at, **changes):
    return replace(b.founding().frame, finished=False, now=b.NOW + at, events=(), **changes)


def after_the_first_minute(judge):
    paced = Paced(judge)
    for second in range(int(NEW_S) + 2):
        paced(frame(second))
    judge.frames.clear()
    return paced, int(NEW_S) + 2


def test_a_new_server_is_judged_each_second():
    judge = Judge()
    paced = Paced(judge)
    for second in range(5):
        paced(frame(second))
    assert len(judge.frames) == 5


def test_later_only_every_few_seconds_and_with_the_newest_readings():
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    seconds = range(3 * int(EVERY_S))
    shown = [paced(frame(now + second)) for second in seconds]
    assert 2 <= len(judge.frames) <= 4
    assert [analysis.frame.now for analysis in shown] == [b.NOW + now + second for second in seconds]
    # Panes are left alone as long as these are the same objects.
    same = [a.estimates is b.estimates and a.account is b.account for a, b in itertools.pairwise(shown)]
    assert sum(same) >= len(seconds) - 5


def test_what_is_found_anew_is_judged_again_when_it_would_be_shown():
    """A finding is shown once it has lasted: it must still be there then."""
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    paced(frame(now))
    judge.found = ()
    for second in range(1, 2 * int(EVERY_S)):
        paced(frame(now + second))
    first, second, *_ = [f.now for f in judge.frames if not judge.told[f.now]]
    assert second - first == HOLD_S


def test_a_server_that_stopped_working_is_judged_more_often():
    """The sentence says for how long."""
    judge = Judge()
    judge.found = (replace(judge.found[0], id="server-stuck"),)
    paced, now = after_the_first_minute(judge)
    for second in range(2 * int(EVERY_S)):
        paced(frame(now + second))
    assert len(judge.frames) >= 2 * EVERY_S / STUCK_S - 1


def test_what_happens_is_judged_at_once():
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    paced(frame(now + 10))
    judge.frames.clear()
    memory = Event("out-of-memory", b.NOW + now, 9_000, "CUDA out of memory")
    paced(replace(frame(now + 11), events=(memory,)))
    assert len(judge.frames) == 1
    failed = (SourceHealth("log", "server.log", "failed", "gone"),)
    paced(replace(frame(now + 12), events=(memory,), sources=failed))
    assert len(judge.frames) == 2


def test_retractions_come_all_the_time_and_wait():
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    paced(frame(now + 10))
    judge.frames.clear()
    paced(replace(frame(now + 11), events=(Event("retract", b.NOW + now, 9_000, "KV cache pool is full"),)))
    assert not judge.frames


def test_a_finished_log_and_a_clock_that_goes_back_are_judged_at_once():
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    paced(replace(frame(now + 1), finished=True))
    paced(frame(now - 8))
    assert len(judge.frames) == 2


def test_a_server_that_comes_to_rest_or_to_work_is_judged_at_once_and_then_closely():
    def resting(at, since):
        return replace(frame(at), http=http(now=b.NOW + at, motion=Motion(rest=Rest(since and b.NOW + since))))

    judge = Judge()
    paced = Paced(judge)
    for second in range(100):
        paced(resting(second, 30 if second >= 30 else None))
    at_rest = [f.now - b.NOW for f in judge.frames if f.now - b.NOW > 30]
    assert 30 + HOLD_S in at_rest
    judge.frames.clear()
    for second in range(100, 110):
        paced(resting(second, None))
    assert len(judge.frames) == 10


def test_a_frame_that_may_wait_is_told_from_one_that_has_to_be_judged():
    judge = Judge()
    paced, now = after_the_first_minute(judge)
    waited = []
    for second in range(40):
        quick = paced.waiting(frame(now + second))
        waited.append(quick is not None)
        analysis = quick if quick is not None else paced.judge(frame(now + second))
        assert analysis.frame.now == b.NOW + now + second
    assert len(judge.frames) == waited.count(False)
    assert 2 <= len(judge.frames) <= 3
