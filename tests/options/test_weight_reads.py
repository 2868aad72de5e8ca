"""Weights of fewer bits cannot make a step faster than the bytes that are no longer read."""

from dataclasses import replace

import pytest
from options.option_build import KIMI, account, boot, context, identity, workload

from kvtui.domain.geometry import Attention
from kvtui.domain.plan import Speed
from kvtui.domain.reading import Known, Missing
from kvtui.domain.roofline import bound_tok_s, decode_model
from kvtui.options.plan import combine
from kvtui.options.quantize_weights import quantize_weights
from kvtui.options.registry import estimates
from kvtui.options.weight_reads import bounded

CELL = 81_920.0
WEIGHTS = 35.3e9
PAIRS = Speed(1.0, 1.25, 1.87, "pairs")
DENSE = replace(KIMI, parameters=70.6e9, experts=None, experts_per_token=None, attention=Attention.GQA)


def server(limit="healthy", *, cell=None, cap=2_048, bandwidth=None, **load):
    """A dense model on 4 GPUs, 144 requests of 2,150 tokens: a step reads 35.3 GB of weights and 25.4 GB of KV."""
    full = {"running": 144.0, "queued": 0.0, "tok_s": 4_176.0, "resident": 2_150.0, "pool": 440_000, **load}
    stored = account(
        identity=identity(geometry=DENSE, attention=Known(Attention.GQA), tp=Known(4)), weights_gib=Known(WEIGHTS / (1 << 30)),
        cell_bytes=cell or Known(CELL), divisor_bytes=Known(CELL), tokens_reported=Known(full["pool"]), running_cap=Known(cap),
    )  # fmt: skip
    known = {"bandwidth": Known(bandwidth)} if bandwidth else {}
    return context(limit, account=stored, workload=workload(**full), boot=boot(chunked_prefill_size=8_192, cuda_graph_max_bs=512), **known)


FULL = {"running": 20.0, "queued": 40.0, "tok_s": 609.0, "pool": 45_000}


def test_same_batch_is_bounded_by_the_bytes_of_a_step():
    told = quantize_weights(server())
    kv = 144 * 2_150 * CELL
    assert told.tok_s.high / 4_176 == pytest.approx((WEIGHTS + kv) / (WEIGHTS / 2 + kv), rel=1e-6)
    assert told.tok_s.high / 4_176 == pytest.approx(1.41, abs=0.005)
    assert told.tok_s.low <= told.tok_s.mid <= told.tok_s.high
    assert "at most ×1.41 by the bytes of a step at 144 running (weights 35.3 → 17.6 GB, KV 25.4 GB)" in told.tok_s.basis


def test_little_weight_leaves_no_range_above_the_bound():
    told = bounded(server(), PAIRS, 1_440.0, 0.5)
    assert told.high == told.mid == pytest.approx(1.07, abs=0.01)
    assert told.low == 1.0


@pytest.mark.parametrize(
    ("changes", "running"), [({"cell": Missing("no cell")}, 144.0), ({"resident": None}, 144.0), ({}, None)], ids=["cell", "size", "load"]
)
def test_unknown_bytes_keep_the_pairs(changes, running):
    made = server(**{**changes, "pool": 440_000})
    told = bounded(made, PAIRS, running, 0.5)
    assert (told.low, told.mid, told.high) == (1.0, 1.25, 1.87)
    assert "an upper end only where weights are all a step reads" in told.basis


def test_a_lever_without_bytes_says_so():
    told = quantize_weights(server(cell=Missing("no cell")))
    assert told.tok_s.high / 4_176 == pytest.approx(1.87)
    assert "an upper end only where weights are all a step reads" in told.tok_s.basis


def test_a_larger_batch_is_what_bounds_it():
    """The pool grows besides: more KV is read then, and the best of both together is not promised."""
    made = server("kv-capacity", **FULL)
    told = quantize_weights(made)
    kv = 60 * 2_150 * CELL
    most = (WEIGHTS + kv) / (WEIGHTS / 2 + kv)
    assert told.change.speed.high == pytest.approx(most)
    grown = told.tok_s.mid / told.change.speed.mid
    assert told.tok_s.high <= max(grown * most, 609 * 3 * told.change.speed.mid) * (1 + 1e-9)
    assert "at 60 running" in told.tok_s.basis
    assert "the best of one with the middle of the other" in told.tok_s.basis


def test_bandwidth_ends_it_at_the_batch_that_the_cap_allows():
    made = server("kv-capacity", cap=30, bandwidth=1.1e12, **FULL)
    told = quantize_weights(made)
    model = decode_model(made.account)
    lighter = replace(model, weights=replace(model.weights, other=WEIGHTS * told.change.weight_ratio))
    assert told.tok_s.high == pytest.approx(bound_tok_s(lighter, 30.0, 2_150.0, 1.1e12), rel=1e-6)
    assert "cut at the bandwidth's ceiling" in told.tok_s.basis


def test_a_plan_takes_the_bounded_factor():
    made = server()
    plan = combine(made, estimates(made), ["quantize-weights", "raise-fraction"])
    assert plan.tok_s.high / 4_176 < 1.42
