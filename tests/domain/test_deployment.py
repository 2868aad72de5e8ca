"""From a model and a server's settings to its pool."""

from dataclasses import replace

import pytest

from kvtui.domain.geometry import Attention, Geometry, StateGeometry
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import SizingError, cell, size
from kvtui.domain.sizing.deployment import Deployment, attention_tp, config_for, kv_dtype_of

KIMI = Geometry(
    name="Kimi-K2.5",
    architecture="KimiK25ForConditionalGeneration",
    attention=Attention.MLA,
    layers=61,
    kv_heads=64,
    head_dim=192,
    v_head_dim=128,
    context_len=262144,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    multimodal=True,
)
LLAMA = Geometry(
    name="Llama",
    architecture="LlamaForCausalLM",
    attention=Attention.GQA,
    layers=32,
    kv_heads=8,
    head_dim=128,
    v_head_dim=128,
    context_len=131072,
)
OSS = replace(
    LLAMA,
    architecture="GptOssForCausalLM",
    attention=Attention.SWA,
    layers=36,
    head_dim=64,
    v_head_dim=64,
    full_layers=tuple(range(1, 36, 2)),
    swa_layers=tuple(range(0, 36, 2)),
    window=128,
)
NEXT = replace(
    LLAMA,
    architecture="Qwen3NextForCausalLM",
    attention=Attention.MAMBA_HYBRID,
    layers=48,
    kv_heads=2,
    head_dim=256,
    v_head_dim=256,
    state=StateGeometry(layers=tuple(i for i in range(48) if i % 4 != 3), conv_elements=24576, ssm_elements=524288),
)
V4 = replace(
    LLAMA,
    architecture="DeepseekV4ForCausalLM",
    attention=Attention.DSV4,
    layers=43,
    kv_heads=1,
    head_dim=512,
    v_head_dim=512,
    qk_rope_head_dim=64,
    index_head_dim=128,
    window=128,
    nextn_layers=1,
    compress_ratios=(0, 0, *((4, 128) * 20), 4),
)


def start(release, **settings):
    return Deployment(parse_release(release), **{"tp": 8, "pre": 94.04, "post": 21.71, "fraction": 0.88, "page_size": 1, **settings})


def test_the_founding_server_from_its_settings():
    sized = size(config_for(KIMI, start("0.5.9")))
    assert abs(sized.tokens - 159_277) <= 20
    assert sized.reqs == 2048


def test_attention_tp():
    assert attention_tp(start("0.5.9", dp=4, dp_attention=True)) == 2
    assert attention_tp(start("0.5.9", dp=4)) == 8
    assert attention_tp(start("0.5.9", dp=8, dp_attention=True, attn_cp=2)) == 1


def test_dp_attention_does_not_shrink_a_latent_but_spreads_heads_less():
    spread, whole = start("0.5.18", dp=8, dp_attention=True), start("0.5.18")
    assert cell(config_for(KIMI, spread)).bytes == cell(config_for(KIMI, whole)).bytes
    assert cell(config_for(LLAMA, spread)).bytes == 8 * cell(config_for(LLAMA, whole)).bytes


@pytest.mark.parametrize(
    ("named", "quant", "release", "expected"),
    [
        (None, None, "0.5.9", "bf16"),
        ("auto", "fp8_e4m3", "0.5.9", "fp8_e4m3"),
        ("auto", "fp8_e4m3", "0.4.10", "bf16"),
        ("torch.float8_e5m2", None, "0.5.9", "fp8_e5m2"),
        ("bfloat16", "fp8_e4m3", "0.5.9", "bf16"),
        ("int3", None, "0.5.9", None),
    ],
)
def test_kv_dtype(named, quant, release, expected):
    assert kv_dtype_of(replace(KIMI, kv_cache_quant=quant), start(release, kv_dtype=named)) == expected


def test_speculative_decoding_forces_48_requests():
    config = config_for(KIMI, start("0.5.9", spec="EAGLE3", steps=3, topk=1, draft_tokens=4))
    assert config.max_running_requests == 48
    assert any("48" in note for note in config.notes)
    assert size(config).reqs == 48


def test_windows_follow_the_release():
    assert not config_for(OSS, start("0.5.6")).hybrid_swa
    assert config_for(OSS, start("0.5.9")).hybrid_swa
    assert not config_for(OSS, start("0.5.9", disable_hybrid_swa_memory=True)).hybrid_swa
    assert not config_for(replace(OSS, architecture="Gemma3ForCausalLM"), start("0.5.9")).hybrid_swa
    assert size(config_for(OSS, start("0.5.18"))).swa is not None


def test_the_stage_with_the_largest_cell_decides():
    config = config_for(replace(LLAMA, layers=61), start("0.5.18", pp=2))
    assert (config.start, config.end) == (30, 61)
    window = config_for(OSS, start("0.5.9", pp=2))
    assert window.stage == range(19)
    assert config_for(OSS, start("0.5.21", pp=2)).stage == range(18)


def test_hybrids_count_their_states():
    sized = size(config_for(NEXT, start("0.5.18", tp=4)))
    per_request = (24576 // 4 * 2 + 524288 // 4 * 4) * 36
    assert sized.state_gib == pytest.approx((sized.mamba + 1) * per_request / 2**30)
    halved = size(config_for(NEXT, start("0.5.18", tp=4, ssm_bytes=2)))
    assert halved.mamba > 1.9 * sized.mamba


def test_deepseek_v4_as_a_real_log_prints_it():
    # "bytes_per_full_token=15955.85, available_bytes=45.78 GB, full_token=3080960" of a TP8 server.
    config = config_for(V4, start("0.5.12", pre=93.56, post=57.01, fraction=0.88, page_size=256))
    assert cell(config).bytes == pytest.approx(15955.85, abs=0.005)
    assert config.max_running_requests == 256
    rest = size(config).rest_gib
    assert size(replace(config, post=config.post + 45.78 - rest)).tokens == pytest.approx(3_080_960, rel=2e-4)


@pytest.mark.parametrize(
    ("geometry", "settings"),
    [
        (LLAMA, {"dcp": 2}),
        (LLAMA, {"hisparse": True}),
        (LLAMA, {"unified_memory": True}),
        (LLAMA, {"kv_dtype": "mxfp8"}),
        (replace(LLAMA, architecture="MiniMaxM3ForCausalLM"), {}),
        (replace(NEXT, state=None), {}),
        (V4, {"page_size": 64}),
    ],
)
def test_refuses_what_it_does_not_model(geometry, settings):
    with pytest.raises(SizingError):
        size(config_for(geometry, start("0.5.18", **settings)))


def test_multimodal_reserve_only_where_images_are_served():
    assert size(config_for(KIMI, start("0.5.18"))).reserve_gib > 0
    assert size(config_for(KIMI, start("0.5.18", multimodal=False))).reserve_gib == 0
    text = replace(KIMI, architecture="Gemma3ForConditionalGeneration")
    assert not config_for(text, start("0.5.18")).multimodal
    assert config_for(text, start("0.5.18", multimodal=True)).multimodal
