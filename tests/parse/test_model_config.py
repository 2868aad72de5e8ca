"""Geometry from config.json: real shapes in small, and hostile ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models import find_model
from kvtui.parse.model_config import geometry_from_config

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
DEEPSEEK = {
    "architectures": ["DeepseekV32ForCausalLM"],
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "num_hidden_layers": 61,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "index_head_dim": 128,
    "index_topk": 2048,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 163840,
    "rope_scaling": {"factor": 40, "original_max_position_embeddings": 4096, "type": "yarn"},
    "torch_dtype": "bfloat16",
    "vocab_size": 129280,
}
KIMI = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "dtype": "bfloat16",
    "text_config": {
        **{key: value for key, value in DEEPSEEK.items() if not key.startswith("index")},
        "architectures": ["DeepseekV3ForCausalLM"],
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "n_routed_experts": 384,
        "num_nextn_predict_layers": 0,
        "max_position_embeddings": 262144,
        "vocab_size": 163840,
    },
    "vision_config": {"vt_num_hidden_layers": 27, "vt_hidden_size": 1152},
}
QWEN35 = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "text_config": {
        "dtype": "bfloat16",
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
        "num_attention_heads": 24,
        "num_hidden_layers": 64,
        "num_key_value_heads": 4,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000000},
        "vocab_size": 248320,
    },
    "vision_config": {"depth": 27, "hidden_size": 1152},
}
GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "head_dim": 64,
    "hidden_size": 2880,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072,
    "num_attention_heads": 64,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "num_local_experts": 32,
    "experts_per_token": 4,
    "rope_scaling": {"factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn"},
    "sliding_window": 128,
    "vocab_size": 201088,
}
LLAMA4 = {
    "architectures": ["Llama4ForConditionalGeneration"],
    "text_config": {
        "attention_chunk_size": 8192,
        "head_dim": 128,
        "hidden_size": 5120,
        "max_position_embeddings": 10485760,
        "num_attention_heads": 40,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 48,
        "num_key_value_heads": 8,
        "num_local_experts": 16,
        "rope_scaling": {"factor": 16.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "torch_dtype": "bfloat16",
        "vocab_size": 202048,
    },
    "vision_config": {"hidden_size": 1408, "num_hidden_layers": 34},
}
GEMMA3 = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "hidden_size": 2560,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}
GEMMA4 = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "text_config": {
        "model_type": "gemma4_text",
        "dtype": "bfloat16",
        "global_head_dim": 512,
        "head_dim": 256,
        "hidden_size": 2816,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
        "max_position_embeddings": 262144,
        "num_attention_heads": 16,
        "num_experts": 128,
        "top_k_experts": 8,
        "num_global_key_value_heads": 2,
        "num_hidden_layers": 30,
        "num_key_value_heads": 8,
        "sliding_window": 1024,
        "vocab_size": 262144,
    },
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}
MIMO = {
    "architectures": ["MiMoV2FlashForCausalLM"],
    "torch_dtype": "bfloat16",
    "num_hidden_layers": 48,
    "hidden_size": 4096,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_num_key_value_heads": 8,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "sliding_window": 128,
    "hybrid_layer_pattern": [int(layer != 0 and layer % 6 != 5) for layer in range(48)],
    "max_position_embeddings": 262144,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "vocab_size": 152576,
}
NEMOTRON = {
    "architectures": ["NemotronHForCausalLM"],
    "torch_dtype": "bfloat16",
    "head_dim": 128,
    "hidden_size": 2688,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "mamba_head_dim": 64,
    "mamba_num_heads": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
    "max_position_embeddings": 262144,
    "n_routed_experts": 128,
    "num_attention_heads": 32,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 52,
    "num_key_value_heads": 2,
    "vocab_size": 131072,
}
FALCON = {
    "architectures": ["FalconH1ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 3072,
    "num_hidden_layers": 44,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 130048,
    "mamba_d_state": 256,
    "mamba_n_groups": 1,
    "mamba_n_heads": 24,
    "mamba_d_head": 128,
    "mamba_d_ssm": 3072,
    "mamba_d_conv": 4,
    "max_position_embeddings": 262144,
}
LFM2 = {
    "architectures": ["Lfm2ForCausalLM"],
    "torch_dtype": "bfloat16",
    "vocab_size": 65536,
    "hidden_size": 1536,
    "num_hidden_layers": 16,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "max_position_embeddings": 128000,
    "conv_L_cache": 3,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
}
KIMI_LINEAR = {
    "architectures": ["KimiLinearForCausalLM"],
    "dtype": "bfloat16",
    "hidden_size": 2304,
    "num_hidden_layers": 27,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 72,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_experts": 256,
    "num_experts_per_token": 8,
    "max_position_embeddings": 1048576,
    "vocab_size": 163840,
    "linear_attn_config": {
        "kda_layers": [layer for layer in range(1, 27) if layer % 4],
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
        "num_heads": 32,
        "head_dim": 128,
        "short_conv_kernel_size": 4,
    },
}
SALA = {
    "architectures": ["MiniCPMSALAForCausalLM"],
    "dtype": "bfloat16",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "lightning_nkv": 32,
    "lightning_head_dim": 128,
    "max_position_embeddings": 524288,
    "mixer_types": ["minicpm4" if layer in {0, 9, 16, 17, 22, 29, 30, 31} else "lightning-attn" for layer in range(32)],
    "vocab_size": 73448,
}
DEEPSEEK_V4 = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "torch_dtype": "bfloat16",
    "head_dim": 512,
    "hidden_size": 4096,
    "index_head_dim": 128,
    "max_position_embeddings": 1048576,
    "n_routed_experts": 256,
    "num_attention_heads": 64,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 43,
    "num_key_value_heads": 1,
    "num_nextn_predict_layers": 1,
    "qk_rope_head_dim": 64,
    "rope_scaling": {"factor": 16, "original_max_position_embeddings": 65536, "type": "yarn"},
    "sliding_window": 128,
    "vocab_size": 129280,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0],
}


def bare(geometry: Geometry) -> Geometry:
    """Without what a configuration does not tell."""
    return replace(geometry, name="", parameters=None, active_parameters=None, sure=True, note="")


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (LLAMA, "Llama-3.1-8B"),
        (DEEPSEEK, "DeepSeek-V3.2"),
        (KIMI, "Kimi-K2.5"),
        (QWEN35, "Qwen3.5-27B"),
        (GPT_OSS, "gpt-oss-20b"),
        (LLAMA4, "Llama-4-Scout"),
        (GEMMA3, "Gemma-3-4B"),
        (GEMMA4, "Gemma-4-26B-A4B"),
        (MIMO, "MiMo-V2-Flash"),
        (NEMOTRON, "Nemotron-3-Nano-30B-A3B"),
        (FALCON, "Falcon-H1-7B"),
        (LFM2, "LFM2-700M"),
        (KIMI_LINEAR, "Kimi-Linear-48B-A3B"),
        (SALA, "MiniCPM-SALA"),
        (DEEPSEEK_V4, "DeepSeek-V4-Flash"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_published_configurations_give_the_table_rows(config, model):
    found = find_model(model, None)
    assert found is not None
    read = bare(geometry_from_config(config, "any"))
    # The table names query heads where they follow from its other figures.
    assert found.geometry.heads in {None, read.heads}
    assert replace(read, heads=None) == replace(bare(found.geometry), heads=None)


def test_name_is_kept():
    assert geometry_from_config(LLAMA, "/models/mine").name == "/models/mine"


def test_multi_head_when_no_kv_heads_are_named():
    config = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
    geometry = geometry_from_config(config, "x")
    assert (geometry.attention, geometry.kv_heads) == (Attention.MHA, 32)


@pytest.mark.parametrize(
    ("changes", "kv_heads"),
    [
        ({"multi_query": True}, 1),
        ({"num_key_value_heads": None, "multi_query_group_num": 2}, 2),
        ({"num_key_value_heads": None, "num_attention_groups": 4}, 4),
        ({"attn_config": {"kv_n_heads": 6}}, 6),
        ({"num_key_value_heads": None, "block_configs": [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}]}, 4),
    ],
)
def test_kv_heads_under_their_many_names(changes, kv_heads):
    assert geometry_from_config({**LLAMA, **changes}, "x").kv_heads == kv_heads


@pytest.mark.parametrize(
    ("changes", "context"),
    [
        ({}, 131072),
        ({"rope_scaling": None}, 131072),
        ({"rope_scaling": {"factor": 4.0, "rope_type": "linear"}}, 524288),
        ({"rope_scaling": {"factor": 4.0, "type": "yarn", "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_scaling": {"factor": 8.0, "rope_type": "llama3"}}, 131072),
        ({"seq_length": 4096}, 4096),
        ({"max_position_embeddings": None}, 2048),
    ],
)
def test_context_as_sglang_derives_it(changes, context):
    assert geometry_from_config({**LLAMA, **changes}, "x").context_len == context


@pytest.mark.parametrize(
    ("changes", "dtype"),
    [
        ({}, "bfloat16"),
        ({"torch_dtype": "float32"}, "float16"),
        ({"torch_dtype": None}, "float16"),
        ({"dtype": "torch.float16"}, "float16"),
        ({"torch_dtype": None, "model_type": "gemma2", "num_key_value_heads": 8}, "bfloat16"),
    ],
)
def test_dtype_as_sglang_serves_it(changes, dtype):
    assert geometry_from_config({**LLAMA, **changes}, "x").dtype == dtype


@pytest.mark.parametrize(
    ("quantisation", "dtype"),
    [
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}, "fp8_e4m3"),
        ({"quantization": {"kv_cache_quant_algo": "fp8"}}, "fp8_e4m3"),
        ({"quant_method": "modelopt", "kv_cache_scheme": {"type": "float", "num_bits": 8}}, "fp8_e4m3"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"type": "float", "num_bits": 8}}, None),
        ({"quant_method": "modelopt", "kv_cache_quant_algo": None}, None),
        ({"quant_method": ["fp8"]}, None),
        ("fp8", None),
    ],
)
def test_kv_dtype_of_a_quantisation(quantisation, dtype):
    assert geometry_from_config({**LLAMA, "quantization_config": quantisation}, "x").kv_cache_quant == dtype


def test_shared_indexers_are_counted_once():
    types = ["full"] * 3 + ["shared", "shared", "shared", "full"] * 14 + ["shared"] * 2
    by_types = geometry_from_config({**DEEPSEEK, "indexer_types": types}, "x")
    assert by_types.index_layers == 17
    by_frequency = geometry_from_config({**DEEPSEEK, "index_topk_freq": 4, "index_skip_topk_offset": 3}, "x")
    assert by_frequency.index_layers == 2 + 15
    by_default_offset = geometry_from_config({**DEEPSEEK, "index_topk_freq": 4}, "x")
    assert by_default_offset.index_layers == 1 + 15
    by_pattern = geometry_from_config({**DEEPSEEK, "index_topk_pattern": "FS" * 30 + "F"}, "x")
    assert by_pattern.index_layers == 31


def test_thinker_part_and_its_text_part_come_first():
    nested = {key: value for key, value in LLAMA.items() if key != "architectures"}
    config = {
        "architectures": ["Qwen3OmniMoeForConditionalGeneration"],
        "text_config": {"num_hidden_layers": 1},
        "thinker_config": {"text_config": nested, "audio_config": {}},
    }
    geometry = geometry_from_config(config, "x")
    assert (geometry.layers, geometry.kv_heads, geometry.multimodal) == (32, 8, True)


def test_vision_that_names_no_depth_is_read_as_the_automatic_fraction_reads_it():
    geometry = geometry_from_config({**LLAMA, "vision_config": {"depth": 32}}, "x")
    assert (geometry.multimodal, geometry.vision_layers, geometry.vision_hidden) == (True, 24, 1024)
    assert not geometry_from_config({**LLAMA, "vision_config": {}, "language_model_only": True}, "x").multimodal


def test_gemma_3_is_served_as_text_unless_asked():
    geometry = geometry_from_config(GEMMA3, "x")
    assert (geometry.multimodal, geometry.vision_layers, geometry.vision_hidden) == (False, 27, 1152)


@pytest.mark.parametrize(
    ("config", "layers"),
    [
        ({**LLAMA, "architectures": ["IQuestLoopCoderForCausalLM"], "loop_num": 2}, 64),
        ({**LLAMA, "architectures": ["NanbeigeForCausalLM"], "num_loops": 3}, 96),
        ({**LLAMA, "architectures": ["LongcatFlashForCausalLM"], "num_hidden_layers": None, "num_layers": 28}, 56),
    ],
)
def test_looped_layers_count_each_time(config, layers):
    assert geometry_from_config(config, "x").layers == layers


def test_granite_with_and_without_mamba():
    plain = {**LLAMA, "architectures": ["GraniteMoeHybridForCausalLM"], "layer_types": ["attention"] * 32}
    assert geometry_from_config(plain, "x").attention is Attention.GQA
    mixed = {
        **plain,
        "layer_types": [*["mamba"] * 31, "attention"],
        "mamba_n_heads": 128,
        "mamba_n_groups": 1,
        "mamba_d_state": 128,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
    }
    geometry = geometry_from_config(mixed, "x")
    assert (geometry.attention, geometry.full_layers) == (Attention.MAMBA_HYBRID, (31,))
    assert geometry.state is not None
    assert geometry.state.ssm_elements == 2 * 4096 * 128


def test_jet_nemotron_bailing_and_minimax():
    jet = {
        **LLAMA,
        "architectures": ["JetNemotronForCausalLM"],
        "layer_types": ["jet", "jet", "swa", "attn"] * 8,
        "efficient_attention_config": {"jet": {"num_heads": 12, "head_dim": 96, "expand_v": 2, "conv_size": 4}},
    }
    geometry = geometry_from_config(jet, "x")
    assert geometry.state is not None
    assert (len(geometry.full_layers or ()), geometry.state.ssm_elements) == (16, 12 * 192 * 96)
    ling = {**LLAMA, "architectures": ["BailingMoeV2_5ForCausalLM"], "layer_group_size": 8, "head_dim": 128, "kv_lora_rank": 512}
    hybrid = geometry_from_config({**ling, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}, "x")
    assert (hybrid.kv_lora_rank, hybrid.full_layers) == (512, (7, 15, 23, 31))
    minimax = {**LLAMA, "architectures": ["MiniMaxM1ForCausalLM"], "attn_type_list": [0] * 7 + [1] + [0] * 23 + [1]}
    unserved = geometry_from_config(minimax, "x")
    assert unserved.full_layers == (7, 31)
    assert not unserved.sure


def test_16_bit_states_are_taken_from_the_file():
    text = {**QWEN35["text_config"], "mamba_ssm_dtype": "bfloat16"}
    geometry = geometry_from_config({**QWEN35, "text_config": text}, "x")
    assert geometry.state is not None
    assert geometry.state.ssm_bytes == 2


@pytest.mark.parametrize(
    ("model_type", "pattern", "full"),
    [("gemma2", None, (1, 3, 5, 7)), ("cohere2", None, (3, 7)), ("exaone4", "LLLG", (3, 7)), ("gemma3_text", 3, (2, 5))],
)
def test_sliding_layers_by_pattern(model_type, pattern, full):
    config = {**LLAMA, "model_type": model_type, "num_hidden_layers": 8, "sliding_window": 4096, "sliding_window_pattern": pattern}
    geometry = geometry_from_config(config, "x")
    assert (geometry.attention, geometry.full_layers) == (Attention.SWA, full)
    assert sorted((geometry.full_layers or ()) + (geometry.swa_layers or ())) == list(range(8))


def test_a_window_over_every_layer_is_not_a_hybrid():
    geometry = geometry_from_config({**LLAMA, "model_type": "mistral", "sliding_window": 4096}, "x")
    assert (geometry.attention, geometry.swa_layers) == (Attention.GQA, None)


def test_a_sliding_class_without_layer_types_is_unsure():
    config = {key: value for key, value in GPT_OSS.items() if key != "layer_types"}
    assert not geometry_from_config(config, "x").sure


@pytest.mark.parametrize(
    "changes",
    [
        {"architectures": None},
        {"architectures": []},
        {"architectures": ["no identifier!"]},
        {"architectures": [7]},
        {"architectures": ["MambaForCausalLM"]},
        {"architectures": ["MiniMaxM3SparseForConditionalGeneration"]},
        {"hidden_size": None},
        {"hidden_size": "4096"},
        {"num_hidden_layers": 0},
        {"num_hidden_layers": -1},
        {"num_hidden_layers": 10**9},
        {"num_hidden_layers": True},
        {"num_hidden_layers": float("nan")},
        {"num_attention_heads": 0},
        {"num_key_value_heads": 1.5},
        {"num_key_value_heads": 10**30},
        {"head_dim": []},
        {"vocab_size": float("inf")},
        {"rope_scaling": "linear"},
        {"rope_scaling": {"factor": float("nan")}},
        {"rope_scaling": {"factor": 10**400}},
        {"rope_scaling": {"factor": "8"}},
        {"vision_config": {"hidden_size": "wide"}},
        {"layer_types": 7},
        {"layer_types": ["sliding_attention"] * 3},
        {"hybrid_layer_pattern": [2] * 32},
        {"block_configs": [{}]},
        {"architectures": ["DeepseekV3ForCausalLM"], "kv_lora_rank": 512},
        {"architectures": ["DeepseekV4ForCausalLM"]},
        {"architectures": ["Qwen3NextForCausalLM"]},
        {"architectures": ["KimiLinearForCausalLM"]},
        {"architectures": ["NemotronHForCausalLM"], "hybrid_override_pattern": "?" * 9},
        {"architectures": ["Lfm2ForCausalLM"]},
        {
            "architectures": ["JetNemotronForCausalLM"],
            "efficient_attention_config": {"jet": {"num_heads": 1, "head_dim": 1, "expand_v": "2"}},
        },
        {"architectures": ["BailingMoeV2_5ForCausalLM"]},
    ],
)
def test_what_cannot_be_read_is_one_sentence(changes):
    with pytest.raises(ValueError) as failure:
        geometry_from_config({**LLAMA, **changes}, "x")
    sentence = str(failure.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 200


SCALARS = st.none() | st.booleans() | st.integers(-3, 10**40) | st.floats() | st.text(max_size=5)
ANY = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6
)
KEYS = sorted(
    {*LLAMA, *DEEPSEEK, *GPT_OSS, *MIMO, *NEMOTRON, *FALCON, *LFM2, *KIMI_LINEAR, *SALA, *DEEPSEEK_V4, "text_config", "vision_config"}
)
BASES = [LLAMA, DEEPSEEK, KIMI, QWEN35, GPT_OSS, LLAMA4, GEMMA3, GEMMA4, MIMO, NEMOTRON, FALCON, LFM2, KIMI_LINEAR, SALA, DEEPSEEK_V4]


@settings(max_examples=300, deadline=None)
@given(base=st.sampled_from(BASES), changes=st.dictionaries(st.sampled_from(KEYS), ANY, max_size=3))
def test_hostile_values_end_in_a_geometry_or_a_sentence(base, changes):
    changes.pop("architectures", None)
    assert outcome({**base, **changes})


def outcome(config):
    """Whether it ended well: a sound geometry, or one sentence."""
    try:
        geometry = geometry_from_config(config, "x")
    except ValueError as failure:
        return str(failure).endswith(".")
    return geometry.layers > 0 and geometry.kv_heads > 0 and geometry.dtype in {"bfloat16", "float16"}
