"""The memory account of one boot: its arithmetic as data, each figure with its origin.

``domain.accounting`` makes it; this file only says what it holds, so that panes, rules and
levers share one shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.reading import Known, Missing, Reading

NO_CELL = Missing("the cell is unknown")

CellBasis = Literal["geometry", "printed", "pool size", "unknown"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which server this is."""

    version: Reading[str]
    model: Reading[str]
    """The model's name, without its path."""
    architecture: Reading[str]
    attention: Reading[Attention]
    tp: Reading[int]
    dp: Reading[int]
    pp: Reading[int]
    dp_attention: bool
    kv_dtype: Reading[str]
    """bfloat16, float16, fp8_e4m3, fp8_e5m2, fp4, ..."""
    page_size: Reading[int]
    geometry: Geometry | None
    geometry_source: str
    """Where the geometry comes from, or why there is none; one clause."""
    version_span: tuple[str | None, str | None] = (None, None)
    """Oldest and newest release that the wording of the log allows, where it prints none."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where the pool of a boot comes from. GiB, bytes and tokens per GPU.

    The law (facts/memory.md 0): ``tokens = floor((post - pre x (1 - fraction) - extras) / cell)``, page aligned, capped.
    """

    identity: Identity
    pre_gib: Reading[float]
    """Free before weights, minimum over ranks."""
    post_gib: Reading[float]
    """Free when the pool is sized, minimum over ranks."""
    fraction: Reading[float]
    slack_gib: Reading[float]
    """``pre x (1 - fraction)``."""
    extras_gib: Reading[float]
    """What the formula takes off besides the slack: multimodal reserve, state pools."""
    rest_gib: Reading[float]
    """What becomes the KV pool."""
    cell_bytes: Reading[float]
    cell_basis: CellBasis
    cell_formula: str
    """The cell's arithmetic in words a person can check: ``(512 + 64) x 61 layers x 2 B``; empty where measured."""
    kv_gib: Reading[float]
    """The target pool's size: as logged, else tokens x cell."""
    tokens_predicted: Reading[int]
    tokens_reported: Reading[int]
    tolerance_tokens: int
    """How far the two may differ by the rounding of the logged inputs alone."""
    swa_tokens: Reading[int]
    state_slots: Reading[int]
    state_gib: Reading[float]
    cap_tokens: Reading[int]
    """``max_total_tokens`` where set."""
    running_cap: Reading[int]
    """Effective ``max_running_requests`` of one data-parallel rank."""
    running_cap_why: str
    """Set, default, or forced by what; empty where unknown."""
    context_len: Reading[int]
    headroom_gib: Reading[float]
    """Free once the server is up: the last ``available_gpu_mem``, else the last avail of the start."""
    weights_gib: Reading[float]
    draft_weights_gib: Reading[float]
    draft_kv_gib: Reading[float]
    graphs_gib: Reading[float]
    context_gib: Reading[float]
    """CUDA context and NCCL."""
    req_to_token_gib: Reading[float]
    host_gb: Reading[float]
    """HiCache host memory over all ranks, decimal GB."""
    divisor_bytes: Reading[float] = NO_CELL
    """What the formula divides by: the cell, plus a draft's share where the version prices it (0.5.15 and later)."""
    kv_share: float = 1.0
    """Share of each further byte that becomes KV pool; below 1 where a state pool takes a ratio of the rest."""
    causes: tuple[str, ...] = ()
    """Why predicted and reported differ beyond the rounding, most likely first; empty when they agree."""
    notes: tuple[str, ...] = ()

    @property
    def error_pct(self) -> float | None:
        """(predicted - reported) / reported in per cent, or None where one is missing."""
        if isinstance(self.tokens_predicted, Known) and isinstance(self.tokens_reported, Known):
            reported = self.tokens_reported.value
            return (self.tokens_predicted.value - reported) / reported * 100 if reported else None
        return None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The same server at another ``mem_fraction_static``; anchored at the reported pool."""

    fraction: float
    rest_gib: Reading[float]
    """By the formula, at the new fraction."""
    tokens: Reading[int]
    """Reported pool plus ``pre x change of fraction / cell``, page aligned and capped."""
    kv_gib: Reading[float]
    headroom_gib: Reading[float]
    """Today's headroom minus ``pre x change of fraction``."""
    capped: bool = False
    """True where ``max_total_tokens`` holds the pool, so that the fraction changes nothing."""
    shortcut_tokens: Reading[int] | None = None
    """What scaling the tokens by the fraction would say: the common mistake, for comparison."""
