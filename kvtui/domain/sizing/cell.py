"""KV bytes of one token on one GPU (facts/memory.md 2)."""

from __future__ import annotations

from typing import Final

from kvtui.domain.sizing import rules
from kvtui.domain.sizing.config import Cell, SizingConfig, SizingError
from kvtui.domain.sizing.dsv4 import dsv4_cell
from kvtui.domain.sizing.windows import hybrid_cell

_FP4_BLOCK: Final = 16
"""fp4 values that share one scale."""
_FP8_BLOCK: Final = 128
"""fp8 values of a DSA row that share one 4-byte scale."""


def cell(config: SizingConfig) -> Cell:
    """The cell of a configuration; needs no memory figures.

    Raises SizingError where the release refuses the model or the arithmetic does not cover it.
    """
    if config.unmodelled:
        raise SizingError("not-modelled", config.unmodelled)
    _refuse(config)
    found = _cell(config)
    if found.bytes <= 0:
        raise SizingError("invalid", "The cell comes out empty: a width, a share or the layers are missing.")
    return found


def _cell(config: SizingConfig) -> Cell:
    """The cell by the model's kind; not yet checked for being empty."""
    if config.layout == "dsv4":
        return dsv4_cell(config)
    if config.hybrid_swa and rules.SWA_SPLIT.at(config.release) != "none":
        return hybrid_cell(config)
    layers = _priced_layers(config)
    if layers <= 0:
        raise SizingError("not-modelled", "No layer of this pipeline stage keeps KV: another stage decides the pool.")
    target = _latent(config, layers) if config.layout in {"mla", "nsa"} else _heads(config, layers)
    return _with_draft(config, target, layers)


def _refuse(config: SizingConfig) -> None:
    """Combinations that the release does not start with."""
    latent = config.layout in {"mla", "nsa"}
    if latent and config.pp_size > 1 and not rules.LATENT_PIPELINE.at(config.release):
        raise SizingError("unsupported", f"{config.release} refuses MLA with more than one pipeline stage.")
    if config.layout == "nsa" and not rules.INDEXER.at(config.release):
        raise SizingError("unsupported", f"{config.release} does not know DSA models.")
    if config.mamba_per_req and rules.STATE.at(config.release) == "none":
        raise SizingError("unsupported", f"{config.release} does not know hybrid state models.")
    if config.kv_dtype == "fp4":
        packed = rules.PACKED_FP4.at(config.release)
        if packed == "refused":
            raise SizingError("unsupported", f"{config.release} has no fp4 KV cache.")
        if config.layout == "mha" and packed == "unknown":
            raise SizingError("not-modelled", "The fp4 recipes for K and V of 0.5.21 and later are not modelled.")
        if config.hybrid_swa:
            raise SizingError("not-modelled", "fp4 pools of sliding-window models are not modelled.")


def _priced_layers(config: SizingConfig) -> int:
    """Layers that the cell counts."""
    if config.mamba_per_req and not rules.STATE_STAGES.at(config.release):
        return len(config.full_ids)
    return config.kv_layers


def _heads(config: SizingConfig, layers: int) -> Cell:
    """K and V of each head (MHA, GQA)."""
    heads, element = config.local_heads(config.kv_heads), config.element
    if rules.V_WIDTH.at(config.release) and config.v_head_dim != config.head_dim:
        width, text = config.head_dim + config.v_head_dim, f"({config.head_dim} + {config.v_head_dim})"
    else:
        width, text = 2 * config.head_dim, f"2 × {config.head_dim}"
    size = heads * width * layers * element
    formula = f"{_count(heads, 'KV head')} × {text} × {_count(layers, 'layer')} × {element} B"
    if config.kv_dtype == "fp4":
        workspace = heads * config.head_dim * 2 if rules.PACKED_FP4.at(config.release) == "scales and workspace" else 0
        scales = heads * config.head_dim * layers * 2 // _FP4_BLOCK
        size = size // 2 + scales + workspace
        formula = f"{formula} ÷ 2 + {scales:,} B of scales" + (f" + {workspace:,} B of workspace" if workspace else "")
    return Cell(size, formula)


def _latent(config: SizingConfig, layers: int) -> Cell:
    """One latent a layer (MLA), and an indexer key (DSA); the same on every GPU."""
    element = config.element
    width, text = config.kv_lora_rank + config.qk_rope_head_dim, f"({config.kv_lora_rank} + {config.qk_rope_head_dim})"
    if config.layout == "nsa" and config.kv_dtype == "fp8_e4m3" and not config.raw_rows and rules.SCALED_ROWS.at(config.release):
        scales, rope = config.kv_lora_rank // _FP8_BLOCK * 4, config.qk_rope_head_dim * 2
        width, text = config.kv_lora_rank + scales + rope, f"({config.kv_lora_rank} + {scales} scales + {rope} rope)"
    size = width * layers * element
    formula = f"{text} × {_count(layers, 'layer')} × {element} B"
    if config.kv_dtype == "fp4":
        scales = (config.kv_lora_rank + config.qk_rope_head_dim) // _FP4_BLOCK * layers
        size, formula = size // 2 + scales, f"{formula} ÷ 2 + {scales:,} B of scales"
    if config.layout == "nsa":
        keys = _indexer(config, _index_layers(config, layers))
        size, formula = size + keys, f"{formula} + {keys:,} B of indexer keys"
    return Cell(size, formula)


def _index_layers(config: SizingConfig, layers: int) -> int:
    """Layers whose indexer keys are stored."""
    elided = rules.ELIDED_INDEX.at(config.release)
    if config.index_layers is None or elided == "never" or (elided == "without hicache" and config.hicache):
        return layers
    if config.pp_size > 1:
        raise SizingError("not-modelled", "Which stage holds the shared indexer layers is not known.")
    return min(config.index_layers, layers)


def _indexer(config: SizingConfig, layers: int) -> int:
    """Bytes of fp8 indexer keys and their scales, a token."""
    return (config.index_head_dim + config.index_head_dim // _FP8_BLOCK * 4) * layers


def _with_draft(config: SizingConfig, target: Cell, layers: int) -> Cell:
    """The draft's KV, where the release prices it (facts/memory.md 2.6)."""
    drafts = config.draft_layers or 0
    if config.spec == "DFLASH":
        return _with_dflash(config, target, layers)
    how = rules.DRAFT.at(config.release)
    if not config.eagle or drafts <= 0 or how == "not priced":
        return target
    size = int(target.bytes)
    if config.layout == "nsa" and rules.DRAFT_INDEXER_APART.at(config.release):
        latent = size - _indexer(config, _index_layers(config, layers))
        extra = int(latent * drafts / layers) + _indexer(config, drafts)
        total = size + extra
    elif how == "joint":
        total = int(size * (1 + drafts / layers))
    else:
        total = size + int(size * drafts / layers)
    return Cell(total, f"{target.formula} + {total - size:,} B for {_count(drafts, 'draft layer')}")


def _with_dflash(config: SizingConfig, target: Cell, layers: int) -> Cell:
    """A DFLASH draft: by its own cell where known, else by layers and rounded up."""
    how, drafts, size = rules.DFLASH.at(config.release), config.draft_layers or 0, int(target.bytes)
    if how == "not priced" or drafts <= 0:
        return target
    by_layers = -(-size * (layers + drafts) // layers)
    total = size + config.draft_cell if how == "by its own cell" and config.draft_cell else by_layers
    return Cell(total, f"{target.formula} + {total - size:,} B for {_count(drafts, 'draft layer')}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
