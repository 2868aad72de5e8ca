"""State shapes of linear-attention, Mamba and short-convolution layers.

Each function gives what one request keeps in one layer, before it is split over tensor-parallel
ranks. The shapes are those of SGLang 0.5.9 and 0.5.23 (configs/mamba_utils.py and the configuration
classes of the models); the convolution state is 16 bit, the recurrent state 32 bit unless the
checkpoint's ``mamba_ssm_dtype`` says otherwise.
"""

from __future__ import annotations

from kvtui.domain.geometry import StateGeometry

FLOAT32 = 4


def mamba2_state(
    layers: tuple[int, ...],
    *,
    intermediate: int,
    groups: int,
    heads: int,
    head_dim: int,
    state: int,
    kernel: int,
    ssm_bytes: int = FLOAT32,
) -> StateGeometry:
    """Mamba-2 and Gated DeltaNet: a convolution over values, keys and queries, and a matrix a head.

    ``intermediate``: channels of all heads; ``groups`` and ``state``: key heads and their width;
    ``kernel``: taps of the convolution, of which all but the newest are kept.
    """
    kept = kernel - 1
    return StateGeometry(
        layers=layers,
        conv_elements=(intermediate + 2 * groups * state) * kept,
        ssm_elements=heads * head_dim * state,
        ssm_bytes=ssm_bytes,
        conv_groups=groups,
        conv_group_elements=2 * state * kept,
    )


def gdn_state(
    layers: tuple[int, ...],
    *,
    key_heads: int,
    value_heads: int,
    key_dim: int = 128,
    value_dim: int = 128,
    kernel: int = 4,
    ssm_bytes: int = FLOAT32,
) -> StateGeometry:
    """Gated DeltaNet (Qwen3-Next, Qwen3.5), in its own words."""
    return mamba2_state(
        layers,
        intermediate=value_heads * value_dim,
        groups=key_heads,
        heads=value_heads,
        head_dim=value_dim,
        state=key_dim,
        kernel=kernel,
        ssm_bytes=ssm_bytes,
    )


def kda_state(layers: tuple[int, ...], *, heads: int, head_dim: int, kernel: int) -> StateGeometry:
    """Kimi Delta Attention: three convolutions as wide as all heads, and a square matrix a head."""
    return StateGeometry(
        layers=layers,
        conv_elements=3 * heads * head_dim * (kernel - 1),
        ssm_elements=heads * head_dim * head_dim,
    )


def lightning_state(layers: tuple[int, ...], *, heads: int, head_dim: int) -> StateGeometry:
    """Lightning attention: a square matrix a head and no convolution."""
    return StateGeometry(layers=layers, conv_elements=0, ssm_elements=heads * head_dim * head_dim)


def short_conv_state(layers: tuple[int, ...], *, hidden: int, kernel: int) -> StateGeometry:
    """Gated short convolution (LFM2): the last inputs of each channel and no recurrent state."""
    return StateGeometry(layers=layers, conv_elements=hidden * (kernel - 1), ssm_elements=0)
