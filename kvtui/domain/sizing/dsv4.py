"""DeepSeek-V4: compressed attention in several pools (facts/memory.md 2.8; pool_configurator.py of 0.5.12 to 0.5.18)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.sizing import rules
from kvtui.domain.sizing.config import Cell, SizingConfig, SizingError
from kvtui.domain.sizing.windows import Pools

_STATE_BYTES: Final = 4
"""Bytes of one element of a compressor's state."""
_PAGE: Final = 128
"""The page must be a multiple of this."""


def dsv4_cell(config: SizingConfig) -> Cell:
    """Bytes of one full token with its shares of every pool; a fraction.

    Raises SizingError before 0.5.12 and from 0.5.21 on, where the pools follow other rules.
    """
    how = rules.DSV4.at(config.release)
    if how == "none":
        raise SizingError("unsupported", f"{config.release} does not know DeepSeek-V4.")
    if how == "unknown":
        raise SizingError("not-modelled", "The pools of DeepSeek-V4 in 0.5.21 and later are not modelled: read the size from the log.")
    if config.page_size % _PAGE:
        raise SizingError("unsupported", f"DeepSeek-V4 needs a page size that is a multiple of {_PAGE}.")
    ratios = _ratios(config)
    if not ratios or not config.window:
        raise SizingError("invalid", "DeepSeek-V4 needs the compression ratio of each layer and the window.")
    size = _bytes_per_token(config, ratios, by_request=how == "by token and request")
    text = f"{len(ratios)} layers: window share {config.swa_ratio:g}, {ratios.count(4)} four-fold, {ratios.count(128)} 128-fold compressed"
    if config.spec is not None:
        size *= (len(ratios) + 1) / len(ratios)
        text += ", one draft layer"
    return Cell(size, text)


def dsv4_pools(config: SizingConfig, budget: int, estimate: int) -> Pools:
    """Full and window tokens from a budget in bytes.

    ``estimate``: requests that the tables are sized for where none are set.
    """
    if rules.DSV4.at(config.release) != "by token and request":
        return dsv4_from_tokens(config, int(budget / dsv4_cell(config).bytes))
    requests = estimate if config.max_running_requests is None else config.max_running_requests // config.dp_size
    fixed = _state_bytes(config, requests)
    pools = dsv4_from_tokens(config, int(max(budget - fixed, 0) / dsv4_cell(config).bytes))
    return replace(pools, fixed=fixed)


def dsv4_from_tokens(config: SizingConfig, tokens: int) -> Pools:
    """Full and window tokens from a token count."""
    full = config.align(tokens)
    return Pools(full, full, config.align(int(full * config.swa_ratio)))


def _ratios(config: SizingConfig) -> tuple[int, ...]:
    """Compression ratios of the stage; 0.5.12 prices every stage with all of them."""
    if rules.DSV4.at(config.release) == "by token":
        return config.compress_ratios
    return config.compress_ratios[config.stage.start : config.stage.stop]


def _ring(ratio: int, *, speculative: bool) -> int:
    """Uncompressed tokens that a compressor keeps."""
    return ratio * (2 if ratio == 4 else 1) * (2 if speculative else 1)


def _bytes_per_token(config: SizingConfig, ratios: tuple[int, ...], *, by_request: bool) -> float:
    row = config.qk_nope_head_dim + 2 * config.qk_rope_head_dim + 8
    index = config.index_head_dim + config.index_head_dim // 128 * 4
    width = config.qk_nope_head_dim + config.qk_rope_head_dim
    fourfold, most = ratios.count(4), ratios.count(128)
    speculative, window, share = config.spec is not None, config.window or 1, config.swa_ratio
    kept4 = _ring(4, speculative=speculative) / window
    kept128 = 0.0 if by_request else share * (_ring(128, speculative=speculative) / window)
    # Added up in SGLang's own order: the sum is a float, and its last bit can move a page.
    size = share * row * len(ratios) + 1 / 4 * row * fourfold + 1 / 128 * row * most + 1 / 4 * index * fourfold
    size += share * kept4 * (4 * width * _STATE_BYTES) * fourfold
    size += kept128 * (2 * width * _STATE_BYTES) * most
    return size + share * kept4 * (4 * config.index_head_dim * _STATE_BYTES) * fourfold


def _state_bytes(config: SizingConfig, requests: int) -> int:
    """State of the 128-fold compressor, by request (from 0.5.15)."""
    most = _ratios(config).count(128)
    if most == 0:
        return 0
    ring = _ring(128, speculative=config.spec is not None)
    rows = (requests + 1) * ring + ring + 1
    return -(-rows // 128) * 128 * 2 * (config.qk_nope_head_dim + config.qk_rope_head_dim) * _STATE_BYTES * most
