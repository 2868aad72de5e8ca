"""Which GPUs a server's reply is drawn for, where no log tells of each."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from kvtui.domain.accounting import account
from kvtui.domain.boot import Boot, FinalLine, RankMemory, Setting, WeightLoad
from kvtui.domain.ledgers import ledgers
from kvtui.domain.rank import MAIN, Rank
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.samples import SampleStore

HTTP = Where("http", "/server_info")


def labels(ranks, where=HTTP, **settings):
    memory = tuple(
        RankMemory(
            rank=rank,
            init_usage_gib=Missing("not told"),
            loads=(WeightLoad(begin_gib=Missing("x"), end_gib=Missing("x"), usage_gib=Known(15.0, None, where), type=None),),
            final=FinalLine(1_000, None, None, None, None, 5.0, None, where),
        )
        for rank in ranks
    )
    asked = {name: Setting(name, value, "server_info", where) for name, value in settings.items()}
    boot = Boot(0, 0, 0, None, None, "up", Missing("x"), settings=MappingProxyType(asked), ranks=memory)
    return [bar.label for bar in ledgers(boot, account(boot), SampleStore().view())]


@pytest.mark.parametrize(
    ("ranks", "settings", "told"),
    [
        ((MAIN,), {}, ["GPU"]),
        ((MAIN,), {"tp_size": 2}, ["TP0", "TP1"]),
        ((MAIN,), {"tp_size": 2, "pp_size": 2}, ["PP0 TP0", "PP0 TP1", "PP1 TP0", "PP1 TP1"]),
        ((Rank(dp=0), Rank(dp=1)), {"tp_size": 2, "dp_size": 2}, ["DP0 TP0", "DP0 TP1", "DP1 TP0", "DP1 TP1"]),
        ((Rank(dp=0), Rank(dp=1)), {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}, ["DP0", "DP1"]),
    ],
)
def test_a_reply_holds_for_every_gpu_of_its_replica(ranks, settings, told):
    assert labels(ranks, **settings) == told


def test_a_log_s_rank_holds_for_itself_alone():
    assert labels((MAIN,), Where("log", "", 3), tp_size=2) == ["GPU"]


def test_a_size_that_no_server_has_is_bounded():
    assert len(labels((MAIN,), tp_size=100_000)) == 256
