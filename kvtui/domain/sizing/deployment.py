"""From a model and a server's settings to the configuration that sizing takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models.architectures import NOT_MODELLED, TEXT_ONLY_UNLESS_ASKED, swa_memory
from kvtui.domain.sizing import rules
from kvtui.domain.sizing.cell import cell
from kvtui.domain.sizing.config import Layout, SizingConfig, SizingError
from kvtui.domain.sizing.settings import Deployment, attention_tp, kv_dtype_of
from kvtui.domain.sizing.state import stages

__all__ = ["FORCED_BY_DRAFTS", "FORCED_BY_DSV4", "Deployment", "attention_tp", "config_for", "kv_dtype_of"]

FORCED_BY_DRAFTS: Final = 48
"""``max_running_requests`` that speculative decoding sets where none is given, in every release."""
FORCED_BY_DSV4: Final = 256
"""The same, for DeepSeek-V4."""

_GATED_DELTA: Final = ("Qwen3Next", "JetNemotron", "JetVLM")
_DEFAULT_WINDOW_SHARE: Final = 0.8
_DSV4_WINDOW_SHARE: Final = 0.1
_DEFAULT_STATE_SHARE: Final = 0.9


def config_for(geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """The configuration of the pipeline stage that decides the pool: the one with the largest cell.

    Never raises: what cannot be sized carries its reason in ``unmodelled``.
    """
    config = _base(geometry, deployment)
    config = _with_draft(config, geometry, deployment)
    config = _with_windows(config, geometry, deployment)
    config = _with_states(config, geometry, deployment)
    config = _with_indexer(config, geometry, deployment)
    if config.layout == "dsv4":
        config = _with_compression(config, geometry)
    reason = _unmodelled(config, geometry, deployment)
    if reason:
        return replace(config, unmodelled=reason)
    return _deciding_stage(config) if deployment.pp > 1 else config


_LAYOUTS: Final[dict[Attention, Layout]] = {
    Attention.MLA: "mla",
    Attention.DSA: "nsa",
    Attention.DSV4: "dsv4",
}


def _base(geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """What every kind of model has."""
    layout = _LAYOUTS.get(geometry.attention, "mha")
    if geometry.attention is Attention.MAMBA_HYBRID and geometry.kv_lora_rank:
        layout = "mla"
    notes = list(deployment.notes)
    if deployment.page_size is None and layout != "dsv4":
        notes.append("The page size is not known: 1 is assumed.")
    return SizingConfig(
        release=deployment.release,
        layout=layout,
        layers=geometry.layers,
        kv_dtype=kv_dtype_of(geometry, deployment) or "bf16",
        pre=deployment.pre,
        post=deployment.post,
        fraction=deployment.fraction,
        page_size=deployment.page_size or (256 if layout == "dsv4" else 1),
        attn_tp=attention_tp(deployment),
        kv_heads=geometry.kv_heads,
        head_dim=geometry.head_dim,
        v_head_dim=geometry.v_head_dim,
        kv_lora_rank=geometry.kv_lora_rank or 0,
        qk_rope_head_dim=geometry.qk_rope_head_dim or 0,
        index_head_dim=geometry.index_head_dim or 0,
        hicache=deployment.hicache,
        context_len=deployment.context_len or geometry.context_len,
        max_total_tokens=deployment.max_total_tokens,
        max_running_requests=deployment.max_running_requests,
        dp_size=max(1, deployment.dp) if deployment.dp_attention else 1,
        pp_size=max(1, deployment.pp),
        multimodal=_sees(geometry, deployment),
        feature_cache=deployment.feature_cache,
        disable_radix=deployment.disable_radix,
        no_overlap=deployment.disable_overlap,
        chunk=deployment.chunk,
        notes=tuple(notes),
    )


def _sees(geometry: Geometry, deployment: Deployment) -> bool:
    """Whether the server takes images, so that it keeps the multimodal reserve."""
    asked = deployment.multimodal
    if asked is None:
        asked = geometry.architecture not in TEXT_ONLY_UNLESS_ASKED
    return geometry.multimodal and asked


def _with_draft(config: SizingConfig, geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """Speculative decoding, and the request number that it forces."""
    notes, requests = list(config.notes), config.max_running_requests
    if deployment.spec is None:
        if requests is None and config.layout == "dsv4":
            requests = FORCED_BY_DSV4
            notes.append(f"SGLang sets max_running_requests to {requests} for DeepSeek-V4.")
        return replace(config, max_running_requests=requests, notes=tuple(notes))
    if requests is None:
        requests = FORCED_BY_DSV4 if config.layout == "dsv4" else FORCED_BY_DRAFTS
        notes.append(f"SGLang sets max_running_requests to {requests} here.")
    spec = deployment.spec.upper()
    layers = deployment.draft_layers if deployment.draft_layers is not None else geometry.nextn_layers
    if layers is None and spec != "NGRAM":
        layers = 1
        notes.append("The draft's layers are not known: 1 is assumed.")
    if None in (deployment.steps, deployment.topk, deployment.draft_tokens) and rules.INFLATED.at(config.release) != "no":
        notes.append("The draft's steps or tokens are not known: the few hundred tokens of room for them are left out.")
    return replace(
        config,
        max_running_requests=requests,
        spec=spec,
        steps=deployment.steps or 0,
        topk=deployment.topk or 0,
        draft_tokens=deployment.draft_tokens or 0,
        paged_branches=True,
        draft_layers=layers,
        draft_swa_layers=deployment.draft_swa_layers,
        notes=tuple(notes),
    )


def _with_windows(config: SizingConfig, geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """A pool for sliding windows, where the release makes one for this model."""
    if config.layout == "dsv4" or not geometry.swa_layers:
        return config
    if deployment.disable_hybrid_swa_memory or not swa_memory(geometry.architecture, deployment.release):
        return replace(config, notes=(*config.notes, "Every layer is priced as full attention: this server makes no sliding-window pool."))
    full = geometry.full_layers
    if full is None:
        windows = set(geometry.swa_layers)
        full = tuple(layer for layer in range(geometry.layers) if layer not in windows)
    return replace(
        config,
        hybrid_swa=True,
        full_ids=full,
        swa_ids=geometry.swa_layers,
        swa_kv_heads=geometry.swa_kv_heads,
        swa_head_dim=geometry.swa_head_dim or geometry.head_dim,
        swa_v_head_dim=geometry.swa_v_head_dim or geometry.v_head_dim,
        window=geometry.window,
        swa_ratio=_DEFAULT_WINDOW_SHARE if deployment.swa_ratio is None else deployment.swa_ratio,
    )


def _with_states(config: SizingConfig, geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """The states of linear-attention and Mamba layers."""
    state = geometry.state
    if state is None:
        return config
    if deployment.ssm_bytes is not None:
        state = replace(state, ssm_bytes=deployment.ssm_bytes)
    full = geometry.full_layers
    if full is None:
        kept = set(state.layers)
        full = tuple(layer for layer in range(geometry.layers) if layer not in kept)
    return replace(
        config,
        full_ids=full,
        mamba_per_req=state.bytes_per_request(config.attn_tp),
        mamba_ids=state.layers,
        mamba_ratio=_DEFAULT_STATE_SHARE if deployment.mamba_ratio is None else deployment.mamba_ratio,
        max_mamba=deployment.max_mamba,
        extra_buffer=deployment.extra_buffer,
        lazy_buffer=deployment.lazy_buffer,
        gdn=geometry.architecture.startswith(_GATED_DELTA),
    )


def _with_indexer(config: SizingConfig, geometry: Geometry, deployment: Deployment) -> SizingConfig:
    """DSA's indexer, and how its fp8 rows are stored."""
    if config.layout != "nsa":
        return config
    notes = config.notes
    backend = (deployment.attention_backend or "").lower()
    if config.kv_dtype == "fp8_e4m3" and not backend and rules.SCALED_ROWS.at(config.release):
        notes = (*notes, "The DSA backend is not known: fp8 rows are priced with scales (trtllm stores them without, 12 % less).")
    return replace(config, index_layers=geometry.index_layers, raw_rows=backend == "trtllm", notes=notes)


def _with_compression(config: SizingConfig, geometry: Geometry) -> SizingConfig:
    """DeepSeek-V4's ratios; its rows are a rope part and the rest of the head."""
    rope = geometry.qk_rope_head_dim or 0
    # A checkpoint lists its NextN layers too, uncompressed; 0.5.12 counts them, later releases cut the list to the stage.
    drafts = (0,) * (geometry.nextn_layers or 0)
    return replace(
        config,
        compress_ratios=(*geometry.compress_ratios, *drafts) if geometry.compress_ratios else (),
        qk_nope_head_dim=max(0, geometry.head_dim - rope),
        window=geometry.window,
        swa_ratio=_DSV4_WINDOW_SHARE if config.swa_ratio == _DEFAULT_WINDOW_SHARE else config.swa_ratio,
    )


def _unmodelled(config: SizingConfig, geometry: Geometry, deployment: Deployment) -> str:
    """Why the arithmetic does not cover this server; empty where it does."""
    dtype = deployment.kv_dtype or geometry.kv_cache_quant or geometry.dtype
    special = NOT_MODELLED.get(geometry.architecture)
    reasons = (
        (kv_dtype_of(geometry, deployment) is None, f"The KV dtype {dtype[:40]} is not modelled."),
        (deployment.dcp > 1, "Decode context parallelism is not modelled."),
        (deployment.hisparse, "HiSparse pools are not modelled."),
        (deployment.unified_memory, "Unified memory pools are not modelled."),
        (special is not None, f"This model is not modelled: {special}."),
        (geometry.attention is Attention.MAMBA_HYBRID and config.mamba_per_req == 0, "The size of this hybrid's states is not known."),
        (deployment.hybrid_kvcache_ratio is not None, "The chunked pools of Llama 4 (--hybrid-kvcache-ratio) are not modelled."),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _deciding_stage(config: SizingConfig) -> SizingConfig:
    """The stage with the largest cell: SGLang takes the smallest pool of all stages (facts/memory.md 1.3)."""
    extra = config.hybrid_swa and rules.SWA_EXTRA_LAYER.at(config.release)
    best, largest = config, -1.0
    for stage in _stage_ranges(config, extra=extra):
        candidate = replace(config, start=stage.start, end=stage.stop)
        try:
            size = cell(candidate).bytes
        except SizingError:
            continue
        if size > largest:
            best, largest = candidate, size
    return best


def _stage_ranges(config: SizingConfig, *, extra: bool) -> Sequence[range]:
    """Layers that each stage is priced with; some releases count one layer too many on all but the last."""
    parts = stages(config.layers, config.pp_size)
    return [range(part.start, min(part.stop + 1, config.layers)) if extra else part for part in parts]
