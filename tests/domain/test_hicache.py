"""HiCache's host pools."""

from dataclasses import replace

import pytest

from kvtui.domain.hicache import HostRequest, plan_host
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import SizingError

ASK = HostRequest(release=parse_release("0.5.9"), device_tokens=100_000, token_bytes=70_272, page_size=64, ranks=8)


def at(release, **changes):
    return replace(ASK, release=parse_release(release), **changes)


def test_the_size_flag_is_decimal_and_of_each_rank():
    plan = plan_host(at("0.5.9", size_gb=100.0))
    assert plan.tokens == 1_423_104
    assert plan.rank_gb == pytest.approx(100.0, abs=0.01)
    assert plan.host_gb == pytest.approx(800.0, abs=0.1)


@pytest.mark.parametrize(("release", "tokens"), [("0.5.3", 199_936), ("0.5.6", 200_000)])
def test_pages_round_down_before_0_5_6(release, tokens):
    assert plan_host(at(release, ratio=1.9998)).tokens == (199_936 if release == "0.5.3" else tokens)


def test_an_extra_page_even_on_a_whole_number():
    assert plan_host(at("0.5.6", device_tokens=64_000)).tokens == 128_064


def test_a_small_host_pool_is_refused_until_0_5_12():
    assert "larger than the device pool" in plan_host(at("0.5.12", ratio=0.5)).refused
    later = plan_host(at("0.5.15", ratio=0.5))
    assert later.refused == ""
    assert "not larger" in later.notes[0]


def test_ranks_that_check_alone_can_run_out_together():
    alone = plan_host(at("0.5.18", size_gb=50.0, available_gb=300.0))
    assert alone.refused == ""
    assert "together" in alone.notes[0]
    assert "Not enough host memory" in plan_host(at("0.5.21", size_gb=50.0, available_gb=300.0)).refused
    assert plan_host(at("0.5.21", size_gb=30.0, available_gb=300.0)).refused == ""


def test_the_automatic_ratio_is_named():
    assert any("lowers the ratio" in note for note in plan_host(at("0.5.23")).notes)
    assert not any("lowers the ratio" in note for note in plan_host(at("0.5.23", ratio=2.0)).notes)


def test_refuses_senseless_sizes():
    with pytest.raises(SizingError):
        plan_host(replace(ASK, token_bytes=0))
