"""The most that memory bandwidth allows: bytes of one decode step, and tokens a second no server can exceed.

``bytes a step and GPU = routed x u(R) + other + R x KV read``; ``tokens a second = R x L x bandwidth / bytes``
(facts/diagnoses.md 3.3). ``u(R) = 1 - (1 - k/N)^R`` is the share of N experts that R tokens touch with k each where routing
is uniform; real routing is skewed and touches fewer, so the true ceiling lies somewhat higher: "about", never a hard limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.reading import Missing, optional
from kvtui.domain.units import GIB

ACHIEVABLE: Final = 0.85
"""Share of the peak bandwidth that copies reach (facts/diagnoses.md 3.3)."""
DSA_TOP_K: Final = 2_048
"""Latents that sparse attention reads a token (DeepSeek-V3.2's ``index_topk``)."""
_FORMATS: Final = ((0.5625, 0.45, 0.78), (1.0, 0.9, 1.35), (2.0, 1.6, 2.5))
"""Bytes a routed weight (4 bits with scales, 8, 16), and the stored bytes a weight that are taken for it."""
_ELEMENT: Final = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "fp4": 0.5625}


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight bytes of one GPU."""

    routed: float
    """Of routed experts; 0 for a dense model."""
    other: float
    """Read in every step."""
    experts: int = 0
    per_token: int = 0


@dataclass(frozen=True, slots=True)
class DecodeModel:
    """What one decode step reads on one GPU."""

    weights: Weights
    kv_token_bytes: float
    """Read for each token of a request's context."""
    kv_window_bytes: float = 0.0
    """Read for each token inside ``window`` only (sliding layers, sparse attention)."""
    window: int = 0
    state_bytes: float = 0.0
    """Read and written for each request (linear attention)."""
    replicas: int = 1
    """Data-parallel attention ranks that share the experts."""


def expert_share(running: float, experts: int, per_token: int) -> float:
    """``u(R)``: the share of experts that ``running`` tokens touch, 0 to 1."""
    if experts <= 0 or not 0 < per_token <= experts:
        return 1.0
    return 1.0 - math.pow(1 - per_token / experts, max(0.0, running))


def weights_of(geometry: Geometry, weights_gib: float, world: int) -> Weights | Missing:
    """Weight bytes of one GPU out of ``world``, from what the log says a GPU holds.

    A mixture's routed part follows from its parameters and active parameters; the bytes a weight from what is stored.
    """
    stored = weights_gib * GIB
    if not (0 < stored < math.inf) or world < 1:
        return Missing("the weights of a GPU are unknown")
    if not geometry.experts or not geometry.experts_per_token:
        return Weights(0.0, stored)
    total, active = geometry.parameters, geometry.active_parameters
    if total is None or active is None or not 0 < active < total:
        return Missing("how many parameters are routed is unknown")
    share = geometry.experts_per_token / geometry.experts
    routed = (total - active) / (1 - share)
    other = max(0.0, total - routed)
    each = (stored * world - 2 * other) / routed
    size = next((size for size, low, high in _FORMATS if low <= each <= high), None)
    if size is None:
        return Missing(f"{each:.2f} bytes a routed weight is no format that is known")
    return Weights(routed * size / world, 2 * other / world, geometry.experts, geometry.experts_per_token)


def decode_model(account: Account) -> DecodeModel | Missing:
    """What a step reads on this server, or why that is not known; never a default model."""
    identity, geometry = account.identity, account.identity.geometry
    weights, cell, tp = optional(account.weights_gib), optional(account.cell_bytes), optional(identity.tp)
    if geometry is None:
        return Missing("the model's geometry is unknown")
    if weights is None or cell is None or tp is None:
        return Missing("weights, bytes a token or the tensor-parallel size are unknown")
    if (optional(identity.pp) or 1) > 1:
        return Missing("pipeline stages read their weights once a micro-batch: not modelled")
    stored = weights_of(geometry, weights, tp)
    if isinstance(stored, Missing):
        return stored
    ranks = max(1, optional(identity.dp) or 1) if identity.dp_attention else 1
    element = _ELEMENT.get(optional(identity.kv_dtype) or "")
    model = DecodeModel(stored, cell, replicas=ranks)
    return _by_attention(model, geometry, cell, element, max(1, tp // ranks))


def _by_attention(model: DecodeModel, geometry: Geometry, cell: float, element: float | None, tp: int) -> DecodeModel | Missing:
    """Not every kind reads its whole context in every step."""
    kind = geometry.attention
    if kind in (Attention.MHA, Attention.GQA, Attention.MLA):
        return model
    if kind is Attention.MAMBA_HYBRID and geometry.state is not None:
        state = 2.0 * geometry.state.bytes_per_request(tp)
        return DecodeModel(model.weights, cell, state_bytes=state, replicas=model.replicas)
    if kind is Attention.DSA:
        indexer = geometry.index_head_dim or 128
        keys = float((indexer + indexer // 128 * 4) * (geometry.index_layers or geometry.layers))
        return DecodeModel(model.weights, keys, max(0.0, cell - keys), DSA_TOP_K, replicas=model.replicas)
    if kind is Attention.SWA and element is not None and geometry.swa_layers and geometry.window:
        windows = len(geometry.swa_layers)
        full = geometry.layers - windows if geometry.full_layers is None else len(geometry.full_layers)
        heads = max(1, geometry.kv_heads // tp)
        swa_heads = max(1, (geometry.swa_kv_heads or geometry.kv_heads) // tp)
        wide = (geometry.swa_head_dim or geometry.head_dim) + (geometry.swa_v_head_dim or geometry.v_head_dim)
        each = heads * (geometry.head_dim + geometry.v_head_dim) * element
        return DecodeModel(model.weights, each * full, swa_heads * wide * element * windows, geometry.window, replicas=model.replicas)
    return Missing(f"what a step of {kind.value} attention reads is not modelled")


def step_bytes(model: DecodeModel, running: float, context: float, *, verified: float = 1.0) -> float:
    """Bytes one GPU reads in a step at ``running`` requests a rank of ``context`` tokens each.

    ``verified``: tokens a request puts through the model in a step, above 1 with speculation.
    """
    weights = model.weights
    touched = expert_share(running * model.replicas * verified, weights.experts, weights.per_token) if weights.experts else 1.0
    held = context * model.kv_token_bytes + min(context, model.window) * model.kv_window_bytes + model.state_bytes
    return weights.routed * touched + weights.other + running * held


def bound_tok_s(
    model: DecodeModel, running: float, context: float, bandwidth: float, *, accept_len: float = 1.0, verified: float = 1.0
) -> float:
    """Tokens a second of the whole server at ``bandwidth`` bytes a second a GPU; 0 where nothing runs."""
    moved = step_bytes(model, running, context, verified=verified)
    return running * model.replicas * accept_len * bandwidth / moved if moved > 0 and running > 0 else 0.0


def needed_bandwidth(model: DecodeModel, running: float, context: float, tok_s: float) -> float:
    """Bytes a second that every GPU would have to read for ``tok_s``, without speculation; infinite where nothing runs."""
    if running <= 0:
        return math.inf
    return tok_s / (running * model.replicas) * step_bytes(model, running, context)
