import math
from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.frame import Frame
from kvtui.domain.reading import Known, Missing
from kvtui.views.session import Session, parse_fraction


def session(analysis=None):
    made = Session(lambda _analysis, fraction: b.estimates(fraction))
    made.show(analysis or b.founding())
    return made


@pytest.mark.parametrize(
    ("typed", "value"), [("0.93", 0.93), (".93", 0.93), ("93", 0.93), (" 93 % ", 0.93), ("0,93", 0.93), ("0.9355", 0.9355)]
)
def test_a_typed_fraction(typed, value):
    assert parse_fraction(typed) == value


@pytest.mark.parametrize("typed", ["", "abc", "0", "1", "100", "-0.9", "nan", "inf", "1e400", "9" * 40, "__import__"])
def test_what_is_no_fraction_gets_a_sentence(typed):
    assert isinstance(parse_fraction(typed), str)


def test_a_step_recomputes_account_and_options():
    s = session()
    for _ in range(8):
        assert s.nudge(0.01) == ""
    assert s.state.fraction == 0.93
    assert s.state.what_if.tokens == Known(231_123, None, s.state.what_if.tokens.where)
    assert s.state.estimates[0].flags == ("--mem-fraction-static 0.93",)


def test_stepping_back_to_today_ends_the_what_if():
    s = session()
    s.nudge(0.01)
    s.nudge(-0.01)
    assert (s.state.fraction, s.state.what_if) == (None, None)
    assert s.state.estimates == b.founding().estimates


def test_steps_stop_at_the_ends_and_say_so():
    s = session()
    s.set_fraction(0.995)
    assert "as far as it goes" in s.nudge(0.01)
    assert s.state.fraction == 0.995


def test_an_unknown_fraction_cannot_be_stepped_but_typed():
    s = session(b.bare("the log has no server_args"))
    assert "the log has no server_args" in s.nudge(0.01)
    s.set_fraction(0.9)
    assert isinstance(s.state.what_if.tokens, Missing)


def test_a_number_that_is_none_gives_missing_not_a_crash():
    s = session(b.founding(account=b.account(pre_gib=b.known(math.nan, 1))))
    s.nudge(0.01)
    assert isinstance(s.state.what_if.tokens, Missing)


def test_a_new_analysis_keeps_the_what_if_and_the_plan():
    s = session()
    s.nudge(0.01)
    s.toggle("fp8-kv")
    newer = b.founding(notes=("newer",))
    s.show(newer)
    assert s.state.analysis is newer
    assert (s.state.fraction, s.state.plan) == (0.86, frozenset({"fp8-kv"}))


def test_another_boot_starts_afresh():
    s = session()
    s.nudge(0.01)
    s.toggle("fp8-kv")
    base = b.founding()
    s.show(replace(base, frame=replace(base.frame, chosen=0)))
    assert (s.state.fraction, s.state.plan) == (None, frozenset())
    assert set(s.timelines) == {0, 1}


def test_pause_holds_still_and_goes_on_with_the_newest():
    s = session()
    s.pause()
    first = s.state.analysis
    newer = b.founding(notes=("newer",))
    s.show(newer)
    assert s.state.analysis is first
    assert s.state.paused_at == b.NOW
    s.pause()
    assert s.state.analysis is newer
    assert s.state.paused_at is None


def test_scrubbing_stays_inside_the_samples():
    s = session()
    assert s.scrub_by(-0.1) == ""
    assert s.state.cursor == b.NOW - 60
    for _ in range(30):
        s.scrub_by(-0.1)
    assert s.state.cursor >= b.START
    for _ in range(30):
        s.scrub_by(0.1)
    assert s.state.cursor is None
    assert "no samples" in session(replace(b.bare(), frame=Frame(now=None, finished=True))).scrub_by(-1)


def test_nothing_works_before_the_first_analysis():
    empty = Session(lambda _analysis, fraction: b.estimates(fraction))
    empty.toggle("fp8-kv")
    empty.pause()
    empty.today()
    assert "nothing has been read" in empty.nudge(0.01)
    assert empty.state is None


def test_newer_readings_of_the_same_judgement_price_nothing_again():
    priced = []

    def levers(_analysis, fraction):
        priced.append(fraction)
        return b.estimates(fraction)

    founding = b.founding()
    s = Session(levers)
    s.show(founding)
    s.set_fraction(0.93)
    shown, priced[:] = s.state, []
    for second in range(1, 6):
        s.show(replace(founding, frame=replace(founding.frame, now=b.NOW + second)))
    assert s.state.analysis.frame.now == b.NOW + 5
    assert (s.state.estimates, s.state.what_if) == (shown.estimates, shown.what_if)
    assert s.state.estimates is shown.estimates
    assert priced == []
    s.show(replace(founding, estimates=b.estimates()))
    assert priced == [0.93]
