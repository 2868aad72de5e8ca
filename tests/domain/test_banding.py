from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnose"))
from loads import Log, account, boot, context, event

from kvtui.domain.banding import band_of, ratio_of
from kvtui.domain.samples import EMPTY_TIMELINE
from kvtui.domain.workload import observe


def load(*, queued: float = 0, running: float = 9) -> Log:
    log = Log()
    for i in range(60):
        log.decode(running + i % 2, queued=queued, pool=4096, m=308)
        log.prefill(198, running=running)
    return log


def test_without_a_load_there_is_no_band():
    assert band_of(observe(EMPTY_TIMELINE, (), pool_tokens=4096), account(tokens_reported=4096)) is None


def test_unknown_max_new_tokens_widen_the_band():
    band = context(load(), start=boot(pool=4096)).band
    assert band is not None
    assert band.low == 0.0  # the prompt and 4,096 tokens are more than this pool
    assert band.high > 11


def test_a_queue_below_the_cap_shows_what_admission_lets_in():
    band = context(load(queued=20), start=boot(pool=4096)).band
    assert band is not None
    assert 1 < band.low < 9
    assert band.high == 11


def test_a_queue_at_the_cap_says_nothing_of_the_pool():
    free = context(load(), start=boot(pool=4096, cap=10)).band
    full = context(load(queued=20), start=boot(pool=4096, cap=10)).band
    assert free is not None
    assert full is not None
    assert (free.low, free.high) == (full.low, full.high)


def test_settings_and_retractions_move_the_ratio():
    assert ratio_of(None, ()).low == ratio_of(boot(), ()).low
    assert ratio_of(boot(schedule_conservativeness=0.3), ()).low < 0.03
    assert ratio_of(boot(enable_dp_attention=True), ()).low < 0.03
    assert ratio_of(boot(), (event("retract", ratio_after=0.8),)).high == 0.8
