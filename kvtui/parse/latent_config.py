"""Models that keep latents: MLA, DSA and DeepSeek-V4 (SGLang 0.5.23 configs/model_config.py)."""

from __future__ import annotations

from dataclasses import replace

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models.architectures import DSA_CLASSES, MLA_CLASSES
from kvtui.parse.config_values import ConfigError, Values, whole
from kvtui.parse.hybrid_config import is_hybrid


def is_latent(architecture: str, values: Values) -> bool:
    """Whether every layer, or a hybrid's full layers, keep latents. VL2 and Pixtral come in both kinds."""
    if not values.has("kv_lora_rank"):
        return False
    if architecture == "DeepseekVL2ForCausalLM" and values.get("use_mla") is False:
        return False
    return architecture in MLA_CLASSES or is_hybrid(architecture, values)


def latent(values: Values, geometry: Geometry) -> Geometry:
    """MLA, with the keys of an indexer where the class runs one."""
    # Ling 3 runs its latents without the rotary part.
    rope = 0 if values.get("use_mla_nope") is True else values.need("qk_rope_head_dim", least=0)
    nope = values.integer("qk_nope_head_dim") or 0
    found = replace(
        geometry,
        attention=Attention.MLA,
        kv_lora_rank=values.need("kv_lora_rank"),
        qk_rope_head_dim=rope,
        head_dim=nope + rope or geometry.head_dim,
    )
    if geometry.architecture not in DSA_CLASSES or not values.has("index_topk"):
        return found
    own = sum(not _shares_index(values, layer) for layer in range(geometry.layers))
    return replace(
        found,
        attention=Attention.DSA,
        index_head_dim=values.need("index_head_dim"),
        index_layers=None if own == geometry.layers else own,
    )


def _shares_index(values: Values, layer: int) -> bool:
    """Whether a layer takes over the tokens chosen by an earlier layer's indexer (``dsa_layer_skips_topk``)."""
    types = values.items("indexer_types")
    if types is not None:
        return layer < len(types) and types[layer] == "shared"
    every = values.integer("cli_factor", least=1) or 1
    if every > 1:
        return layer % every != 0
    pattern = values.text("index_topk_pattern")
    if pattern is not None:
        return layer < len(pattern) and pattern[layer] == "S"
    offset = values.integer("index_skip_topk_offset", least=1) or 2
    return max(layer - offset + 1, 0) % (values.integer("index_topk_freq", least=1) or 1) != 0


def deepseek_v4(values: Values, geometry: Geometry) -> Geometry:
    """DeepSeek-V4: the compression of each layer; ``ConfigError`` where it is not told for every layer."""
    ratios = values.items("compress_ratios")
    if ratios is None or len(ratios) < geometry.layers:
        raise ConfigError("The configuration's compress_ratios do not cover every layer.")
    return replace(
        geometry,
        attention=Attention.DSV4,
        v_head_dim=geometry.head_dim,
        qk_rope_head_dim=values.need("qk_rope_head_dim"),
        index_head_dim=values.need("index_head_dim"),
        window=values.need("sliding_window"),
        compress_ratios=tuple(whole("compress_ratios", ratio, 0) for ratio in ratios[: geometry.layers]),
    )
