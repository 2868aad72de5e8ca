"""Configurations of the calculator: what is read, and what is refused with a sentence."""

import json

import pytest

from kvtui.domain.release import parse_release
from kvtui.parse.plan_config import parse_plan, plan_config

PLAIN = {
    "sglang_version": "0.5.9",
    "type": "mha",
    "pre": 78.0,
    "post": 60,
    "mem_fraction": 0.88,
    "num_hidden_layers": 32,
    "kv_heads": 8,
    "head_dim": 128,
}


def test_reads_a_configuration():
    config = parse_plan(json.dumps(PLAIN | {"kv_dtype": "bfloat16", "page_size": 16.0, "full_ids": [1, 2], "spec": None}))
    assert config.release == parse_release("0.5.9")
    assert (config.v_head_dim, config.kv_dtype, config.page_size, config.post) == (128, "bf16", 16, 60.0)
    assert config.full_ids == (1, 2)
    assert config.notes == ()


def test_unknown_versions_and_keys_are_notes():
    config = plan_config(PLAIN | {"sglang_version": "0.5.1x", "kv_headz": 3})
    assert config.release is None
    assert len(config.notes) == 2
    assert "kv_headz" in config.notes[1]


def test_trtllm_rows_and_dsv4_defaults():
    sparse = plan_config({"type": "dsa", "num_hidden_layers": 2, "kv_lora_rank": 512, "index_head_dim": 128, "nsa_backend": "trtllm"})
    assert sparse.raw_rows
    assert sparse.layout == "nsa"
    assert plan_config({"type": "dsv4", "num_hidden_layers": 2, "compress_ratios": [4, 128]}).swa_ratio == 0.1


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "rnn"},
        {"type": 3},
        {"pre": "much"},
        {"pre": True},
        {"pre": -1},
        {"post": 10**400},
        {"mem_fraction": 1.5},
        {"page_size": 0},
        {"page_size": 1.5},
        {"kv_heads": "8"},
        {"head_dim": None},
        {"num_hidden_layers": None},
        {"num_hidden_layers": 10**9},
        {"kv_dtype": "int3"},
        {"is_multimodal": 1},
        {"full_ids": "all"},
        {"full_ids": [1, "x"]},
        {"full_ids": [0] * 20_000},
        {"start": 40},
        {"end": 99},
        {"sglang_version": 59},
    ],
)
def test_wrong_values_are_one_sentence(changes):
    with pytest.raises(ValueError) as caught:
        plan_config(PLAIN | changes)
    text = str(caught.value)
    assert text.endswith(".")
    assert len(text) < 300
    assert "\n" not in text


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '{"pre": NaN}',
        '{"pre": 1e999, "num_hidden_layers": 2}',
        "[" * 100_000,
        '{"pre": ' + "9" * 10_000 + "}",
        " " * 2_000_000,
        "\x00\x1b[31m",
    ],
)
def test_hostile_lines_are_a_sentence(line):
    with pytest.raises(ValueError) as caught:
        parse_plan(line)
    assert len(str(caught.value)) < 300
