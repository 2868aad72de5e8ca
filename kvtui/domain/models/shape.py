"""One row of the table of models, and short ways to write the common kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kvtui.domain.geometry import Attention, Geometry, StateGeometry
from kvtui.domain.models.architectures import TEXT_ONLY_UNLESS_ASKED

BILLION: Final = 1e9
K: Final = 1024
"""Tokens in a "K" of context."""


_SQUARE: Final = frozenset({"LlamaForCausalLM", "Qwen2ForCausalLM"})
"""Classes whose query heads are together as wide as the model."""


@dataclass(frozen=True, slots=True)
class Row:
    """A model of the table: its geometry and the other names it goes by."""

    geometry: Geometry
    names: tuple[str, ...] = ()


def gqa(
    name: str,
    architecture: str,
    *,
    layers: int,
    kv: int,
    dim: int = 128,
    hidden: int,
    vocab: int | None = None,
    context: int | None = None,
    size: float | None = None,
    active: float | None = None,
    experts: tuple[int, int] | None = None,
    nextn: int | None = None,
    vision: tuple[int, int] | None = None,
    mha: bool = False,
    also: tuple[str, ...] = (),
    unsure: str = "",
) -> Row:
    """A model whose layers all keep K and V.

    ``kv`` heads of ``dim`` elements; ``size`` and ``active`` in billions of parameters; ``experts``
    routed and used a token; ``vision`` depth and width as the automatic fraction reads them;
    ``mha``: as many KV heads as query heads; ``unsure``: what was not checked.
    """
    geometry = Geometry(
        name=name,
        architecture=architecture,
        attention=Attention.MHA if mha else Attention.GQA,
        layers=layers,
        kv_heads=kv,
        head_dim=dim,
        v_head_dim=dim,
        heads=kv if mha else hidden // dim if architecture in _SQUARE else None,
        context_len=context,
        hidden_size=hidden,
        vocab_size=vocab,
        nextn_layers=nextn,
        multimodal=vision is not None and architecture not in TEXT_ONLY_UNLESS_ASKED,
        vision_layers=vision[0] if vision else None,
        vision_hidden=vision[1] if vision else None,
        experts=experts[0] if experts else None,
        experts_per_token=experts[1] if experts else None,
        parameters=size * BILLION if size else None,
        active_parameters=(active or size or 0) * BILLION or None,
        sure=not unsure,
        note=unsure,
    )
    return Row(geometry, also)


def latent(row: Row, *, rank: int = 512, rope: int = 64, nope: int = 128, v_dim: int = 128) -> Row:
    """The row as MLA: ``rank`` of the latent, and the rotary, plain and value widths of a head. Each head has its own keys."""
    shape = replace(row.geometry, attention=Attention.MLA, kv_lora_rank=rank, qk_rope_head_dim=rope, heads=row.geometry.kv_heads)
    return Row(replace(shape, head_dim=nope + rope, v_head_dim=v_dim), row.names)


def indexed(row: Row, *, own: int | None = None, width: int = 128) -> Row:
    """An MLA row as DSA: ``width`` of an indexer key, and how many layers have an indexer of their own."""
    return Row(replace(row.geometry, attention=Attention.DSA, index_head_dim=width, index_layers=own), row.names)


def sliding(
    row: Row,
    *,
    full: tuple[int, ...],
    window: int,
    kv: int | None = None,
    dim: int | None = None,
    v_dim: int | None = None,
) -> Row:
    """The row with sliding layers: all but ``full``, of another shape where ``kv`` and ``dim`` are given."""
    geometry = row.geometry
    swa_dim = dim or geometry.head_dim
    return Row(
        replace(
            geometry,
            attention=Attention.SWA,
            full_layers=full,
            swa_layers=others(geometry.layers, full),
            window=window,
            swa_kv_heads=kv or geometry.kv_heads,
            swa_head_dim=swa_dim,
            swa_v_head_dim=v_dim or swa_dim,
        ),
        row.names,
    )


def hybrid(row: Row, *, full: tuple[int, ...], state: StateGeometry) -> Row:
    """The row as a hybrid: ``full`` attention layers, and the state of its linear layers."""
    return Row(replace(row.geometry, attention=Attention.MAMBA_HYBRID, full_layers=full, state=state), row.names)


def every(step: int, layers: int) -> tuple[int, ...]:
    """The last layer of each ``step``: 3, 7, 11 ... for 4."""
    return tuple(range(step - 1, layers, step))


def others(layers: int, some: tuple[int, ...]) -> tuple[int, ...]:
    """All layers but some."""
    return tuple(layer for layer in range(layers) if layer not in set(some))


def marked(pattern: str, letter: str) -> tuple[int, ...]:
    """Where a pattern such as ``M-M*`` holds a letter."""
    return tuple(index for index, found in enumerate(pattern) if found == letter)
