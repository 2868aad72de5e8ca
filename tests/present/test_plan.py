"""The calculator's answers."""

import json

from kvtui.parse.plan_config import plan_config
from kvtui.present.plan import plan_line, plan_result, plan_text

KIMI = {
    "sglang_version": "0.5.9",
    "type": "mla",
    "pre": 94.04,
    "post": 21.71,
    "mem_fraction": 0.88,
    "num_hidden_layers": 61,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "context_len": 262144,
}


def test_one_line_in_one_object_out():
    assert plan_line(json.dumps(KIMI)) == {
        "tokens": 159_294,
        "full": None,
        "swa": None,
        "reqs": 2048,
        "mamba": None,
        "cell_bytes": 70_272,
        "rest_gib": 10.4252,
        "kv_gib": 10.4251,
        "notes": [],
    }


def test_errors_are_a_sentence_and_a_kind():
    assert plan_line("{")["kind"] == "invalid"
    too_low = plan_result(plan_config(KIMI | {"mem_fraction": 0.5}))
    assert too_low["kind"] == "no-memory"
    assert "0.770" in too_low["error"]
    assert "No pool" in plan_text(plan_config(KIMI | {"mem_fraction": 0.5}))


def test_results_are_json():
    json.dumps(plan_line(json.dumps(KIMI)), allow_nan=False)


def test_the_arithmetic_can_be_read_aloud():
    text = plan_text(plan_config(KIMI | {"max_total_tokens": 100_000}))
    for part in (
        "94.04 × (1 − 0.88) = 11.28 GiB",
        "21.71 − 11.28 = 10.43 GiB",
        "(512 + 64) × 61 layers × 2 B = 70,272 B",
        "159,294 tokens",
        "max_total_tokens 100,000 → 100,000 tokens",
        "2,048 × 262,144 × 4 B = 2.00 GiB",
    ):
        assert part in text


def test_states_and_reserves_are_rows():
    hybrid = {
        "sglang_version": "0.5.18",
        "pre": 78,
        "post": 60,
        "mem_fraction": 0.85,
        "num_hidden_layers": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "is_multimodal": True,
        "mamba_per_req": 37_748_736,
        "full_ids": list(range(3, 32, 4)),
        "mamba_ids": [0, 1, 2],
        "context_len": 131072,
    }
    text = plan_text(plan_config(hybrid))
    assert "multimodal reserve" in text
    assert "state pool" in text
