"""A model's geometry from its Hugging Face ``config.json``.

The rules are those of SGLang's ``ModelConfig`` (0.5.23 configs/model_config.py, with the differences
of 0.4.6 to 0.5.21 left to the sizing): which nested part describes the language model, which classes
are MLA, how long the context is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models.architectures import NOT_MODELLED, TEXT_ONLY_UNLESS_ASKED
from kvtui.parse.config_values import MAX_ITEMS, MAX_TEXT, ConfigError, Values, whole
from kvtui.parse.hybrid_config import is_hybrid, linear_layers
from kvtui.parse.latent_config import deepseek_v4, is_latent, latent
from kvtui.parse.sliding_config import sliding_layers

_NESTED: Final = ("thinker_config", "llm_config", "language_config", "text_config")
_TOWERS: Final = ("vision_config", "audio_config", "sound_config", "vision_tower", "mm_vision_tower", "visual")
_CONTEXT_KEYS: Final = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_KV_HEAD_KEYS: Final = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_EXPERT_KEYS: Final = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
_TOP_K_KEYS: Final = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_topk", "moe_k")
_LOOPS: Final = {"LongcatFlashForCausalLM": None, "IQuestLoopCoderForCausalLM": "loop_num", "NanbeigeForCausalLM": "num_loops"}

_FALLBACKS: Final[Mapping[str, Mapping[str, int | str]]] = {
    "gemma": {"head_dim": 256},
    "gemma2": {"head_dim": 256, "sliding_window": 4096},
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131072,
        "vocab_size": 262208,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    },
    "mistral": {"num_key_value_heads": 8},
    "mixtral": {"num_key_value_heads": 8},
}
"""What the configuration classes of transformers fill in where the file is silent, by model_type."""

_OWN_DRAFT: Final = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5ForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForCausalLM",
        "Qwen3_5MoeForConditionalGeneration",
        "MiMoV2FlashForCausalLM",
        "MiMoV2ForCausalLM",
        "DeepseekV4ForCausalLM",
    }
)
"""Classes whose draft SGLang runs with one layer, whatever the file says (0.5.23 ``_config_draft_model``)."""


def geometry_from_config(config: Mapping[str, object], name: str) -> Geometry:
    """The geometry that a configuration describes.

    ``name`` is the model's name or folder, kept as it is. Raises ``ConfigError`` (a ``ValueError`` of one
    sentence) when a needed number is absent or has the wrong type, or when SGLang's sizing of the class is not
    modelled.
    """
    architecture = _architecture(config)
    if architecture in NOT_MODELLED:
        raise ConfigError(f"{architecture} is not modelled: {NOT_MODELLED[architecture]}.")
    values = _language_part(config)
    layers = _layers(values, architecture)
    heads = values.need("num_attention_heads", "n_heads", "n_head")
    geometry = _plain(config, values, name=name, architecture=architecture, layers=layers, heads=heads)
    if architecture.startswith("DeepseekV4"):
        return deepseek_v4(values, geometry)
    if is_hybrid(architecture, values):
        return linear_layers(values, latent(values, geometry) if is_latent(architecture, values) else geometry)
    if is_latent(architecture, values):
        return latent(values, geometry)
    return sliding_layers(values, geometry)


def _architecture(config: Mapping[str, object]) -> str:
    found = config.get("architectures")
    first = found[0] if isinstance(found, (list, tuple)) and found else None
    if not isinstance(first, str) or not first.isascii() or not first.isidentifier() or len(first) > MAX_TEXT:
        raise ConfigError("The configuration names no architecture.")
    return first


def _language_part(config: Mapping[str, object]) -> Values:
    """The part that describes the language model, as ``get_hf_text_config`` finds it."""
    part = config
    for key in _NESTED:
        nested = config.get(key)
        if isinstance(nested, Mapping):
            inner = nested.get("text_config")
            part = inner if key == "thinker_config" and isinstance(inner, Mapping) else nested
            break
    model_type = part.get("model_type")
    return Values(part, _FALLBACKS.get(model_type, {}) if isinstance(model_type, str) else {})


def _layers(values: Values, architecture: str) -> int:
    """Layers that keep a cache: a looped model's count each time they run."""
    pattern = values.get("hybrid_override_pattern")
    blocks = values.items("layers_block_type") if architecture.startswith("Nemotron") else None
    if isinstance(pattern, str) and architecture.startswith("Nemotron"):
        layers = len(pattern)
    elif blocks is not None:
        layers = len(blocks)
    else:
        layers = values.need("num_hidden_layers", "num_layers", "n_layers", "n_layer")
    if architecture in _LOOPS:
        key = _LOOPS[architecture]
        layers *= 2 if key is None else values.integer(key, least=1) or 1
    if not 0 < layers <= MAX_ITEMS:
        raise ConfigError("The configuration's number of layers is out of range.")
    return layers


def _plain(config: Mapping[str, object], values: Values, *, name: str, architecture: str, layers: int, heads: int) -> Geometry:
    """The geometry of a model whose layers all keep K and V of each token."""
    hidden = values.need("hidden_size", "d_model", "n_embd")
    head_dim = values.integer("head_dim", least=1) or hidden // heads
    kv_heads = _kv_heads(values, heads)
    quantised = config.get("quantization_config") or values.get("quantization_config")
    multimodal = any(config.get(key) is not None for key in _TOWERS) or config.get("thinker_config") is not None
    vision = config.get("vision_config") if multimodal else None
    geometry = Geometry(
        name=name,
        architecture=architecture,
        attention=Attention.MHA if kv_heads == heads else Attention.GQA,
        layers=layers,
        kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=values.integer("v_head_dim") or head_dim,
        heads=heads,
        context_len=context_length(values),
        hidden_size=hidden,
        vocab_size=values.integer("vocab_size", least=1),
        dtype=_dtype(config, values),
        kv_cache_quant=_kv_cache_quant(quantised),
        nextn_layers=1 if architecture in _OWN_DRAFT else values.integer("num_nextn_predict_layers", "mtp_num_hidden_layers") or None,
        multimodal=multimodal and architecture not in TEXT_ONLY_UNLESS_ASKED and config.get("language_model_only") is not True,
        experts=values.integer(*_EXPERT_KEYS) or None,
        experts_per_token=_top_k(values),
    )
    return _with_vision(geometry, vision)


def _kv_heads(values: Values, heads: int) -> int:
    """Of all ranks together (``get_total_num_kv_heads``)."""
    if values.get("multi_query") is True and values.get("new_decoder_architecture") is not True:
        return 1
    attention = values.get("attn_config")
    if isinstance(attention, Mapping) and attention.get("kv_n_heads") is not None:
        return whole("kv_n_heads", attention["kv_n_heads"], 1)
    blocks = values.items("block_configs")
    if blocks is not None:
        return _grouped_kv_heads(blocks, heads)
    return values.integer(*_KV_HEAD_KEYS, least=1) or heads


def _grouped_kv_heads(blocks: object, heads: int) -> int:
    """Nemotron-NAS: every block that attends must have as many heads a group."""
    found = set()
    for block in blocks if isinstance(blocks, (list, tuple)) else ():
        attention = block.get("attention") if isinstance(block, Mapping) else None
        if isinstance(attention, Mapping) and attention.get("no_op") is not True:
            found.add(heads // whole("n_heads_in_group", attention.get("n_heads_in_group"), 1))
    if len(found) != 1:
        raise ConfigError("The configuration's block_configs do not agree on one number of KV heads.")
    return found.pop()


def _top_k(values: Values) -> int | None:
    """Experts a token uses; where a list gives each layer's, the first layer's."""
    key = next((name for name in _TOP_K_KEYS if values.has(name)), None)
    if key is None:
        return None
    found = values.get(key)
    return whole(key, found[0] if isinstance(found, (list, tuple)) and found else found, 0) or None


def context_length(values: Values) -> int:
    """The context SGLang derives, in tokens: the declared one times an outer rope factor (``get_context_length``)."""
    scaling = values.mapping("rope_scaling") or {}
    factor = scaling.get("factor", 1)
    if "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3":
        factor = 1
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= MAX_ITEMS:
        raise ConfigError("The configuration's rope_scaling factor is not a number in range.")
    declared = values.integer(*_CONTEXT_KEYS, least=1)
    return 2048 if declared is None else int(factor * declared)


def _dtype(config: Mapping[str, object], values: Values) -> str:
    """What an automatic dtype becomes: 32-bit checkpoints are served in 16 bit (``_get_and_verify_dtype``)."""
    found = values.text("dtype", "torch_dtype") or Values(config, {}).text("dtype", "torch_dtype")
    model_type = values.text("model_type") or ""
    known = (found or "").removeprefix("torch.")
    if known in {"bfloat16", "float16"}:
        return known
    # gpt-oss names no dtype and is forced to bfloat16; Gemma overflows in float16.
    return "bfloat16" if model_type == "gpt_oss" or model_type.startswith("gemma") else "float16"


def _kv_cache_quant(found: object) -> str | None:
    """KV dtype that a ModelOpt quantisation asks for; other methods leave the KV cache alone (facts/memory.md 2)."""
    if not isinstance(found, Mapping):
        return None
    method = found.get("quant_method")
    if method is not None and not (isinstance(method, str) and method.startswith("modelopt")):
        return None
    inner = found.get("quantization")
    algo = (inner if isinstance(inner, Mapping) else found).get("kv_cache_quant_algo")
    scheme = found.get("kv_cache_scheme")
    if algo is None and isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8:
        algo = "FP8"
    return "fp8_e4m3" if isinstance(algo, str) and algo.upper() == "FP8" else None


def _with_vision(geometry: Geometry, vision: object) -> Geometry:
    """Depth and width as the automatic fraction reads them: 24 and 1024 where the part does not say."""
    if not isinstance(vision, Mapping):
        return geometry
    part = Values(vision, {})
    depth = part.integer("num_hidden_layers", "vt_num_hidden_layers", least=1) or 24
    width = part.integer("hidden_size", "vt_hidden_size", least=1) or 1024
    return replace(geometry, vision_layers=depth, vision_hidden=width)
