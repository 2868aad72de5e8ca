from kvtui.engine.history import THINNED, WHOLE, History
from kvtui.engine.shift import Shift


def test_history_stays_bounded_and_keeps_the_newest_whole():
    history = History(whole=100, thinned=50)
    for i in range(5_000):
        history.extend([{"at": float(i), "kind": 1.0, "running": float(i)}])
    view = history.view()
    assert len(view) < 450
    newest = list(view.column("at"))[-100:]
    assert newest == [float(i) for i in range(4_900, 5_000)]
    times = list(view.column("at"))
    assert times == sorted(times)
    assert times[0] < 2_500


def test_a_view_does_not_change_when_rows_are_added_or_thinned():
    history = History(whole=10, thinned=5)
    history.extend([{"at": float(i)} for i in range(10)])
    view = history.view()
    before = list(view.column("at"))
    history.extend([{"at": float(i)} for i in range(10, 60)])
    assert list(view.column("at")) == before


def test_rows_are_shifted_to_the_clock_of_the_log():
    history = History()
    history.extend([{"at": 100.0}], shift=3600.0)
    assert history.view().value("at", 0) == 3700.0


def test_the_zone_of_a_log_is_learnt_when_lines_come_in():
    shift = Shift(0.0)
    shift.seen(1_000_000.0, 1_000_000.0 - 7 * 3600)
    assert shift.seconds == 0.0, "one stamp may be old: nothing has moved yet"
    shift.seen(1_000_010.0, 1_000_011.5 - 7 * 3600)
    assert shift.seconds == 7 * 3600


def test_a_file_that_is_being_written_tells_its_zone_at_once():
    shift = Shift(0.0)
    shift.seen(1_000_000.0, 1_000_020.0 + 2 * 3600, fresh=True)
    assert shift.seconds == -2 * 3600


def test_lines_that_were_written_long_ago_teach_no_zone():
    shift = Shift(3600.0)
    shift.seen(1.0, 500_000.0)
    shift.seen(2.0, 500_700.0)
    assert shift.seconds == 3600.0


def test_a_day_of_pages_of_eight_ranks_takes_little_memory():
    """Each row is some 140 bytes: a console that runs for days must not grow by what nobody looks at."""
    history = History()
    assert WHOLE + THINNED <= 30_000
    for i in range(2 * WHOLE):
        history.extend([{"at": float(i)}])
    assert len(history.view()) <= THINNED + WHOLE + WHOLE // 4
