"""Hybrid sliding-window models: one pool for full-attention layers, one for windows (facts/memory.md 2.5)."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.domain.sizing import rules
from kvtui.domain.sizing.config import Cell, SizingConfig, SizingError


@dataclass(frozen=True, slots=True)
class Pools:
    """Tokens of each pool; ``full`` and ``swa`` are None where there is one pool only."""

    tokens: int
    full: int | None = None
    swa: int | None = None
    fixed: int = 0
    """Bytes that do not grow with ``tokens``."""


@dataclass(frozen=True, slots=True)
class _Layers:
    """Bytes of a token in one layer, and how many layers of each kind the stage holds."""

    full: int
    window: int
    full_layers: int
    window_layers: int
    draft_full: int
    draft_window: int
    draft_cell: int


def _layers(config: SizingConfig) -> _Layers:
    if config.layout != "mha" or config.mamba_per_req:
        raise SizingError("not-modelled", "Sliding-window pools of MLA models and of state hybrids are not modelled.")
    if not config.stage_swa:
        raise SizingError("invalid", "A sliding-window model needs at least one sliding-window layer in the stage.")
    drafts = config.draft_layers or 0 if config.eagle and rules.DRAFT.at(config.release) != "not priced" else 0
    windows = min(max(config.draft_swa_layers or 0, 0), drafts) if rules.SWA_DRAFT.at(config.release) else 0
    own_cell = config.spec == "DFLASH" and rules.DFLASH.at(config.release) == "by its own cell"
    return _Layers(
        full=config.local_heads(config.kv_heads) * (config.head_dim + config.v_head_dim) * config.element,
        window=config.local_heads(config.swa_kv_heads or config.kv_heads) * (config.swa_head_dim + config.swa_v_head_dim) * config.element,
        full_layers=len(config.stage_full),
        window_layers=len(config.stage_swa),
        draft_full=drafts - windows,
        draft_window=windows,
        draft_cell=(config.draft_cell or 0) if own_cell else 0,
    )


def hybrid_cell(config: SizingConfig) -> Cell:
    """Bytes of one full-attention token with its share of the window's pool; of one window token where every layer has a window.

    Raises SizingError for layouts that are not covered.
    """
    if rules.SWA_SPLIT.at(config.release) == "layers":
        return _cell_by_layers(config)
    kinds, ratio = _layers(config), config.swa_ratio
    drafts = kinds.full * kinds.draft_full + kinds.draft_cell
    extra = f" + {drafts:,} B of drafts" if drafts else ""
    windows = kinds.window_layers + kinds.draft_window
    if kinds.full_layers == 0:
        return Cell(_ratio_cell(config, kinds), f"{windows} window layers × {kinds.window:,} B{extra}")
    if _by_requests(config, kinds):
        return Cell(
            _full_cell(config, kinds), f"{kinds.full_layers} full layers × {kinds.full:,} B{extra}, beside a window pool for every request"
        )
    return Cell(
        _ratio_cell(config, kinds),
        f"{kinds.full_layers} full layers × {kinds.full:,} B + {ratio:g} × {windows} window layers × {kinds.window:,} B{extra}",
    )


def _cell_by_layers(config: SizingConfig) -> Cell:
    """0.4.10 to 0.5.6: all layers alike, tokens moved between the pools by layer counts."""
    size = uniform_cell(config)
    share = config.swa_ratio * len(config.stage_swa) + len(config.stage_full)
    formula = (
        f"{size:,} B × ({len(config.stage_full)} full + {config.swa_ratio:g} × {len(config.stage_swa)} window) ÷ {config.layers} layers"
    )
    return Cell(size * share / config.layers, formula)


def uniform_cell(config: SizingConfig) -> int:
    """Bytes that releases before 0.5.12 divide the budget by: a token in every layer, whatever its kind."""
    if rules.SWA_SPLIT.at(config.release) == "layers":
        if config.layout != "mha":
            raise SizingError("not-modelled", "Sliding-window pools of MLA models are not modelled.")
        return config.local_heads(config.kv_heads) * 2 * config.head_dim * len(config.stage) * config.element
    kinds = _layers(config)
    return kinds.full * kinds.full_layers + kinds.window * kinds.window_layers


def split_uniform(config: SizingConfig, tokens: int) -> Pools:
    """Both pools from a token count over all layers, which is page aligned and capped already; before 0.5.12."""
    how, ratio = rules.SWA_SPLIT.at(config.release), config.swa_ratio
    if how == "layers":
        full = int(tokens * config.layers / (ratio * len(config.stage_swa) + len(config.stage_full)))
        return Pools(full, full, int(full * ratio))
    kinds = _layers(config)
    if kinds.full_layers == 0:
        return Pools(config.align(tokens), 0, config.align(tokens))
    total = tokens * (kinds.full * kinds.full_layers + kinds.window * kinds.window_layers)
    full = int(total / (kinds.full * kinds.full_layers + ratio * kinds.window * kinds.window_layers))
    aligned = config.align(full)
    return Pools(aligned, aligned, config.align(int((aligned if how == "bytes" else full) * ratio)))


def split_budget(config: SizingConfig, budget: int) -> Pools:
    """Both pools from a budget in bytes; from 0.5.12.

    Raises SizingError where the window's pool takes everything, or cannot hold one window.
    """
    kinds = _layers(config)
    if not _by_requests(config, kinds):
        return split_tokens(config, int(budget // _ratio_cell(config, kinds)))
    window_tokens = _requests_cap(config)
    windows = kinds.window_layers + kinds.draft_window
    fixed = window_tokens * kinds.window * windows
    full = config.align(int((budget - fixed) // _full_cell(config, kinds)))
    if full <= 0:
        raise SizingError(
            "swa-pool",
            f"A window pool of {window_tokens:,} tokens for {config.max_running_requests} requests leaves no room for full attention.",
        )
    return Pools(full, full, window_tokens, fixed)


def split_tokens(config: SizingConfig, tokens: int) -> Pools:
    """Both pools from a token count, as a cap gives it; from 0.5.12.

    Raises SizingError where the window's pool cannot hold one window.
    """
    kinds, full = _layers(config), config.align(tokens)
    if _by_requests(config, kinds):
        return Pools(full, full, min(_requests_cap(config), tokens))
    if kinds.full_layers == 0:
        return Pools(full, 0, full)
    windows = config.align(int(full * config.swa_ratio))
    if rules.SWA_FLOOR.at(config.release) and config.window is not None and config.window + config.page_size >= windows:
        raise SizingError(
            "swa-pool",
            f"A window pool of {windows:,} tokens cannot hold one request: a window of {config.window:,} and a page of {config.page_size}.",
        )
    return Pools(full, full, windows)


def _ratio_cell(config: SizingConfig, kinds: _Layers) -> float:
    """The cell in the order SGLang adds it up: a float, so the order decides the last bit."""
    ratio = config.swa_ratio
    drafts_window = kinds.draft_window
    if kinds.full_layers == 0:
        return kinds.window * (kinds.window_layers + drafts_window) + kinds.full * kinds.draft_full + kinds.draft_cell
    full = kinds.full * (kinds.full_layers + kinds.draft_full)
    if rules.DRAFT.at(config.release) == "added":
        return full + ratio * (kinds.window * (kinds.window_layers + drafts_window)) + kinds.draft_cell
    return full + ratio * kinds.window * (kinds.window_layers + drafts_window) + kinds.draft_cell


def _by_requests(config: SizingConfig, kinds: _Layers) -> bool:
    """The window's pool is sized by its requests instead of by the ratio."""
    how = rules.SWA_BY_REQUESTS.at(config.release)
    if how == "no" or config.max_running_requests is None or not config.disable_radix:
        return False
    if config.chunk is None or (how == "positive chunk" and config.chunk <= 0):
        return False
    return config.window is not None and kinds.full_layers > 0


def _full_cell(config: SizingConfig, kinds: _Layers) -> int:
    """Bytes of a full-attention token where the window's pool has a size of its own."""
    own = kinds.draft_cell if rules.DRAFT.at(config.release) == "added" else 0
    return kinds.full * (kinds.full_layers + kinds.draft_full) + own


def _requests_cap(config: SizingConfig) -> int:
    """Window slots that a full house of requests can hold at once, in whole pages."""
    page, drafts = config.page_size, config.draft_tokens or 1
    per_request = (config.window or 0) + drafts + page
    per_request += page if config.spec is None else _decode_allocation(config)
    requests = (config.max_running_requests or 0) // config.dp_size
    if rules.REQUESTS.at(config.release) == "pool caps, one at least":
        requests = max(1, requests)
    chunks = 1 if config.no_overlap else 2
    slots = per_request * requests + chunks * (config.chunk or 0) + page
    return -(-slots // page) * page


def _decode_allocation(config: SizingConfig) -> int:
    """Slots that one speculative step may take."""
    page, steps, topk, drafts = config.page_size, config.steps or 1, config.topk or 1, config.draft_tokens or 1
    if config.no_overlap:
        branch = steps + page if page > 1 and topk > 1 else steps
        verify = -(-drafts // page) * page
        return max(-(-branch // page) * page * topk, verify)
    branches = steps * topk
    if config.paged_branches and page > 1 and topk > 1:
        branches = (page - 1 + steps + page - 1) // page * page * topk
    return 2 * max(branches, drafts)
