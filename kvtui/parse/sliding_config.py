"""Which layers of a configuration attend over a sliding window."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models.architectures import attention_of
from kvtui.parse.config_values import ConfigError, Values, positions

_PATTERN_DEFAULTS: Final = {"gemma2": 2, "gemma3_text": 6, "gemma3n_text": 5, "cohere2": 4, "exaone4": 4, "olmo3": 4}
"""Every n-th layer is full attention where the file does not list the layers' types, by model_type."""


def sliding_layers(values: Values, geometry: Geometry) -> Geometry:
    """The geometry with full and sliding layers told apart; unchanged where every layer is full attention.

    SGLang 0.5.23 ``get_hybrid_layer_ids``; the older classes' patterns are those of their own
    configuration classes. Raises ``ConfigError`` when the listed types do not fit the layers.
    """
    found = _split(values, geometry)
    if found is None:
        if attention_of(geometry.architecture) is Attention.SWA:
            return replace(geometry, sure=False, note="the configuration does not say which layers slide")
        return geometry
    full, swa = found
    if not swa:
        return geometry
    window = values.integer("attention_chunk_size" if _chunked(geometry) else "sliding_window", "sliding_window_size", "window_size")
    sized = replace(geometry, attention=Attention.SWA, full_layers=full, swa_layers=swa, window=window)
    return _gemma4(values, sized) if geometry.architecture.startswith("Gemma4") else _swa_heads(values, sized)


def _chunked(geometry: Geometry) -> bool:
    return geometry.architecture.startswith("Llama4")


def _split(values: Values, geometry: Geometry) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Full and sliding layers; None where the configuration tells nothing."""
    layers = geometry.layers
    if _chunked(geometry):
        return tuple(range(3, layers, 4)), tuple(layer for layer in range(layers) if layer % 4 != 3)
    pattern = values.items("hybrid_layer_pattern")
    if pattern is not None:
        return _listed(layers, positions(pattern, frozenset({0}), layers), positions(pattern, frozenset({1}), layers))
    types = values.items("layer_types")
    if types is not None and "sliding_attention" in types:
        full = positions(types, frozenset({"full_attention"}), layers)
        return _listed(layers, full, positions(types, frozenset({"sliding_attention"}), layers))
    if types is not None:
        return None
    return _patterned(values, layers)


def _listed(layers: int, full: tuple[int, ...], swa: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(full) + len(swa) != layers:
        raise ConfigError("The configuration's layer types do not cover every layer once.")
    return full, swa


def _patterned(values: Values, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Layers by a pattern: every n-th full, or letters such as LLLG repeated."""
    default = _PATTERN_DEFAULTS.get(values.text("model_type") or "")
    pattern = values.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"} and values.has("sliding_window"):
        full = tuple(layer for layer in range(layers) if pattern[layer % len(pattern)] == "G" or layer == layers - 1)
    elif default is not None and values.has("sliding_window"):
        every = values.integer("sliding_window_pattern", "_sliding_window_pattern", least=1) or default
        full = tuple(range(every - 1, layers, every))
    else:
        return None
    return full, tuple(layer for layer in range(layers) if layer not in set(full))


def _swa_heads(values: Values, geometry: Geometry) -> Geometry:
    """K and V of the sliding layers; the full layers' where the file names no others."""
    other = values.mapping("attention_other_setting")
    heads = Values(other, {}).integer("num_attention_groups", least=1) if other is not None else None
    head_dim = values.integer("swa_head_dim", least=1) or geometry.head_dim
    return replace(
        geometry,
        swa_kv_heads=heads or values.integer("swa_num_key_value_heads", least=1) or geometry.kv_heads,
        swa_head_dim=head_dim,
        swa_v_head_dim=values.integer("swa_v_head_dim", least=1) or (head_dim if values.has("swa_head_dim") else geometry.v_head_dim),
    )


def _gemma4(values: Values, geometry: Geometry) -> Geometry:
    """Gemma 4 states the sliding layers' shape first and the full layers' as ``global_*``.

    Where keys serve as values the pool still keeps both (0.5.23 utils/hf_transformers/config.py).
    """
    full_dim = values.integer("global_head_dim", least=1) or geometry.head_dim
    return replace(
        geometry,
        kv_heads=values.integer("num_global_key_value_heads", least=1) or geometry.kv_heads,
        head_dim=full_dim,
        v_head_dim=full_dim,
        swa_kv_heads=geometry.kv_heads,
        swa_head_dim=geometry.head_dim,
        swa_v_head_dim=geometry.head_dim,
    )
