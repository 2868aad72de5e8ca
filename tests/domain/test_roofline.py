from dataclasses import replace

import pytest
from options.option_build import KIMI, account, identity

from kvtui.domain.geometry import Attention, Geometry, StateGeometry
from kvtui.domain.reading import Known, Missing
from kvtui.domain.roofline import (
    DecodeModel,
    Weights,
    bound_tok_s,
    decode_model,
    expert_share,
    needed_bandwidth,
    step_bytes,
    weights_of,
)

BIG = replace(KIMI, parameters=1_026e9, active_parameters=32e9)


def kimi():
    return decode_model(account(identity=identity(geometry=BIG)))


@pytest.mark.parametrize(("running", "share"), [(1, 0.02), (16, 0.29), (32, 0.49), (50, 0.65), (64, 0.74), (100, 0.88), (128, 0.93)])
def test_experts_touched(running, share):
    assert expert_share(running, 384, 8) == pytest.approx(share, abs=0.006)


# facts/diagnoses.md 3.3: running, context, GB a GPU and step, tokens a second at 1.79 and at 1.6 TB/s
TABLE = [
    (1, 2_100, 4.2, 423, 378), (50, 2_100, 56.4, 1_586, 1_418), (64, 0, 55.8, 2_051, 1_834), (100, 2_100, 80.0, 2_237, 2_000),
    (128, 0, 70.0, 3_272, 2_925), (147, 2_100, 92.4, 2_848, 2_545),
]  # fmt: skip


@pytest.mark.parametrize(("running", "context", "gigabytes", "fast", "slow"), TABLE)
def test_worked_table(running, context, gigabytes, fast, slow):
    model = kimi()
    near = 0.08 if running == 1 else 0.03
    assert step_bytes(model, running, context) / 1e9 == pytest.approx(gigabytes, rel=near)
    assert bound_tok_s(model, running, context, 1.79e12) == pytest.approx(fast, rel=near)
    assert bound_tok_s(model, running, context, 1.6e12) == pytest.approx(slow, rel=near)


def test_needed_bandwidth_turns_the_bound_round():
    model = kimi()
    speed = bound_tok_s(model, 147, 2_100, 1.6e12)
    assert needed_bandwidth(model, 147, 2_100, speed) == pytest.approx(1.6e12)


def test_dense_weights_are_all_read():
    dense = Geometry("d", "D", Attention.GQA, layers=2, kv_heads=2, head_dim=64, v_head_dim=64)
    told = weights_of(dense, 10.0, 4)
    assert told == Weights(0.0, 10.0 * (1 << 30))


def test_a_format_that_is_none_is_refused():
    assert isinstance(weights_of(BIG, 300.0, 8), Missing)
    assert isinstance(weights_of(replace(BIG, parameters=None), 72.33, 8), Missing)


def test_no_default_model():
    assert "geometry" in decode_model(account(identity=identity(geometry=None))).reason
    assert "weights" in decode_model(account(weights_gib=Missing("?"), identity=identity(geometry=BIG))).reason
    assert "micro-batch" in decode_model(account(identity=identity(geometry=BIG, pp=Known(2)))).reason
    packed = replace(BIG, attention=Attention.DSV4)
    assert "dsv4" in decode_model(account(identity=identity(geometry=packed))).reason


def test_dp_attention_shares_the_experts():
    split = decode_model(account(identity=identity(geometry=BIG, dp=Known(8), dp_attention=True)))
    whole = kimi()
    assert split.replicas == 8
    # One rank's 16 requests touch the experts of all 128 together.
    assert step_bytes(split, 16, 0) == pytest.approx(step_bytes(whole, 128, 0))
    assert bound_tok_s(split, 16, 0, 1e12) == pytest.approx(bound_tok_s(whole, 128, 0, 1e12))


def test_windows_and_sparse_attention_read_less_of_a_long_context():
    sparse = decode_model(account(identity=identity(geometry=replace(BIG, attention=Attention.DSA, index_head_dim=128))))
    assert sparse.window == 2_048
    assert step_bytes(sparse, 10, 100_000) < step_bytes(kimi(), 10, 100_000) / 1.5
    gemma = Geometry(
        "g", "G", Attention.SWA, layers=6, kv_heads=8, head_dim=128, v_head_dim=128, swa_layers=(0, 1, 2, 3, 4), full_layers=(5,), window=1_024
    )  # fmt: skip
    model = decode_model(account(identity=identity(geometry=gemma, tp=Known(1))))
    full, window = 8 * 256 * 2, 8 * 256 * 2 * 5
    assert step_bytes(model, 1, 10_000) - model.weights.other == 10_000 * full + 1_024 * window


def test_hybrids_read_and_write_their_states():
    hybrid = Geometry(
        "h", "H", Attention.MAMBA_HYBRID, layers=2, kv_heads=2, head_dim=64, v_head_dim=64, full_layers=(1,), state=StateGeometry((0,), 1_000, 2_000)
    )  # fmt: skip
    model = decode_model(account(identity=identity(geometry=hybrid, tp=Known(1))))
    assert model.state_bytes == 2 * (1_000 * 2 + 2_000 * 4)


def test_nothing_runs_nothing_flows():
    model = DecodeModel(Weights(0.0, 0.0), 0.0)
    assert bound_tok_s(model, 0, 0, 1e12) == 0
    assert bound_tok_s(model, 5, 0, 1e12) == 0
