"""The table of models against published figures, and its look-up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtui.domain.geometry import Attention, Geometry, StateGeometry
from kvtui.domain.models import MODELS, attention_of, candidates, find_model, is_draft, swa_memory
from kvtui.domain.models.architectures import DSA_CLASSES, MLA_CLASSES, NOT_MODELLED, SWA_MEMORY, TEXT_ONLY_UNLESS_ASKED
from kvtui.domain.models.states import gdn_state, kda_state, mamba2_state, short_conv_state
from kvtui.domain.release import parse_release

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"

# Bytes that one token takes at 16 bit on one GPU, from the published layers, KV heads and widths of a
# head's K and V together; MLA: latent and rotary width; DSA: and 132 bytes of an indexer key; SWA: with
# as many sliding as full slots.
PUBLISHED = {
    "DeepSeek-V3": ("mla", 61 * 576 * 2),
    "DeepSeek-R1": ("mla", 61 * 576 * 2),
    "DeepSeek-V3.2": ("dsa", 61 * 576 * 2 + 61 * 132),
    "DeepSeek-V2": ("mla", 60 * 576 * 2),
    "DeepSeek-V2-Lite": ("mla", 27 * 576 * 2),
    "DeepSeek-R1-Distill-Qwen-1.5B": ("gqa", 28 * 2 * 256 * 2),
    "DeepSeek-R1-Distill-Qwen-7B": ("gqa", 28 * 4 * 256 * 2),
    "DeepSeek-R1-Distill-Qwen-14B": ("gqa", 48 * 8 * 256 * 2),
    "DeepSeek-R1-Distill-Qwen-32B": ("gqa", 64 * 8 * 256 * 2),
    "DeepSeek-R1-Distill-Llama-8B": ("gqa", 32 * 8 * 256 * 2),
    "DeepSeek-R1-Distill-Llama-70B": ("gqa", 80 * 8 * 256 * 2),
    "Kimi-K2": ("mla", 61 * 576 * 2),
    "Kimi-K2-Thinking": ("mla", 61 * 576 * 2),
    "Kimi-K2.5": ("mla", 61 * 576 * 2),
    "Kimi-K2.6": ("mla", 61 * 576 * 2),
    "Kimi-Linear-48B-A3B": ("mamba-hybrid", 7 * 576 * 2),
    "Kimi-K3": ("mamba-hybrid", 24 * 576 * 2),
    "Moonlight-16B-A3B": ("mla", 27 * 576 * 2),
    "Kimi-VL-A3B": ("mla", 27 * 576 * 2),
    "LongCat-Flash": ("mla", 56 * 576 * 2),
    "Qwen2.5-0.5B": ("gqa", 24 * 2 * 128 * 2),
    "Qwen2.5-1.5B": ("gqa", 28 * 2 * 256 * 2),
    "Qwen2.5-3B": ("gqa", 36 * 2 * 256 * 2),
    "Qwen2.5-7B": ("gqa", 28 * 4 * 256 * 2),
    "Qwen2.5-14B": ("gqa", 48 * 8 * 256 * 2),
    "Qwen2.5-32B": ("gqa", 64 * 8 * 256 * 2),
    "Qwen2.5-72B": ("gqa", 80 * 8 * 256 * 2),
    "QwQ-32B": ("gqa", 64 * 8 * 256 * 2),
    "Qwen2.5-VL-3B": ("gqa", 36 * 2 * 256 * 2),
    "Qwen2.5-VL-7B": ("gqa", 28 * 4 * 256 * 2),
    "Qwen2.5-VL-32B": ("gqa", 64 * 8 * 256 * 2),
    "Qwen2.5-VL-72B": ("gqa", 80 * 8 * 256 * 2),
    "Qwen3-0.6B": ("gqa", 28 * 8 * 256 * 2),
    "Qwen3-1.7B": ("gqa", 28 * 8 * 256 * 2),
    "Qwen3-4B": ("gqa", 36 * 8 * 256 * 2),
    "Qwen3-8B": ("gqa", 36 * 8 * 256 * 2),
    "Qwen3-14B": ("gqa", 40 * 8 * 256 * 2),
    "Qwen3-32B": ("gqa", 64 * 8 * 256 * 2),
    "Qwen3-30B-A3B": ("gqa", 48 * 4 * 256 * 2),
    "Qwen3-235B-A22B": ("gqa", 94 * 4 * 256 * 2),
    "Qwen3-Coder-30B-A3B": ("gqa", 48 * 4 * 256 * 2),
    "Qwen3-Coder-480B-A35B": ("gqa", 62 * 8 * 256 * 2),
    "Qwen3-VL-2B": ("gqa", 28 * 8 * 256 * 2),
    "Qwen3-VL-4B": ("gqa", 36 * 8 * 256 * 2),
    "Qwen3-VL-8B": ("gqa", 36 * 8 * 256 * 2),
    "Qwen3-VL-32B": ("gqa", 64 * 8 * 256 * 2),
    "Qwen3-VL-30B-A3B": ("gqa", 48 * 4 * 256 * 2),
    "Qwen3-VL-235B-A22B": ("gqa", 94 * 4 * 256 * 2),
    "Qwen3-Next-80B-A3B": ("mamba-hybrid", 12 * 2 * 512 * 2),
    "Qwen3.5-0.8B": ("mamba-hybrid", 6 * 2 * 512 * 2),
    "Qwen3.5-2B": ("mamba-hybrid", 6 * 2 * 512 * 2),
    "Qwen3.5-4B": ("mamba-hybrid", 8 * 4 * 512 * 2),
    "Qwen3.5-9B": ("mamba-hybrid", 8 * 4 * 512 * 2),
    "Qwen3.5-27B": ("mamba-hybrid", 16 * 4 * 512 * 2),
    "Qwen3.8-27B": ("mamba-hybrid", 16 * 4 * 512 * 2),
    "Qwen3.5-35B-A3B": ("mamba-hybrid", 10 * 2 * 512 * 2),
    "Qwen3.5-122B-A10B": ("mamba-hybrid", 12 * 2 * 512 * 2),
    "Qwen3.5-397B-A17B": ("mamba-hybrid", 15 * 2 * 512 * 2),
    "Llama-2-7B": ("mha", 32 * 32 * 256 * 2),
    "Llama-2-13B": ("mha", 40 * 40 * 256 * 2),
    "Llama-2-70B": ("gqa", 80 * 8 * 256 * 2),
    "Llama-3-8B": ("gqa", 32 * 8 * 256 * 2),
    "Llama-3-70B": ("gqa", 80 * 8 * 256 * 2),
    "Llama-3.1-8B": ("gqa", 32 * 8 * 256 * 2),
    "Llama-3.1-70B": ("gqa", 80 * 8 * 256 * 2),
    "Llama-3.1-405B": ("gqa", 126 * 8 * 256 * 2),
    "Llama-3.2-1B": ("gqa", 16 * 8 * 128 * 2),
    "Llama-3.2-3B": ("gqa", 28 * 8 * 256 * 2),
    "Llama-4-Scout": ("swa", 12 * 8 * 256 * 2 + 36 * 8 * 256 * 2),
    "Llama-4-Maverick": ("swa", 12 * 8 * 256 * 2 + 36 * 8 * 256 * 2),
    "Llama-3.3-Nemotron-Super-49B": ("gqa", 80 * 8 * 256 * 2),
    "Nemotron-H-8B": ("mamba-hybrid", 4 * 8 * 256 * 2),
    "Nemotron-H-56B": ("mamba-hybrid", 10 * 8 * 256 * 2),
    "Nemotron-Nano-9B-v2": ("mamba-hybrid", 4 * 8 * 256 * 2),
    "Nemotron-3-Nano-30B-A3B": ("mamba-hybrid", 6 * 2 * 256 * 2),
    "Nemotron-3.5-Lightning-30B-A3B": ("mamba-hybrid", 6 * 2 * 256 * 2),
    "Nemotron-3-Super-120B-A12B": ("mamba-hybrid", 8 * 2 * 256 * 2),
    "Nemotron-3-Ultra-550B-A55B": ("mamba-hybrid", 12 * 2 * 256 * 2),
    "GLM-4-9B-0414": ("gqa", 40 * 2 * 256 * 2),
    "GLM-4-32B-0414": ("gqa", 61 * 2 * 256 * 2),
    "GLM-4-9B-Chat": ("gqa", 40 * 2 * 256 * 2),
    "GLM-4.5": ("gqa", 92 * 8 * 256 * 2),
    "GLM-4.6": ("gqa", 92 * 8 * 256 * 2),
    "GLM-4.7": ("gqa", 92 * 8 * 256 * 2),
    "GLM-4.5-Air": ("gqa", 46 * 8 * 256 * 2),
    "GLM-4.5V": ("gqa", 46 * 8 * 256 * 2),
    "GLM-4.6V": ("gqa", 46 * 8 * 256 * 2),
    "GLM-4.7-Flash": ("mla", 47 * 576 * 2),
    "GLM-5": ("dsa", 78 * 576 * 2 + 78 * 132),
    "GLM-5.2": ("dsa", 78 * 576 * 2 + 21 * 132),
    "MiniMax-M2": ("gqa", 62 * 8 * 256 * 2),
    "MiniMax-M2.7": ("gqa", 62 * 8 * 256 * 2),
    "Step-3.5-Flash": ("swa", 12 * 8 * 256 * 2 + 33 * 8 * 256 * 2),
    "Step3": ("gqa", 61 * 1 * 512 * 2),
    "MiMo-V2-Flash": ("swa", 9 * 4 * 320 * 2 + 39 * 8 * 320 * 2),
    "MiMo-7B": ("gqa", 36 * 8 * 256 * 2),
    "Hunyuan-A13B": ("gqa", 32 * 8 * 256 * 2),
    "ERNIE-4.5-21B-A3B": ("gqa", 28 * 4 * 256 * 2),
    "ERNIE-4.5-300B-A47B": ("gqa", 54 * 8 * 256 * 2),
    "ERNIE-4.5-0.3B": ("gqa", 18 * 2 * 256 * 2),
    "Seed-OSS-36B": ("gqa", 64 * 8 * 256 * 2),
    "InternLM2.5-7B": ("gqa", 32 * 8 * 256 * 2),
    "InternLM2.5-20B": ("gqa", 48 * 8 * 256 * 2),
    "InternLM3-8B": ("gqa", 48 * 2 * 256 * 2),
    "MiniCPM-SALA": ("mamba-hybrid", 8 * 2 * 256 * 2),
    "gpt-oss-20b": ("swa", 12 * 8 * 128 * 2 + 12 * 8 * 128 * 2),
    "gpt-oss-120b": ("swa", 18 * 8 * 128 * 2 + 18 * 8 * 128 * 2),
    "Gemma-2-2B": ("swa", 13 * 4 * 512 * 2 + 13 * 4 * 512 * 2),
    "Gemma-2-9B": ("swa", 21 * 8 * 512 * 2 + 21 * 8 * 512 * 2),
    "Gemma-2-27B": ("swa", 23 * 16 * 256 * 2 + 23 * 16 * 256 * 2),
    "Gemma-3-1B": ("swa", 4 * 1 * 512 * 2 + 22 * 1 * 512 * 2),
    "Gemma-3-4B": ("swa", 5 * 4 * 512 * 2 + 29 * 4 * 512 * 2),
    "Gemma-3-12B": ("swa", 8 * 8 * 512 * 2 + 40 * 8 * 512 * 2),
    "Gemma-3-27B": ("swa", 10 * 16 * 256 * 2 + 52 * 16 * 256 * 2),
    "Gemma-4-26B-A4B": ("swa", 5 * 2 * 1024 * 2 + 25 * 8 * 512 * 2),
    "Gemma-4-31B": ("swa", 10 * 4 * 1024 * 2 + 50 * 16 * 512 * 2),
    "Gemma-4-12B": ("swa", 8 * 1 * 1024 * 2 + 40 * 8 * 512 * 2),
    "Gemma-4-E2B": ("swa", 7 * 1 * 1024 * 2 + 28 * 1 * 512 * 2),
    "Gemma-4-E4B": ("swa", 7 * 2 * 1024 * 2 + 35 * 2 * 512 * 2),
    "Mistral-7B": ("gqa", 32 * 8 * 256 * 2),
    "Mistral-Nemo": ("gqa", 40 * 8 * 256 * 2),
    "Mistral-Small-22B": ("gqa", 56 * 8 * 256 * 2),
    "Mistral-Small-24B": ("gqa", 40 * 8 * 256 * 2),
    "Mistral-Small-3.1-24B": ("gqa", 40 * 8 * 256 * 2),
    "Devstral-Small": ("gqa", 40 * 8 * 256 * 2),
    "Mistral-Large-2": ("gqa", 88 * 8 * 256 * 2),
    "Mistral-Large-3-675B": ("mla", 61 * 576 * 2),
    "Ministral-8B": ("gqa", 36 * 8 * 256 * 2),
    "Mixtral-8x7B": ("gqa", 32 * 8 * 256 * 2),
    "Mixtral-8x22B": ("gqa", 56 * 8 * 256 * 2),
    "Grok-1": ("gqa", 64 * 8 * 256 * 2),
    "Grok-2": ("gqa", 64 * 8 * 256 * 2),
    "Phi-4": ("gqa", 40 * 10 * 256 * 2),
    "Phi-4-mini": ("gqa", 32 * 8 * 256 * 2),
    "Command-R-v01": ("mha", 40 * 64 * 256 * 2),
    "Command-R-08-2024": ("gqa", 40 * 8 * 256 * 2),
    "Command-R-Plus": ("gqa", 64 * 8 * 256 * 2),
    "Command-A-03-2025": ("swa", 16 * 8 * 256 * 2 + 48 * 8 * 256 * 2),
    "Command-R7B-12-2024": ("swa", 8 * 8 * 256 * 2 + 24 * 8 * 256 * 2),
    "LFM2-350M": ("mamba-hybrid", 6 * 8 * 128 * 2),
    "LFM2-700M": ("mamba-hybrid", 6 * 8 * 128 * 2),
    "LFM2-1.2B": ("mamba-hybrid", 6 * 8 * 128 * 2),
    "LFM2-2.6B": ("mamba-hybrid", 8 * 8 * 128 * 2),
    "LFM2-8B-A1B": ("mamba-hybrid", 6 * 8 * 128 * 2),
    "Falcon-H1-7B": ("mamba-hybrid", 44 * 2 * 256 * 2),
    "Granite-4.0-H-Small": ("mamba-hybrid", 4 * 8 * 256 * 2),
    "Granite-4.0-H-Tiny": ("mamba-hybrid", 4 * 4 * 256 * 2),
    "Granite-4.0-Micro": ("gqa", 40 * 8 * 128 * 2),
    "Granite-3.3-8B": ("gqa", 40 * 8 * 256 * 2),
    "EXAONE-4.0-32B": ("swa", 16 * 8 * 256 * 2 + 48 * 8 * 256 * 2),
}


def token_bytes(geometry: Geometry, heads: int | None = None, element: int = 2) -> int:
    kv = geometry.kv_heads if heads is None else heads
    full = geometry.layers if geometry.full_layers is None else len(geometry.full_layers)
    if geometry.kv_lora_rank is not None:
        assert geometry.qk_rope_head_dim is not None
        keys = 0 if geometry.index_head_dim is None else 132 * (geometry.index_layers or geometry.layers)
        return full * (geometry.kv_lora_rank + geometry.qk_rope_head_dim) * element + keys
    size = full * kv * (geometry.head_dim + geometry.v_head_dim) * element
    if geometry.swa_layers is not None:
        assert None not in {geometry.swa_kv_heads, geometry.swa_head_dim, geometry.swa_v_head_dim}
        size += len(geometry.swa_layers) * geometry.swa_kv_heads * (geometry.swa_head_dim + geometry.swa_v_head_dim) * element
    return size


def named(name: str) -> Geometry:
    return next(geometry for geometry in MODELS if geometry.name == name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_token_bytes_are_the_published_ones(name):
    kind, size = PUBLISHED[name]
    assert (named(name).attention.value, token_bytes(named(name))) == (kind, size)


def test_every_model_has_published_figures_and_a_name_of_its_own():
    names = [geometry.name for geometry in MODELS if geometry.attention is not Attention.DSV4]
    assert set(names) == set(PUBLISHED)
    assert len(names) == len(set(names)) >= 40


def test_deepseek_v4_ratios():
    flash, pro = named("DeepSeek-V4-Flash"), named("DeepSeek-V4-Pro")
    assert flash.compress_ratios is not None
    assert pro.compress_ratios is not None
    assert [flash.compress_ratios.count(ratio) for ratio in (0, 4, 128)] == [2, 21, 20]
    assert [pro.compress_ratios.count(ratio) for ratio in (0, 4, 128)] == [0, 30, 31]
    assert flash.compress_ratios[-1] == 4


@pytest.mark.parametrize("geometry", MODELS, ids=lambda geometry: geometry.name)
def test_rows_are_consistent(geometry):
    counts = (geometry.layers, geometry.kv_heads, geometry.head_dim, geometry.v_head_dim, geometry.hidden_size)
    assert all(count > 0 for count in counts)
    full, swa = geometry.full_layers, geometry.swa_layers
    for ids in (full, swa, geometry.state.layers if geometry.state else None):
        assert ids is None or (ids == tuple(sorted(set(ids))) and set(ids) <= set(range(geometry.layers)) and ids)
    if geometry.attention is Attention.SWA:
        assert sorted(full + swa) == list(range(geometry.layers))
        assert geometry.window
    assert (geometry.state is not None) == (geometry.attention is Attention.MAMBA_HYBRID)
    assert (geometry.index_head_dim is not None) == (geometry.attention in {Attention.DSA, Attention.DSV4})
    if geometry.attention in {Attention.MLA, Attention.DSA}:
        assert geometry.kv_lora_rank
    assert geometry.sure == (not geometry.note)
    if geometry.experts:
        assert 0 < geometry.experts_per_token < geometry.experts
    if geometry.active_parameters:
        assert geometry.active_parameters <= (geometry.parameters or geometry.active_parameters)
    assert geometry.multimodal == (geometry.vision_layers is not None and geometry.architecture not in TEXT_ONLY_UNLESS_ASKED)
    assert not is_draft(geometry.architecture)
    by_class = attention_of(geometry.architecture)
    assert by_class in {None, geometry.attention, Attention.GQA if geometry.attention is Attention.MHA else by_class}
    found = find_model(geometry.name, geometry.architecture)
    assert found is not None
    assert (found.geometry, found.basis) == (geometry, "name")


@pytest.mark.parametrize(
    ("name", "architecture", "model"),
    [
        ("/models/Kimi-K2.5", "KimiK25ForConditionalGeneration", "Kimi-K2.5"),
        ("moonshotai/Kimi-K2.5-INT4", None, "Kimi-K2.5"),
        ("/mnt/weights/Kimi-K2.5-W4A8/", "KimiK25ForConditionalGeneration", "Kimi-K2.5"),
        ("moonshotai/Kimi-K2-Instruct", None, "Kimi-K2"),
        ("Kimi-K2-Instruct-0905", None, "Kimi-K2-Thinking"),
        ("Qwen3-32B-FP8", "Qwen3ForCausalLM", "Qwen3-32B"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", None, "Qwen3-235B-A22B"),
        ("qwen3:8b", None, "Qwen3-8B"),
        ("Qwen2_5-7B-Instruct-GPTQ-Int4", None, "Qwen2.5-7B"),
        ("Qwen2.5-Coder-32B-Instruct-AWQ", "Qwen2ForCausalLM", "Qwen2.5-32B"),
        ("Qwen/Qwen2.5-7B-Instruct-1M", None, "Qwen2.5-7B"),
        ("DeepSeek-R1-0528-AWQ", "DeepseekV3ForCausalLM", "DeepSeek-R1"),
        ("nvidia/DeepSeek-R1-0528-FP4-v2", None, "DeepSeek-R1"),
        ("deepseek-ai/DeepSeek-V3-0324", None, "DeepSeek-V3"),
        ("DeepSeekV3.1", None, "DeepSeek-V3"),
        ("DeepSeek-V3.2-Exp", "DeepseekV32ForCausalLM", "DeepSeek-V3.2"),
        ("DeepSeek-V4-Flash-Base", "DeepseekV4ForCausalLM", "DeepSeek-V4-Flash"),
        ("DeepSeek-R1-Distill-Qwen-7B", "Qwen2ForCausalLM", "DeepSeek-R1-Distill-Qwen-7B"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "Qwen3ForCausalLM", "Qwen3-8B"),
        ("/data/hub/models--Qwen--Qwen3-8B/snapshots/9c925d64d72725edaf899c6cb9c377fd0709d9c5", None, "Qwen3-8B"),
        ("/data/hub/models--Qwen--Qwen3-8B/snapshots/abc1234", None, "Qwen3-8B"),
        (r"C:\models\Meta-Llama-3.1-8B-Instruct", None, "Llama-3.1-8B"),
        ("meta-llama/Llama-3.3-70B-Instruct", None, "Llama-3.1-70B"),
        ("/models/llama3.1/8b", None, "Llama-3.1-8B"),
        ("Meta-Llama-3-8B-Instruct", "LlamaForCausalLM", "Llama-3-8B"),
        ("mistralai/Mistral-7B-Instruct-v0.3", None, "Mistral-7B"),
        ("mistralai/Mistral-Large-Instruct-2411", None, "Mistral-Large-2"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "MistralForCausalLM", "Mistral-Small-24B"),
        ("zai-org/GLM-4.5-Air-FP8", None, "GLM-4.5-Air"),
        ("zai-org/GLM-4.5-FP8", None, "GLM-4.5"),
        ("openai/gpt-oss-120b", "GptOssForCausalLM", "gpt-oss-120b"),
        ("google/gemma-3-12b-it", "Gemma3ForConditionalGeneration", "Gemma-3-12B"),
        ("google/gemma-3-12b-it", "Gemma3ForCausalLM", "Gemma-3-12B"),
        ("google/gemma-4-E2B-it", None, "Gemma-4-E2B"),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", None, "Nemotron-3-Nano-30B-A3B"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "LlamaForCausalLM", "Llama-3.1-8B"),
        ("/models/Qwen3-8B/main", None, "Qwen3-8B"),
        ("/models/Qwen3-8B/20260101", None, "Qwen3-8B"),
        ("Mistral-Small-3.2-24B-Instruct-2506", "PixtralForConditionalGeneration", "Mistral-Small-3.1-24B"),
        ("Qwen3.5-4B", "Qwen3_5ForCausalLM", "Qwen3.5-4B"),
        ("Qwen/Qwen3-8B", "TransformersForCausalLM", "Qwen3-8B"),
    ],
)
def test_names_in_any_spelling(name, architecture, model):
    found = find_model(name, architecture)
    assert found is not None
    assert (found.geometry.name, found.basis) == (model, "name")


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("Qwen3-8B", "KimiK25ForConditionalGeneration"),
        ("Qwen3-8B", "LlamaForCausalLM"),
        ("Kimi-K2.5", "Qwen3MoeForCausalLM"),
        ("Kimi-K2.5-Eagle3", None),
        ("/models/Kimi-K2.5/eagle3-draft", None),
        ("Kimi-K2.5", "LlamaForCausalLMEagle3"),
        ("Kimi-K2.9", None),
        ("Kimi-K2.55", None),
        ("Kimi-K2-9", None),
        ("microsoft/Phi-4-multimodal-instruct", None),
        ("/models/Kimi-K2.5/mtp", None),
        ("GLM-4.5-Air-REAP-82B-A12B", None),
        ("DeepSeek-R1-Distill-Qwen-99B", None),
        ("Qwen3-Embedding-8B", None),
        ("Qwen3-VL-Embedding-8B", None),
        ("/data/Qwen3-8B-server/Mystery-30B", None),
        ("my-finetune", None),
        ("my-finetune", "LlamaForCausalLM"),
        ("my-finetune", "Qwen3ForCausalLM"),
        (None, None),
        ("", None),
        ("///", None),
        ("\x00[bold]\x1b[31m" * 400, None),
        ("." * 5000, "no such class"),
    ],
)
def test_what_is_not_known_is_not_guessed(name, architecture):
    assert find_model(name, architecture) is None


@pytest.mark.parametrize(
    ("architecture", "cell"),
    [
        ("DeepseekV3ForCausalLM", 70272),
        ("KimiK25ForConditionalGeneration", 70272),
        ("DeepseekV32ForCausalLM", 70272 + 61 * 132),
        ("MiniMaxM2ForCausalLM", 253952),
    ],
)
@pytest.mark.parametrize("name", [None, "/models/production-v7"])
def test_a_class_of_one_size_is_enough(name, architecture, cell):
    found = find_model(name, architecture)
    assert found is not None
    assert found.basis == "architecture"
    assert token_bytes(found.geometry) == cell
    assert not found.geometry.sure
    assert architecture in found.geometry.note


def test_candidates_are_the_sizes_of_a_class():
    sizes = {geometry.name for geometry in candidates("Qwen3ForCausalLM")}
    assert {"Qwen3-0.6B", "Qwen3-8B", "Qwen3-32B"} <= sizes
    assert "Qwen2.5-7B" not in sizes
    assert {geometry.name for geometry in candidates("Gemma3ForCausalLM")} >= {"Gemma-3-1B", "Gemma-3-27B"}
    assert candidates("DeepseekV3ForCausalLMNextN") == ()
    assert candidates("TransformersForCausalLM") == ()
    assert candidates("") == ()


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("LlamaForCausalLM", "gqa"),
        ("DeepseekV3ForCausalLM", "mla"),
        ("KimiK25ForConditionalGeneration", "mla"),
        ("Qwen3_5ForConditionalGeneration", "mamba-hybrid"),
        ("Glm5NextForConditionalGeneration", "mamba-hybrid"),
        ("Lfm2ForCausalLM", "mamba-hybrid"),
        ("MiniCPMSALAForCausalLM", "mamba-hybrid"),
        ("GlmMoeDsaForCausalLM", "dsa"),
        ("DeepseekV4ForCausalLM", "dsv4"),
        ("GptOssForCausalLM", "swa"),
        ("Gemma3ForConditionalGeneration", "swa"),
    ],
)
def test_attention_by_class(architecture, kind):
    found = attention_of(architecture)
    assert found is not None
    assert found.value == kind


@pytest.mark.parametrize(
    "architecture", ["PixtralForConditionalGeneration", "GraniteMoeHybridForCausalLM", "MambaForCausalLM", "BertModel", ""]
)
def test_ambiguous_classes_have_no_kind(architecture):
    assert attention_of(architecture) is None


def test_class_tables_agree():
    assert {name for name in MLA_CLASSES if attention_of(name)} == {
        name for name in MLA_CLASSES if name != "PixtralForConditionalGeneration"
    }
    assert all(attention_of(name) in {Attention.MLA, Attention.DSA, None} for name in DSA_CLASSES)
    assert not {geometry.architecture for geometry in MODELS} & set(NOT_MODELLED)


@pytest.mark.parametrize(
    ("architecture", "draft"),
    [
        ("DeepseekV3ForCausalLMNextN", True),
        ("Qwen3_5ForCausalLMMTP", True),
        ("MiMoMTP", True),
        ("LlamaForCausalLMEagle", True),
        ("LlamaForCausalLMEagle3", True),
        ("MistralLarge3ForCausalLMEagle", True),
        ("Eagle3DeepseekV2ForCausalLM", True),
        ("EAGLE", True),
        ("DFlashDraftModel", True),
        ("DeepseekV4ForCausalLMDSpark", True),
        ("DeepseekV3ForCausalLM", False),
        ("LlamaForCausalLM", False),
        ("Qwen3NextForCausalLM", False),
        ("Glm5NextForConditionalGeneration", False),
        ("x" * 10_000 + "NextN", False),
    ],
)
def test_drafts(architecture, draft):
    assert is_draft(architecture) is draft


@pytest.mark.parametrize(
    ("architecture", "split_in"),
    [
        ("GptOssForCausalLM", {"0.5.9", "0.5.10", "0.5.12", "0.5.15", "0.5.18", "0.5.21", "0.5.23"}),
        ("Gemma3ForConditionalGeneration", {"0.4.10"}),
        ("Gemma2ForCausalLM", set()),
        ("Gemma4ForConditionalGeneration", {"0.5.12", "0.5.15", "0.5.18", "0.5.21", "0.5.23"}),
        ("InklingForConditionalGeneration", {"0.5.18", "0.5.21", "0.5.23"}),
        ("GraniteSWAForCausalLM", {"0.5.21", "0.5.23"}),
        ("BeamForCausalLM", {"0.5.23"}),
        ("LlamaForCausalLM", set()),
    ],
)
def test_separate_sliding_pool_by_release(architecture, split_in):
    releases = ("0.4.6.post5", "0.4.10.post2", "0.5.3", "0.5.6", "0.5.9", "0.5.10", "0.5.12", "0.5.15", "0.5.18", "0.5.21", "0.5.23")
    found = {text.removesuffix(".post5").removesuffix(".post2") for text in releases if swa_memory(architecture, parse_release(text))}
    assert found == split_in


def test_unknown_release_takes_the_newest_list():
    assert swa_memory("BeamForCausalLM", None)
    assert SWA_MEMORY.at(None) == SWA_MEMORY.rows[-1][1]


# What mamba_cache_per_req of configs/mamba_utils.py (0.5.9 and 0.5.23) gives for the same shapes.
@pytest.mark.parametrize(
    ("state", "ranks", "size"),
    [
        (gdn_state(tuple(range(48)), key_heads=16, value_heads=48), 1, 153_944_064),
        (gdn_state(tuple(range(48)), key_heads=16, value_heads=48), 8, 19_243_008),
        (kda_state(tuple(range(20)), heads=32, head_dim=128, kernel=4), 1, 43_417_600),
        (short_conv_state(tuple(range(10)), hidden=1536, kernel=3), 1, 61_440),
        # Eight groups over sixteen ranks are padded to sixteen, one over two to two.
        (mamba2_state((0,), intermediate=8192, groups=8, heads=128, head_dim=64, state=128, kernel=4), 16, 266_752),
        (mamba2_state((0,), intermediate=3072, groups=1, heads=24, head_dim=128, state=256, kernel=4), 2, 1_585_152),
    ],
)
def test_state_bytes_are_sglangs(state, ranks, size):
    assert state.bytes_per_request(ranks) == size


def test_state_of_16_bit_is_half():
    wide = gdn_state((0,), key_heads=16, value_heads=32)
    half = gdn_state((0,), key_heads=16, value_heads=32, ssm_bytes=2)
    assert isinstance(half, StateGeometry)
    assert wide.bytes_per_request(1) - half.bytes_per_request(1) == 32 * 128 * 128 * 2


def case_expectations():
    if not CASES.is_dir():
        return []
    found = [(path.parent.name, json.loads(path.read_text())) for path in sorted(CASES.glob("*/expect.json"))]
    return [(name, expect) for name, expect in found if expect.get("cell_source") == "config" and expect.get("tp")]


@pytest.mark.skipif(not CASES.is_dir(), reason="the case logs are not beside the repository")
def test_cells_of_real_logs():
    checked = 0
    for case, expect in case_expectations():
        found = find_model(expect["model"], expect["arch"])
        if found is None:
            continue
        ranks = expect["tp"] // (expect["dp"] or 1)
        heads = max(1, found.geometry.kv_heads // ranks)
        assert token_bytes(found.geometry, heads) == expect["cell_bytes"], case
        checked += 1
    assert checked >= 6
