"""What one line about GPU memory says. GiB; a figure that the line does not print is None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union


@dataclass(frozen=True, slots=True)
class InitEnd:
    """CUDA and NCCL are up."""

    usage_gib: float | None


@dataclass(frozen=True, slots=True)
class InitBegin:
    """CUDA and NCCL start: the first line of a rank."""


@dataclass(frozen=True, slots=True)
class WeightBegin:
    """Weights start to load."""

    avail_gib: float | None


@dataclass(frozen=True, slots=True)
class WeightEnd:
    """Weights are loaded."""

    avail_gib: float | None
    usage_gib: float | None
    type: str | None
    dtype: str | None
    quant: str | None


@dataclass(frozen=True, slots=True)
class Pool:
    """A KV pool is allocated. ``sizes`` are the printed figures in GiB, ``decimals_gib`` half their last places added up."""

    kind: Literal["kv", "full", "swa"]
    tokens: int | None
    sizes: tuple[float, ...]
    decimals_gib: float
    latent: bool
    dtype: str | None
    bound: bool
    """True: an upper bound of address space, not memory (post-capture sizing, 0.5.18 and later)."""


@dataclass(frozen=True, slots=True)
class PoolEnd:
    """All pools of a runner are made."""

    avail_gib: float | None


@dataclass(frozen=True, slots=True)
class States:
    """The pool of Mamba or linear-attention states."""

    slots: int | None
    conv_gib: float | None
    ssm_gib: float | None
    intermediate_gib: float


@dataclass(frozen=True, slots=True)
class Split:
    """Tokens of the full and of the sliding-window pool."""

    full_tokens: int
    swa_tokens: int


@dataclass(frozen=True, slots=True)
class CaptureBegin:
    """A capture of CUDA graphs starts; ``label`` is ``decode``, ``draft``, ``target verify``, ..."""

    label: str
    avail_gib: float | None
    batch_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CaptureEnd:
    """A capture is done."""

    label: str
    avail_gib: float | None
    usage_gib: float | None
    batch_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CaptureSizes:
    """The batch sizes of the capture that runs."""

    batch_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sized:
    """The ``max_total_num_tokens=`` line that ends a start."""

    max_total_num_tokens: int
    chunked_prefill_size: int | None
    max_prefill_tokens: int | None
    max_running_requests: int | None
    context_len: int | None
    avail_gib: float | None


@dataclass(frozen=True, slots=True)
class HostAllocation:
    """HiCache's host memory. Decimal GB, as printed."""

    size_gb: float
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Sizing:
    """Figures of the sizing itself, which some versions and debug builds print."""

    rest_gib: float | None = None
    pre_gib: float | None = None
    post_gib: float | None = None
    cell_bytes: float | None = None
    multimodal_reserve_gib: float | None = None
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class KvDtype:
    """The KV dtype in use, where "auto" was asked for."""

    dtype: str


MemoryFact = Union[
    InitBegin,
    InitEnd,
    WeightBegin,
    WeightEnd,
    Pool,
    PoolEnd,
    States,
    Split,
    CaptureBegin,
    CaptureEnd,
    CaptureSizes,
    Sized,
    HostAllocation,
    Sizing,
    KvDtype,
]
