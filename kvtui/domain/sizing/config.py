"""What sizing takes and gives: one server configuration, its cell, its pools, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.release import Release
from kvtui.domain.units import GIB

Layout = Literal["mha", "mla", "nsa", "dsv4"]
"""How a layer stores a token: heads of K and V (MHA, GQA), one latent (MLA), a latent and an indexer key (DSA, NSA), DeepSeek-V4."""

Kind = Literal["no-memory", "state-pool", "swa-pool", "no-requests", "unsupported", "not-modelled", "invalid"]
"""Why there is no size: nothing left for the pool; the state pool, the sliding-window pool or the request table comes
out empty; that release refuses it; this arithmetic does not cover it; an input is missing or contradictory."""

ELEMENT_BYTES: Final = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp4": 1}
"""Bytes of one stored element. fp4 packs two values a byte and is halved in its own formula."""


class SizingError(Exception):
    """SGLang would refuse to start, or this arithmetic does not apply."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class SizingConfig:
    """One server, as the sizing of SGLang sees it. Memory in GiB, lengths in tokens, one GPU of one pipeline stage."""

    release: Release | None
    """None: unknown, the newest rules."""
    layout: Layout
    layers: int
    """Hidden layers of the whole model."""
    kv_dtype: str = "bf16"
    """A key of ``ELEMENT_BYTES``."""
    pre: float | None = None
    """Free before weights, minimum over ranks."""
    post: float | None = None
    """Free when the pool is sized, minimum over ranks."""
    fraction: float | None = None
    """``mem_fraction_static``."""
    page_size: int = 1
    attn_tp: int = 1
    """GPUs that share the attention heads: tp / dp (under DP attention) / attention context parallel."""
    kv_heads: int = 1
    """KV heads of the model, before they are split."""
    head_dim: int = 0
    v_head_dim: int = 0
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    """DeepSeek-V4 only."""
    index_head_dim: int = 0
    """Width of an indexer key (DSA, DeepSeek-V4)."""
    index_layers: int | None = None
    """Layers with an indexer of their own; None: all."""
    raw_rows: bool = False
    """DSA: the backend (trtllm) stores fp8 latents without scales."""
    hicache: bool = False
    context_len: int | None = None
    max_total_tokens: int | None = None
    max_running_requests: int | None = None
    dp_size: int = 1
    """Data-parallel size under DP attention, else 1."""
    start: int | None = None
    """First layer of this pipeline stage; None: 0."""
    end: int | None = None
    """Layer after the stage's last; None: all."""
    pp_size: int = 1
    multimodal: bool = False
    feature_cache: bool = False
    """The multimodal feature transport is cuda_ipc or cuda_vmm."""
    spec: str | None = None
    """Speculative algorithm: EAGLE, EAGLE3, NEXTN, STANDALONE, NGRAM, DFLASH, ..."""
    steps: int = 0
    topk: int = 0
    draft_tokens: int = 0
    paged_branches: bool = False
    """Each branch of a draft tree takes whole pages, as in servers since 0.5.15; False: tokens only."""
    draft_layers: int | None = None
    draft_swa_layers: int | None = None
    """Of ``draft_layers``, those with a sliding window."""
    draft_cell: int | None = None
    """Bytes a token of a DFLASH draft with its own geometry; None: priced by layer count."""
    hybrid_swa: bool = False
    full_ids: tuple[int, ...] = ()
    """Ids of full-attention layers, for sliding-window models and hybrids."""
    swa_ids: tuple[int, ...] = ()
    swa_head_dim: int = 0
    swa_v_head_dim: int = 0
    swa_kv_heads: int | None = None
    """None: as ``kv_heads``."""
    window: int | None = None
    swa_ratio: float = 0.8
    """``--swa-full-tokens-ratio``."""
    disable_radix: bool = False
    mamba_per_req: int = 0
    """Bytes of recurrent state of one request over all layers, on one GPU; 0: no such layers."""
    mamba_ids: tuple[int, ...] = ()
    mamba_ratio: float = 0.9
    """``--mamba-full-memory-ratio``."""
    max_mamba: int | None = None
    """``--max-mamba-cache-size``."""
    extra_buffer: bool = False
    """The mamba scheduler strategy keeps an extra buffer."""
    lazy_buffer: bool = False
    no_overlap: bool = False
    """``--disable-overlap-schedule``."""
    gdn: bool = False
    """Gated delta nets (Qwen3-Next): 0.5.3 and 0.5.6 divide their state slots by ``dp_size``."""
    chunk: int | None = 8192
    """``--chunked-prefill-size``."""
    compress_ratios: tuple[int, ...] = ()
    """DeepSeek-V4: compression ratio of each layer."""
    unmodelled: str = ""
    """Why this server cannot be sized; empty where it can."""
    notes: tuple[str, ...] = ()
    """What was assumed while this was put together."""

    @property
    def element(self) -> int:
        """Bytes of one stored element.

        Raises SizingError for a dtype that is not known.
        """
        size = ELEMENT_BYTES.get(self.kv_dtype)
        if size is None:
            raise SizingError("invalid", f"The KV dtype {self.kv_dtype!r} is not one of {', '.join(ELEMENT_BYTES)}.")
        return size

    @property
    def stage(self) -> range:
        """Layer ids of this pipeline stage."""
        return range(self.start or 0, self.layers if self.end is None else self.end)

    @property
    def kv_layers(self) -> int:
        """Layers of the stage that keep KV: all, or a hybrid's full-attention layers."""
        return len(self.stage_full) if self.mamba_per_req else len(self.stage)

    @property
    def stage_full(self) -> tuple[int, ...]:
        """Full-attention layers of the stage."""
        return tuple(layer for layer in self.full_ids if layer in self.stage)

    @property
    def stage_swa(self) -> tuple[int, ...]:
        """Sliding-window layers of the stage."""
        return tuple(layer for layer in self.swa_ids if layer in self.stage)

    @property
    def eagle(self) -> bool:
        """The draft has a KV pool shaped like the target's."""
        return self.spec in {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"}

    def local_heads(self, heads: int) -> int:
        """KV heads on one GPU: split evenly, and repeated where there are fewer heads than GPUs."""
        return max(1, heads // self.attn_tp)

    def align(self, tokens: int) -> int:
        """Whole pages only."""
        return tokens // self.page_size * self.page_size


@dataclass(frozen=True, slots=True)
class Cell:
    """KV bytes of one token on one GPU; of one full-attention token where a sliding-window pool rides along."""

    bytes: float
    formula: str
    """``(512 + 64) × 61 layers × 2 B``."""


@dataclass(frozen=True, slots=True)
class StatePoolSize:
    """The pool of fixed-size states of a hybrid model."""

    slots: int
    gib: float
    """States and the intermediate ones of speculative decoding."""
    per_request: int
    """Slots that one running request may hold."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """What the server would make of its memory. One GPU, one pipeline stage."""

    tokens: int
    """``max_total_num_tokens``."""
    full: int | None
    """Tokens of the full-attention pool; None where there is only one pool."""
    swa: int | None
    """Tokens of the sliding-window pool."""
    mamba: int | None
    """State slots."""
    reqs: int | None
    """Effective ``max_running_requests``; None where the context length is unknown and decides it."""
    req_slots: int | None
    """Rows of ``req_to_token``, the dummy row of newer releases not counted."""
    cell: Cell
    rest_gib: float
    """What becomes the KV pool, after every reserve."""
    state_gib: float
    """The state pool's part; 0 where there is none."""
    reserve_gib: float
    """The multimodal reserve."""
    fixed_gib: float
    """The part of ``rest_gib`` that does not grow with the tokens: a window pool or compressor states sized by requests."""
    uncapped: int
    """Tokens without ``max_total_tokens``."""
    notes: tuple[str, ...] = ()

    @property
    def kv_gib(self) -> float:
        """The pools: tokens times cell and what is fixed, the dummy page not counted."""
        return self.tokens * self.cell.bytes / GIB + self.fixed_gib
