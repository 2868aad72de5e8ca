"""Hybrids of full attention and fixed-size states: which layers are which, and how large a state is.

The shapes are those of the configuration classes of SGLang 0.5.9 and 0.5.23 (configs/).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from kvtui.domain.geometry import Attention, Geometry, StateGeometry
from kvtui.domain.models import states
from kvtui.domain.models.architectures import attention_of
from kvtui.parse.config_values import ConfigError, Values, positions, whole

Split = tuple[tuple[int, ...], StateGeometry]
"""Full layers, and the state of the others."""

_LIGHTNING: Final = frozenset({"lightning", "lightning_attn", "lightning-attn"})
_MINIMAX: Final = frozenset({"MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"})


def is_hybrid(architecture: str, values: Values) -> bool:
    """Whether some layers keep a state; Granite 4 comes with and without."""
    if architecture == "GraniteMoeHybridForCausalLM":
        types = values.items("layer_types")
        return types is not None and bool({"mamba", "linear_attention"} & {entry for entry in types if isinstance(entry, str)})
    return attention_of(architecture) is Attention.MAMBA_HYBRID or architecture in _MINIMAX


def linear_layers(values: Values, geometry: Geometry) -> Geometry:
    """The geometry with the state of its linear layers; ``ConfigError`` where a number is absent."""
    full, state = _rule(geometry.architecture, values)(values, geometry)
    if not state.layers:
        raise ConfigError("The configuration names no layer that keeps a state.")
    known = geometry.architecture not in _MINIMAX
    return replace(
        geometry,
        attention=Attention.MAMBA_HYBRID,
        full_layers=full,
        state=state,
        sure=known and geometry.sure,
        note=geometry.note if known else "no SGLang release up to 0.5.23 serves this class",
    )


def _rule(architecture: str, values: Values) -> Callable[[Values, Geometry], Split]:
    for prefix, rule in _RULES.items():
        if architecture.startswith(prefix):
            return rule
    if values.has("linear_num_value_heads"):
        return _gdn
    raise ConfigError(f"{architecture} is not modelled: the state of its layers is not known.")


def _rest(layers: int, full: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(layer for layer in range(layers) if layer not in set(full))


def _ssm_bytes(values: Values) -> int:
    """``mamba_ssm_dtype``, which SGLang reads from 0.5.9 on; 32 bit otherwise."""
    return 2 if values.text("mamba_ssm_dtype") in {"bfloat16", "float16"} else states.FLOAT32


def _gdn(values: Values, geometry: Geometry) -> Split:
    types = values.items("layer_types")
    if values.has("full_attention_interval") or types is None:
        every = values.integer("full_attention_interval", least=1) or 4
        full = tuple(range(every - 1, geometry.layers, every))
    else:
        full = positions(types, frozenset({"full_attention"}), geometry.layers)
    return full, states.gdn_state(
        _rest(geometry.layers, full),
        key_heads=values.need("linear_num_key_heads"),
        value_heads=values.need("linear_num_value_heads"),
        key_dim=values.need("linear_key_head_dim"),
        value_dim=values.need("linear_value_head_dim"),
        kernel=values.need("linear_conv_kernel_dim"),
        ssm_bytes=_ssm_bytes(values),
    )


def _kda(values: Values, geometry: Geometry) -> Split:
    """Kimi-Linear and its kin: the file counts layers from 1."""
    part = values.mapping("linear_attn_config")
    if part is None:
        raise ConfigError("The configuration has no linear_attn_config.")
    inner = Values(part, {})
    listed = {whole("kda_layers", entry, 1) - 1 for entry in inner.items("kda_layers") or ()}
    linear = tuple(layer for layer in range(geometry.layers) if layer in listed)
    full = tuple(layer for layer in range(geometry.layers) if layer not in listed)
    return full, states.kda_state(
        linear, heads=inner.need("num_heads"), head_dim=inner.need("head_dim"), kernel=inner.need("short_conv_kernel_size")
    )


def _nemotron(values: Values, geometry: Geometry) -> Split:
    pattern = values.text("hybrid_override_pattern")
    kinds = values.items("layers_block_type") if pattern is None else tuple(pattern)
    if kinds is None:
        raise ConfigError("The configuration has no hybrid_override_pattern.")
    mamba = positions(kinds, frozenset({"M", "mamba"}), geometry.layers)
    full = positions(kinds, frozenset({"*", "attention"}), geometry.layers)
    heads, head_dim = values.need("mamba_num_heads"), values.need("mamba_head_dim")
    return full, states.mamba2_state(
        mamba,
        intermediate=heads * head_dim,
        # Where the file is silent, SGLang's own class fills these in.
        groups=values.integer("n_groups", "mamba_n_groups", least=1) or 8,
        heads=heads,
        head_dim=head_dim,
        state=values.integer("ssm_state_size", least=1) or 128,
        kernel=values.integer("conv_kernel", least=1) or 4,
        ssm_bytes=_ssm_bytes(values),
    )


def _mamba_keys(values: Values, linear: tuple[int, ...], *, intermediate: int, ssm_bytes: int) -> StateGeometry:
    """The shape under the names that Falcon-H1 and Granite share."""
    heads = values.need("mamba_n_heads")
    return states.mamba2_state(
        linear,
        intermediate=intermediate,
        groups=values.need("mamba_n_groups"),
        heads=heads,
        head_dim=intermediate // heads,
        state=values.need("mamba_d_state"),
        kernel=values.need("mamba_d_conv"),
        ssm_bytes=ssm_bytes,
    )


def _falcon_h1(values: Values, geometry: Geometry) -> Split:
    """Every layer holds both an attention and a Mamba mixer."""
    hidden = geometry.hidden_size or 0
    intermediate = values.integer("mamba_d_ssm", least=1) or values.need("mamba_expand") * hidden
    every = tuple(range(geometry.layers))
    return every, _mamba_keys(values, every, intermediate=intermediate, ssm_bytes=_ssm_bytes(values))


def _granite(values: Values, geometry: Geometry) -> Split:
    types = values.items("layer_types") or ()
    linear = positions(types, frozenset({"mamba", "linear_attention"}), geometry.layers)
    intermediate = (values.integer("mamba_expand", least=1) or 2) * (geometry.hidden_size or 0)
    # Granite's class never reads the checkpoint's state dtype.
    state = _mamba_keys(values, linear, intermediate=intermediate, ssm_bytes=states.FLOAT32)
    return positions(types, frozenset({"attention", "full_attention"}), geometry.layers), state


def _lfm2(values: Values, geometry: Geometry) -> Split:
    types = values.items("layer_types")
    if types is not None:
        full = positions(types, frozenset({"full_attention"}), geometry.layers)
        linear = positions(types, frozenset({"conv", "short_conv"}), geometry.layers)
    else:
        listed = {whole("full_attn_idxs", entry, 0) for entry in values.items("full_attn_idxs") or ()}
        full = tuple(layer for layer in range(geometry.layers) if layer in listed)
        linear = _rest(geometry.layers, full)
    return full, states.short_conv_state(linear, hidden=geometry.hidden_size or 0, kernel=values.need("conv_L_cache"))


def _minicpm_sala(values: Values, geometry: Geometry) -> Split:
    kinds = values.items("mixer_types")
    if not kinds:
        raise ConfigError("The configuration has no mixer_types.")
    repeated = [kinds[layer % len(kinds)] for layer in range(geometry.layers)]
    linear = positions(repeated, _LIGHTNING, geometry.layers)
    heads = values.integer("lightning_nkv", least=1) or geometry.kv_heads
    head_dim = values.integer("lightning_head_dim", least=1) or geometry.head_dim
    return _rest(geometry.layers, linear), states.lightning_state(linear, heads=heads, head_dim=head_dim)


def _bailing(values: Values, geometry: Geometry) -> Split:
    """Ling and Ring 2.5 and 3: every n-th layer attends in full, or those a list marks; KDA where a short convolution is named."""
    if isinstance(values.get("layer_group_size"), list):
        full = _rest(geometry.layers, positions(values.items("layer_group_size") or (), frozenset({1}), geometry.layers))
    else:
        every = values.need("layer_group_size")
        full = tuple(range(every - 1, geometry.layers, every))
    heads, head_dim = values.need("num_attention_heads"), values.need("head_dim")
    kernel = values.integer("short_conv_kernel_size", least=1)
    linear = _rest(geometry.layers, full)
    if kernel is None:
        return full, states.lightning_state(linear, heads=heads, head_dim=head_dim)
    return full, states.kda_state(linear, heads=heads, head_dim=head_dim, kernel=kernel)


def _jet(values: Values, geometry: Geometry) -> Split:
    types = values.items("layer_types") or ()
    parts = values.mapping("efficient_attention_config")
    jet = parts.get("jet") if parts is not None else None
    if not isinstance(jet, Mapping):
        raise ConfigError("The configuration has no efficient_attention_config for its jet layers.")
    block = Values(jet, {})
    heads, key_dim = block.need("num_heads"), block.need("head_dim")
    expand = block.get("expand_v")
    if isinstance(expand, bool) or not isinstance(expand, (int, float)) or not 0 < expand <= 64:
        raise ConfigError("The configuration's expand_v is not a number in range.")
    state = states.gdn_state(
        positions(types, frozenset({"jet"}), geometry.layers),
        key_heads=heads,
        value_heads=heads,
        key_dim=key_dim,
        value_dim=int(key_dim * expand),
        kernel=block.need("conv_size"),
        ssm_bytes=_ssm_bytes(values),
    )
    return positions(types, frozenset({"attn", "swa"}), geometry.layers), state


def _minimax(values: Values, geometry: Geometry) -> Split:
    kinds = values.items("attn_type_list")
    if kinds is None:
        raise ConfigError("The configuration has no attn_type_list.")
    full = positions(kinds, frozenset({1}), geometry.layers)
    heads = values.need("num_attention_heads")
    return full, states.lightning_state(_rest(geometry.layers, full), heads=heads, head_dim=geometry.head_dim)


_RULES: Final[Mapping[str, Callable[[Values, Geometry], Split]]] = {
    "Bailing": _bailing,
    "FalconH1": _falcon_h1,
    "Granite": _granite,
    "InternS2": _gdn,
    "Jet": _jet,
    "Kimi": _kda,
    "Lfm2": _lfm2,
    "MiniCPMSALA": _minicpm_sala,
    "MiniMax": _minimax,
    "Nemotron": _nemotron,
    "Qwen3": _gdn,
}
"""By the beginning of the class's name."""
