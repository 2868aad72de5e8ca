"""The ``mem_fraction_static`` that SGLang chooses when none is set (facts/memory.md 3; server_args.py, from 0.5.21 memory_hook.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.release import Release, Table, parse_release, standing

_GIB_MIB: Final = 1024
_LARGE_MIB: Final = 60 * _GIB_MIB
"""GPUs above this keep at least ``_LARGE_RESERVE``."""
_LARGE_RESERVE: Final = 10 * _GIB_MIB
_LEAST_TOKENS: Final = 2048
"""Prefill tokens that activations are reserved for, at least."""
_MANY_GRAPHS: Final = 300
"""Graph batches above this cost more under DP attention."""
_MLA_PREFILL: Final = 2048
"""Largest token count of MLA's prefill graphs, where they are counted by size (0.5.9)."""
_VIT_BASELINE: Final = 24 * 1024**2
"""Layers times squared width of the vision tower that the multimodal factor is scaled to."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Defaults for GPUs below a size."""

    below_mib: int | None
    """None: every larger GPU."""
    chunk: int
    graph_bs: int
    """Largest graph batch, tp below 4."""
    graph_bs_tp4: int
    """Largest graph batch, tp of 4 and more."""


def _capacities(small: Capacity) -> tuple[Capacity, ...]:
    """The table of GPU sizes; releases differ in the row of cards below 35 GiB."""
    return (
        Capacity(20 * _GIB_MIB, 2048, 8, 8),
        small,
        Capacity(60 * _GIB_MIB, 4096, 32, 160),
        Capacity(160 * _GIB_MIB, 8192, 256, 512),
        Capacity(None, 16384, 512, 512),
    )


CAPACITIES: Final[Table[tuple[Capacity, ...]]] = Table(
    "defaults by GPU size",
    (
        ("0.4.6", _capacities(Capacity(35 * _GIB_MIB, 2048, 16, 80))),
        ("0.5.6", _capacities(Capacity(35 * _GIB_MIB, 2048, 24, 80))),
        ("0.5.21", _capacities(Capacity(35 * _GIB_MIB, 4096, 48, 160))),
    ),
)
FORMULA: Final[Table[Literal["by parallelism", "by GPU size", "by reserve"]]] = Table(
    "the automatic fraction", (("0.4.6", "by parallelism"), ("0.4.10", "by GPU size"), ("0.5.3", "by reserve"))
)
PREFILL_GRAPH: Final[Table[Literal["none", "tokens", "sizes", "sizes or latent"]]] = Table(
    "reserve of prefill graphs", (("0.4.6", "none"), ("0.5.6", "tokens"), ("0.5.9", "sizes"), ("0.5.10", "sizes or latent"))
)
"""By the largest size, added after the floor; by the number of sizes; MLA at a flat rate."""
DRAFT_RESERVE: Final[Table[int]] = Table("reserve of drafts", (("0.4.6", 2048), ("0.5.10", 4096), ("0.5.15", 0)))
"""MiB for drafts other than STANDALONE and NGRAM."""
STANDALONE_RESERVE: Final[Table[int]] = Table("reserve of standalone drafts", (("0.4.6", 6144), ("0.5.15", 0)))
ROLE_AWARE: Final[Table[bool]] = Table("prefill and decode roles", (("0.4.6", False), ("0.5.15", True)))
"""True: the roles of disaggregated servers, disabled decode graphs and DeepEP change the reserve."""
DECODE_VISION: Final[Table[bool]] = Table("multimodal decode servers", (("0.4.6", True), ("0.5.18", False)))
"""Whether a disaggregated decode server is reduced for its vision tower."""
REQUESTS_BOUND: Final[Table[bool]] = Table("graph batches", (("0.4.6", False), ("0.5.23", True)))
"""True: the default graph batch is at most ``max_running_requests``."""
UNKNOWN_GPU: Final[Table[float]] = Table("fraction without a GPU size", (("0.4.6", 0.88), ("0.5.21", 0.95)))
_PROVEN_FROM: Final = parse_release("0.5.3")


@dataclass(frozen=True, slots=True)
class FractionInputs:
    """What the automatic fraction hangs on."""

    release: Release | None
    gpu_mib: float | None
    """The smallest GPU's memory as nvidia-smi prints it, MiB; None: unknown to the server."""
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dp_attention: bool = False
    spec: str | None = None
    draft_tokens: int | None = None
    chunk: int | None = None
    """``--chunked-prefill-size`` as given, before DP attention divides it; None: the default, 0 or less: off."""
    max_prefill_tokens: int = 16384
    graph_bs: int | None = None
    """``--cuda-graph-max-bs``; None: the default."""
    mla: bool = False
    prefill_graph: bool = False
    """Prefill graphs are captured (opt-in until 0.5.9; later on by default, but off for drafts, DP attention, PP, LoRA, images)."""
    decode_graph: bool = True
    multimodal: bool = False
    vit_layers: int = 24
    vit_hidden: int = 1024
    max_running_requests: int | None = None
    role: Literal["null", "prefill", "decode"] = "null"
    """Disaggregation mode."""
    deepep: bool = False


@dataclass(frozen=True, slots=True)
class AutoFraction:
    """The fraction SGLang chooses, and what else it fills in on the way."""

    fraction: float
    reserve_mib: float | None
    """What is kept free; None where the rule has no such figure."""
    chunk: int
    """Chunked prefill size, before DP attention divides it."""
    graph_bs: int | None
    """Largest graph batch; None where 0.4.x leaves it to the graph runner."""
    proven: bool
    """False: read in SGLang's source, but never run against it (0.4.x)."""
    note: str = ""


def auto_fraction(inputs: FractionInputs) -> AutoFraction:
    """The automatic fraction of a server that sets none; pure arithmetic, raises nothing."""
    how = FORMULA.at(inputs.release)
    if how == "by parallelism":
        found = _by_parallelism(inputs)
    elif how == "by GPU size":
        found = _by_gpu_size(inputs)
    else:
        found = _by_reserve(inputs)
    return found


def _by_parallelism(inputs: FractionInputs) -> AutoFraction:
    """0.4.6."""
    memory, parallel = inputs.gpu_mib, inputs.tp * inputs.pp
    fraction = 0.88
    if memory is not None and memory <= 80 * _GIB_MIB:
        steps = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87))
        fraction = next((value for least, value in steps if parallel >= least), fraction)
    if memory is not None and memory > 96 * _GIB_MIB:
        fraction = min(fraction + 48 * _GIB_MIB * (1 - fraction) / memory, (memory - 18 * _GIB_MIB) / memory)
    small = memory is not None and memory < 25_000
    chunk = 2048 if small else (16384 if inputs.role != "null" else 8192)
    graphs = (8 if inputs.tp < 4 else 80) if small else None
    return _unproven(inputs, fraction, None, chunk, graphs)


def _by_gpu_size(inputs: FractionInputs) -> AutoFraction:
    """0.4.10."""
    memory, parallel = inputs.gpu_mib, inputs.tp * inputs.pp
    if memory is None:
        return _unproven(inputs, _for_vision(inputs, 0.88), None, 4096, None)
    steps: tuple[tuple[int, float], ...] = ((35, 2.8 + parallel / 10), (90, 9.5 + parallel / 2), (160, 12 + parallel / 2))
    reserve = next((gib for below, gib in steps if memory < below * _GIB_MIB), 32) * _GIB_MIB
    reserve += (2048 if inputs.spec is not None else 0) + (4096 if inputs.dp_attention else 0)
    fraction = _for_vision(inputs, round((memory - reserve) / memory, 3))
    small = memory < 35 * _GIB_MIB
    chunk = 2048 if small else (8192 if memory < 160 * _GIB_MIB else 16384)
    graphs = (8 if inputs.tp < 4 else 80) if small else None
    return _unproven(inputs, fraction, reserve, chunk, graphs)


def _unproven(inputs: FractionInputs, fraction: float, reserve: float | None, chunk: int, graphs: int | None) -> AutoFraction:
    return AutoFraction(
        fraction=fraction,
        reserve_mib=reserve,
        chunk=chunk if inputs.chunk is None else inputs.chunk,
        graph_bs=graphs if inputs.graph_bs is None else inputs.graph_bs,
        proven=False,
        note=f"The automatic fraction of {inputs.release} was read, not run.",
    )


def _by_reserve(inputs: FractionInputs) -> AutoFraction:
    """From 0.5.3: what activations and graphs take is kept free."""
    memory = inputs.gpu_mib
    chunk, graphs = _defaults(inputs)
    reserve = 512 + 1.5 * _activation_tokens(inputs, chunk, graphs) + inputs.tp * inputs.pp / 8 * 1024
    reserve += _graph_reserve(inputs, chunk, graphs)
    if memory is not None and memory > _LARGE_MIB:
        reserve = max(reserve, _LARGE_RESERVE)
    reserve += _after_floor(inputs)
    fraction = UNKNOWN_GPU.at(inputs.release) if memory is None else round((memory - reserve) / memory, 3)
    return AutoFraction(
        fraction=_for_vision(inputs, fraction),
        reserve_mib=None if memory is None else reserve,
        chunk=chunk,
        graph_bs=graphs,
        proven=True,
        note=standing(inputs.release),
    )


def _defaults(inputs: FractionInputs) -> tuple[int, int]:
    """Chunked prefill size and largest graph batch, where they are not set."""
    rows, memory = CAPACITIES.at(inputs.release), inputs.gpu_mib
    if memory is None:
        chunk, graphs = 4096, 160
    else:
        row = next(row for row in rows if row.below_mib is None or memory < row.below_mib)
        chunk, graphs = row.chunk, row.graph_bs if inputs.tp < 4 else row.graph_bs_tp4
    if REQUESTS_BOUND.at(inputs.release) and inputs.max_running_requests is not None:
        graphs = min(graphs, inputs.max_running_requests)
    return chunk if inputs.chunk is None else inputs.chunk, graphs if inputs.graph_bs is None else inputs.graph_bs


def _activation_tokens(inputs: FractionInputs, chunk: int, graphs: int) -> int:
    """Tokens of the largest batch that is run."""
    if inputs.role == "decode" and ROLE_AWARE.at(inputs.release):
        return max((inputs.max_running_requests or graphs or 1) * (inputs.draft_tokens or 1), _LEAST_TOKENS)
    return max(chunk if chunk > 0 else inputs.max_prefill_tokens, _LEAST_TOKENS)


def _graph_reserve(inputs: FractionInputs, chunk: int, graphs: int) -> float:
    """MiB for CUDA graphs and for the padding of DP attention."""
    aware = ROLE_AWARE.at(inputs.release)
    decodes, prefills = not aware or inputs.role != "prefill", not aware or inputs.role != "decode"
    reserve = 0.0
    if decodes and (inputs.decode_graph or not aware):
        reserve += graphs * 2
    if decodes and inputs.dp_attention:
        reserve += graphs * inputs.dp * (4.5 if graphs > _MANY_GRAPHS else 3)
    how = PREFILL_GRAPH.at(inputs.release)
    if inputs.prefill_graph and prefills and how in {"sizes", "sizes or latent"}:
        latent = inputs.mla and how == "sizes or latent"
        reserve += 1536 if latent else 8 * _prefill_sizes(inputs, chunk)
    return reserve


def _after_floor(inputs: FractionInputs) -> float:
    """MiB that come on top of the floor for large GPUs."""
    reserve = 0.0
    if inputs.spec == "STANDALONE":
        reserve += STANDALONE_RESERVE.at(inputs.release)
    elif inputs.spec not in {None, "NGRAM"}:
        reserve += DRAFT_RESERVE.at(inputs.release)
    if inputs.prefill_graph and PREFILL_GRAPH.at(inputs.release) == "tokens":
        reserve += 4096 // 4
    if ROLE_AWARE.at(inputs.release) and inputs.deepep and inputs.decode_graph and inputs.role != "prefill":
        reserve += 2048
    return reserve


def _prefill_sizes(inputs: FractionInputs, chunk: int) -> int:
    """How many token counts prefill graphs are captured for."""
    largest = _MLA_PREFILL if inputs.mla else chunk
    steps = (
        range(4, 33, 4),
        range(48, 257, 16),
        range(288, 513, 32),
        range(576, 1025, 64),
        range(1280, 4097, 256),
        range(4608, largest + 1, 512),
    )
    return sum(size <= largest for step in steps for size in step)


def _for_vision(inputs: FractionInputs, fraction: float) -> float:
    """Less for the vision tower of a multimodal model; not rounded."""
    if not inputs.multimodal or (inputs.role == "decode" and not DECODE_VISION.at(inputs.release)):
        return fraction
    complexity = inputs.vit_layers * inputs.vit_hidden**2 / _VIT_BASELINE
    factor = max(0.8, min(1.05, 1.0 - 0.1 * (complexity - 1.0)))
    return fraction * (0.95 * factor)
