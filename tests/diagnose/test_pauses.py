"""Where the newest load begins, and what a verdict says after a pause."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log, context

from kvtui.diagnose.pauses import PAUSE_S, newest_load
from kvtui.diagnose.registry import diagnose
from kvtui.domain.samples import DECODE

WINDOW = 600.0


def loads(*parts, log=None):
    """A log of loads and pauses: (seconds of load, what runs, what waits) or seconds of a pause."""
    log = log or Log()
    for part in parts:
        if isinstance(part, tuple):
            seconds, running, queued = part
            log.prefill(200, running=0, queued=queued)
            for _ in range(seconds):
                log.decode(running, queued=queued)
        else:
            log.at += part
    return log


def begun(log):
    return newest_load(log.store.view(), WINDOW)


def test_without_a_pause_there_is_one_load():
    assert begun(loads((60, 8, 0))) is None


def test_the_newest_load_begins_after_the_pause():
    log = loads((60, 8, 0), 20, (30, 4, 0))
    assert begun(log) == 1080.0


def test_a_load_that_has_just_begun_is_not_judged_by_the_one_before():
    log = loads((60, 30, 20), 20, (5, 2, 0))
    assert begun(log) == 1080.0
    assert diagnose(context(log, finished=False))[0].id == "not-enough-data"
    for _ in range(30):
        log.decode(2)
    assert diagnose(context(log, finished=False))[0].id in {"client", "healthy"}


def test_bursts_are_one_load():
    log = loads((8, 30, 20), 20, (8, 30, 20), 20, (8, 30, 20))
    assert begun(log) is None


def test_a_short_silence_is_no_pause():
    assert begun(loads((60, 8, 0), PAUSE_S - 5, (30, 8, 0))) is None


def test_a_silence_in_which_requests_went_on_is_a_stall_and_no_pause():
    log = loads((60, 8, 0))
    log.at += 40
    for _ in range(20):
        log.decode(8)
    assert begun(log) is None


def test_a_warm_up_or_a_probe_is_no_load():
    log = Log()
    log.prefill(6, running=0)
    log.at += 60
    assert begun(loads((20, 8, 0), log=log)) == 1060.0


def test_pages_show_a_pause_by_a_sample_at_rest():
    log = loads((60, 8, 0))
    log.decode(0)
    log.at += 30
    for _ in range(20):
        log.decode(8)
    assert begun(log) == 1092.0


def test_a_finished_log_is_judged_over_all_its_loads():
    log = loads((60, 30, 20), 30, (20, 2, 0))
    assert diagnose(context(log, finished=True))[0].id == "kv-capacity"


@pytest.mark.parametrize("row", [{}, {"at": float("nan"), "kind": DECODE, "running": 5.0}, {"at": 1.0, "kind": DECODE}])
def test_samples_without_times_or_figures_show_no_load(row):
    log = Log()
    if row:
        log.store.append(row)
    assert begun(log) is None
