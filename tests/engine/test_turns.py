"""A change of the load that lasts is told once; a passing moment is not."""

import builders as b

from kvtui.domain.frame import Frame
from kvtui.domain.samples import DECODE, SampleStore
from kvtui.engine.turns import LASTS_S, Turns


def told(*loads):
    """Seconds at which a change is told; loads are (seconds, queued, running, usage), a sample each second."""
    store, turns, found, at = SampleStore(), Turns(), [], b.NOW
    for seconds, queued, running, usage in loads:
        for _ in range(seconds):
            store.append({"at": at, "kind": DECODE, "queued": queued, "running": running, "usage": usage})
            if turns.turned(Frame(at, finished=False, timeline=store.view())):
                found.append(at - b.NOW)
            at += 1
    return found


def test_a_queue_that_lasts_is_told_once():
    assert told((30, 0, 8, 0.5), (60, 4, 8, 0.5)) == [30 + LASTS_S]


def test_another_batch_or_another_usage_is_another_load():
    assert told((30, 4, 16, 0.2), (60, 4, 8, 0.2)) == [30 + LASTS_S]
    assert told((30, 4, 16, 0.2), (60, 4, 16, 0.9)) == [30 + LASTS_S]


def test_a_moment_is_no_change():
    assert told(*[(8, 0, 8, 0.5), (8, 4, 8, 0.5)] * 10) == []


def test_noise_is_no_change():
    assert told(*[(1, 0, 8 + at % 3, 0.5 + at % 2 / 10) for at in range(100)]) == []


def test_a_frame_without_samples_tells_nothing():
    assert not Turns().turned(Frame(b.NOW, finished=False))
