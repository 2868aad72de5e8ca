"""How a server was started, as far as its sizing depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.domain.geometry import Geometry
from kvtui.domain.release import Release, Table

DTYPES: Final = {
    "bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "half": "fp16", "float32": "fp32",
    "float": "fp32", "fp32": "fp32",
    "fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "float8_e4m3fn": "fp8_e4m3", "float8_e4m3fnuz": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2", "float8_e5m2": "fp8_e5m2", "float8_e5m2fnuz": "fp8_e5m2",
    "fp4": "fp4", "fp4_e2m1": "fp4", "float4_e2m1fn_x2": "fp4",
}  # fmt: skip
"""KV dtypes as flags, logs and configs spell them."""

CHECKPOINT_DTYPE: Final[Table[bool]] = Table("KV dtype of the checkpoint", (("0.4.6", False), ("0.5.3", True)))
"""True: an automatic KV dtype follows the checkpoint's quantisation."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a server was started, under the names of SGLang's arguments. None: not set, or not known."""

    release: Release | None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dp_attention: bool = False
    attn_cp: int = 1
    dcp: int = 1
    pre: float | None = None
    """Free before weights, GiB."""
    post: float | None = None
    """Free when the pool is sized, GiB."""
    fraction: float | None = None
    kv_dtype: str | None = None
    """As the flag or the log spells it; None and ``auto``: the checkpoint's."""
    page_size: int | None = None
    max_total_tokens: int | None = None
    max_running_requests: int | None = None
    """As the server has it: ``server_args`` shows a forced 48 already."""
    context_len: int | None = None
    """None: the checkpoint's."""
    spec: str | None = None
    """``speculative_algorithm``."""
    steps: int | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    draft_layers: int | None = None
    """Layers of the draft; None: the checkpoint's own NextN layers, else 1."""
    draft_swa_layers: int | None = None
    swa_ratio: float | None = None
    mamba_ratio: float | None = None
    max_mamba: int | None = None
    ssm_bytes: int | None = None
    """Bytes of one recurrent element (``--mamba-ssm-dtype``)."""
    disable_radix: bool = False
    extra_buffer: bool = False
    """``--mamba-scheduler-strategy extra_buffer``."""
    lazy_buffer: bool = False
    disable_overlap: bool = False
    hicache: bool = False
    chunk: int | None = 8192
    """``chunked_prefill_size``."""
    attention_backend: str | None = None
    """For DSA: the prefill or decode backend."""
    disable_hybrid_swa_memory: bool = False
    hybrid_kvcache_ratio: float | None = None
    """Llama 4 before 0.5.9."""
    multimodal: bool | None = None
    """``--enable-multimodal`` as given; None: what SGLang does by itself."""
    feature_cache: bool = False
    """The multimodal feature transport is cuda_ipc or cuda_vmm."""
    hisparse: bool = False
    unified_memory: bool = False
    notes: tuple[str, ...] = ()


def attention_tp(deployment: Deployment) -> int:
    """GPUs that share the attention heads."""
    shared = deployment.tp // (max(1, deployment.dp) if deployment.dp_attention else 1)
    return max(1, shared // max(1, deployment.attn_cp))


def kv_dtype_of(geometry: Geometry, deployment: Deployment) -> str | None:
    """The pool's dtype as a key of ``ELEMENT_BYTES``; None where it is not known."""
    named = (deployment.kv_dtype or "auto").lower().removeprefix("torch.")
    if named != "auto":
        return DTYPES.get(named)
    if geometry.kv_cache_quant and CHECKPOINT_DTYPE.at(deployment.release):
        return DTYPES.get(geometry.kv_cache_quant.lower())
    return DTYPES.get(geometry.dtype.lower().removeprefix("torch."))
