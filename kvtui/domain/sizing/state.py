"""The pool of fixed-size states that hybrids keep beside their KV (facts/memory.md 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kvtui.domain.sizing import rules
from kvtui.domain.sizing.config import SizingConfig, SizingError, StatePoolSize
from kvtui.domain.units import GIB

_BASE_SLOTS: Final = 3
"""State slots of one request where prefixes are cached."""
_DEFAULT_SLOTS: Final = 512
"""Slots without a prefix cache where no request number is set (0.5.3 to 0.5.6)."""


def slots_per_request(config: SizingConfig) -> int:
    """State slots that one running request may hold: 1 without a prefix cache, else 3 and the extra buffer's."""
    if config.disable_radix:
        return 1
    decides = rules.EXTRA_BUFFER.at(config.release)
    if not config.extra_buffer or decides == "none":
        return _BASE_SLOTS
    if decides == "by speculation":
        return _BASE_SLOTS + (1 if config.spec is not None else 2)
    return _BASE_SLOTS + (1 if config.no_overlap or config.lazy_buffer else 2)


def take_states(config: SizingConfig, rest: float) -> tuple[StatePoolSize, float]:
    """The state pool, and what it leaves of ``rest``. GiB.

    Raises SizingError where it has no slot, or where speculative decoding lacks a request number.
    """
    how = rules.STATE.at(config.release)
    if how == "none":
        raise SizingError("unsupported", f"{config.release} does not know hybrid state models.")
    if how == "drafts multiply":
        slots, left = _drafts_multiply(config, rest)
    else:
        if config.spec is not None and config.max_running_requests is None:
            raise SizingError("invalid", "Speculative decoding of a hybrid needs max_running_requests (SGLang sets 48 by itself).")
        slots, left = _drafts_first(config, rest) if how == "drafts first" else _joint(config, rest, padding=int(how == "joint, padded"))
    return StatePoolSize(slots, rest - left, slots_per_request(config)), left


def _drafts_multiply(config: SizingConfig, rest: float) -> tuple[int, float]:
    """0.5.3 to 0.5.6: every slot also holds the intermediate states of all draft tokens."""
    copies, size = 1 + config.draft_tokens, config.mamba_per_req
    if config.disable_radix:
        slots = next(n for n in (config.max_mamba, config.max_running_requests, _DEFAULT_SLOTS) if n is not None)
    else:
        slots = int(_share(config, rest) * GIB // size // copies)
    if config.gdn:
        slots //= config.dp_size
    return slots, rest - slots * size * copies / GIB


def _drafts_first(config: SizingConfig, rest: float) -> tuple[int, float]:
    """0.5.9 to 0.5.12: intermediate states of every request come off before the budget is shared."""
    size = config.mamba_per_req
    if config.spec is not None:
        rest -= size * _requests(config) * config.draft_tokens / GIB
    if config.max_mamba is not None:
        slots = config.max_mamba // config.dp_size
    elif config.disable_radix and config.max_running_requests is not None:
        slots = _requests(config)
    else:
        slots = int(_share(config, rest) * GIB // size)
    return slots, rest - slots * size / GIB


def _joint(config: SizingConfig, rest: float, *, padding: int) -> tuple[int, float]:
    """From 0.5.15: slots and intermediate states are solved for together; from 0.5.18 each pool has a padding slot."""
    size, per_request, drafts = _stage_size(config), slots_per_request(config), config.draft_tokens
    if size <= 0:
        raise SizingError("invalid", "The states of a request come out empty on this stage.")
    speculative = config.spec is not None
    if config.max_mamba is not None:
        slots = config.max_mamba // config.dp_size
        intermediate = min(_requests(config), slots // per_request) if speculative else 0
    elif config.disable_radix and config.max_running_requests is not None:
        slots = intermediate = _requests(config)
    elif speculative:
        budget = _share(config, rest) * GIB
        slots = int((budget - padding * size * (1 + drafts)) // (size * (1 + drafts / per_request)))
        intermediate = min(_requests(config), slots // per_request)
    else:
        slots, intermediate = int((_share(config, rest) * GIB - padding * size) // size), 0
    if speculative:
        rest -= size * (intermediate + padding) * drafts / GIB
    if slots <= 0:
        raise SizingError("state-pool", f"The state pool comes out at {slots} slots of {size / (1 << 20):.1f} MiB: no request fits.")
    return slots, rest - (slots + padding) * size / GIB


def _share(config: SizingConfig, rest: float) -> float:
    """The states' part of the budget, GiB."""
    return rest * config.mamba_ratio / (1 + config.mamba_ratio)


def _requests(config: SizingConfig) -> int:
    """Requests of one data-parallel rank, as asked."""
    asked = (config.max_running_requests or 0) // config.dp_size
    return max(1, asked) if rules.REQUESTS.at(config.release) == "pool caps, one at least" else asked


def _stage_size(config: SizingConfig) -> int:
    """State bytes of one request on the stage with the most state layers."""
    padded = rules.STATE.at(config.release) == "joint, padded"
    if config.pp_size <= 1 or not config.mamba_ids or not padded:
        return config.mamba_per_req
    most = max(sum(layer in stage for layer in config.mamba_ids) for stage in stages(config.layers, config.pp_size))
    return int(config.mamba_per_req * (most / len(config.mamba_ids)))


def stages(layers: int, count: int) -> Sequence[range]:
    """Layers of each pipeline stage: even, the last ones one longer (get_pp_indices; SGLANG_PP_LAYER_PARTITION unset)."""
    base, longer = divmod(layers, count)
    edges = [0]
    for stage in range(count):
        edges.append(edges[-1] + base + (stage >= count - longer))
    return [range(low, high) for low, high in pairwise(edges)]
