"""The shape of a model, as far as its KV cache depends on it. Numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Attention(str, Enum):
    """Kinds of attention, by how their KV cache is laid out (DESIGN.md section 3)."""

    MHA = "mha"
    GQA = "gqa"
    MLA = "mla"
    DSA = "dsa"
    SWA = "swa"
    MAMBA_HYBRID = "mamba-hybrid"
    DSV4 = "dsv4"


@dataclass(frozen=True, slots=True)
class StateGeometry:
    """The fixed-size state that linear-attention and Mamba layers keep for each request."""

    layers: tuple[int, ...]
    """Ids of the layers that keep a state."""
    conv_elements: int
    """Elements of convolution state a layer and request, over all tensor-parallel ranks."""
    ssm_elements: int
    """Elements of recurrent state a layer and request, over all tensor-parallel ranks."""
    conv_bytes: int = 2
    """Bytes of one convolution element."""
    ssm_bytes: int = 4
    """Bytes of one recurrent element."""
    conv_groups: int = 0
    """Key groups among the convolution channels; where they do not divide by the ranks, they are padded. 0: no groups."""
    conv_group_elements: int = 0
    """Convolution elements that one padded group adds."""

    def bytes_per_request(self, attention_tp: int) -> int:
        """State bytes of one request on one GPU (facts/memory.md 2.7).

        ``attention_tp``: GPUs the state is split over.
        """
        spare = attention_tp - self.conv_groups if self.conv_groups % attention_tp else 0
        conv = (self.conv_elements + spare * self.conv_group_elements) // attention_tp * self.conv_bytes
        ssm = self.ssm_elements // attention_tp * self.ssm_bytes
        return (conv + ssm) * len(self.layers)


@dataclass(frozen=True, slots=True)
class Geometry:
    """What sizing needs to know of a model; sizes are element counts unless said otherwise."""

    name: str
    """The model's common name, or the folder it came from."""
    architecture: str
    """Class name of the checkpoint's ``architectures`` entry."""
    attention: Attention
    layers: int
    """Hidden layers of the target model, the draft's not counted."""
    kv_heads: int
    head_dim: int
    v_head_dim: int
    heads: int | None = None
    """Query heads: attention's tensor parallelism must divide them; None: not known."""
    context_len: int | None = None
    """Longest context the checkpoint declares, in tokens."""
    hidden_size: int | None = None
    vocab_size: int | None = None
    dtype: str = "bfloat16"
    """The checkpoint's dtype: what an automatic KV dtype becomes."""
    kv_cache_quant: str | None = None
    """KV dtype that the checkpoint's quantisation config asks for, such as fp8_e4m3."""
    kv_lora_rank: int | None = None
    """Width of the MLA latent."""
    qk_rope_head_dim: int | None = None
    index_head_dim: int | None = None
    """Width of a DSA indexer key."""
    index_layers: int | None = None
    """Layers with an indexer of their own; None: all."""
    full_layers: tuple[int, ...] | None = None
    """Ids of full-attention layers, for SWA models and hybrids."""
    swa_layers: tuple[int, ...] | None = None
    swa_kv_heads: int | None = None
    swa_head_dim: int | None = None
    swa_v_head_dim: int | None = None
    window: int | None = None
    """Sliding window in tokens."""
    state: StateGeometry | None = None
    nextn_layers: int | None = None
    """Layers of the checkpoint's own MTP/NextN draft; None: it has none."""
    multimodal: bool = False
    """Whether SGLang serves its vision or audio part by default. False with ``vision_layers`` set: only
    with ``--enable-multimodal`` (Gemma 3, Llama 4, Step3)."""
    vision_layers: int | None = None
    """Depth of the vision part as the automatic fraction reads it: 24 where the file names none."""
    vision_hidden: int | None = None
    experts: int | None = None
    """Routed experts a layer."""
    experts_per_token: int | None = None
    parameters: float | None = None
    """All parameters."""
    active_parameters: float | None = None
    """Parameters one token uses."""
    compress_ratios: tuple[int, ...] | None = None
    """DeepSeek-V4: compression ratio of each layer (0, 4 or 128)."""
    sure: bool = True
    """False: not every number was checked against the published configuration."""
    note: str = ""
    """What is unsure."""
