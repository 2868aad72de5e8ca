from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import boot, context, event

from kvtui.diagnose.registry import diagnose


def failed(*events, **given):
    settings = given.pop("settings", {})
    found = diagnose(context(start=boot(pool=None, state="failed", **settings), events=events, **given))[0]
    assert found.id == "startup-failure"
    return found


def test_a_host_too_small_for_hicache_gets_the_size_that_fits():
    found = failed(event("host-memory", requested_gb=120.0, host_free_gb=410.0), settings={"tp_size": 8})
    assert "120.00 GB" in found.sentence
    # 0.8 of (410 - 10.737) over 8 ranks
    assert "--hicache-size 39: 39 GB × 8 ranks = 312 GB" in found.advice[0]


def test_no_hicache_where_nothing_fits():
    assert "no --enable-hierarchical-cache" in failed(event("host-memory", requested_gb=20.0, host_free_gb=11.0)).advice[0]


@pytest.mark.parametrize("value", [float("nan"), -5.0, float("inf"), 1e30])
def test_wild_figures_of_the_line_are_not_used(value):
    found = failed(event("host-memory", requested_gb=value, host_free_gb=value))
    assert "nan" not in found.sentence + str(found.advice)
    assert "inf" not in found.sentence


@pytest.mark.parametrize(
    ("text", "first", "word"),
    [
        ("Hybrid (mamba/linear-attention) state cache is too small to serve any requests", "mamba-ratio", "--mamba-full-memory-ratio"),
        ("SWA pool cap (4096 tokens) leaves no room for the full KV pool", "swa-ratio", "Lower --swa-full-tokens-ratio"),
        ("SWA pool (100 tokens) cannot hold even one request", "swa-ratio", "Raise --swa-full-tokens-ratio"),
    ],
)
def test_small_pools_go_the_right_way(text, first, word):
    found = failed(event("state-too-small", text), pre_gib=80.0, fraction=0.8)
    assert found.fixes[0] == first
    assert word in found.advice[0]
    assert "0.80 GiB" in str(found.advice)


def test_unequal_gpus_are_no_matter_of_the_fraction():
    found = failed(event("unbalanced", "The memory capacity is unbalanced"), event("exception", "Scheduler hit an exception", line=501))
    assert found.fixes == ("free-other-processes",)
    assert "Neither raising nor lowering" in found.advice[1]


def test_a_warning_of_unequal_gpus_fails_no_start():
    found = diagnose(context(start=boot(), events=(event("unbalanced", "The memory capacity is unbalanced"),)))
    assert "startup-failure" not in [f.id for f in found]
    assert "foreign-memory" in [f.id for f in found]
