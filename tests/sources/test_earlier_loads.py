"""Which earlier answer of ``/v1/loads`` a newer one is set against."""

from __future__ import annotations

from kvtui.domain.answers import LoadRow, Loads
from kvtui.sources.server_memory import ServerMemory


def test_the_oldest_of_the_last_minute():
    memory = ServerMemory()
    assert memory.loads_before is None
    memory.loads(Loads(0.0, rows=(LoadRow(0),)), alone=False)
    assert memory.loads_before is None
    for at in range(5, 200, 5):
        memory.loads(Loads(float(at)), alone=False)
        assert memory.loads_before is not None
        assert memory.loads_before.at == max(0, at - 60)
    assert memory.told()["loads_before"] is memory.loads_before


def test_a_clock_that_is_set_back_and_answers_in_plenty_are_bounded():
    memory = ServerMemory()
    for at in (*range(1000, 1200), *range(100, 400)):
        memory.loads(Loads(at / 10), alone=False)
    assert len(memory._past_loads) <= 64
    assert memory.loads_before is not None
