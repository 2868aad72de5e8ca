"""From memory to tokens: the budget, the cap, the pages, the pools (facts/memory.md 1)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from kvtui.domain.release import neighbours, standing
from kvtui.domain.sizing import rules
from kvtui.domain.sizing.cell import cell
from kvtui.domain.sizing.config import Sizing, SizingConfig, SizingError, StatePoolSize
from kvtui.domain.sizing.dsv4 import dsv4_from_tokens, dsv4_pools
from kvtui.domain.sizing.requests import estimate, running_cap, table_rows
from kvtui.domain.sizing.state import take_states
from kvtui.domain.sizing.windows import Pools, split_budget, split_tokens, split_uniform, uniform_cell
from kvtui.domain.units import GIB

_DRAFT_BUFFER: Final = 100
"""Tokens that releases before 0.5.9 add beside those of the drafts."""
_LARGEST_GIB: Final = 1 << 20
"""No GPU has a PiB; larger figures are not memory."""


def size(config: SizingConfig) -> Sizing:
    """What the server makes of its memory.

    Raises SizingError: its ``kind`` says whether SGLang would refuse to start or the arithmetic does not cover it.
    """
    sized = _size(config)
    remarks = (standing(config.release), _doubt(config, sized))
    return replace(sized, notes=(*config.notes, *(remark for remark in remarks if remark), *sized.notes))


def _doubt(config: SizingConfig, sized: Sizing) -> str:
    """Where a release lies between two measured ones and their rules differ on this server: what the other one gives."""
    around = neighbours(config.release)
    if around is None:
        return ""
    older, newer = around
    try:
        other = _size(replace(config, release=newer))
    except SizingError as error:
        return f"{config.release} was not measured: the rules of {older} are used; by those of {newer}: {error.message}"
    if (other.tokens, other.swa, other.reqs) == (sized.tokens, sized.swa, sized.reqs):
        return ""
    return f"{config.release} was not measured: the rules of {older} are used; those of {newer} give {other.tokens:,} tokens."


def state_pool(config: SizingConfig) -> StatePoolSize | None:
    """The state pool of a hybrid; None for other models.

    Raises SizingError as ``size`` does.
    """
    return take_states(config, _rest(config))[0] if config.mamba_per_req else None


def _reserve(config: SizingConfig) -> float:
    """GiB kept for multimodal buffers."""
    if not config.multimodal:
        return 0.0
    mib = rules.MULTIMODAL_MIB.at(config.release) + (rules.FEATURE_MIB.at(config.release) if config.feature_cache else 0)
    return mib / 1024


def _rest(config: SizingConfig) -> float:
    """``post − pre × (1 − f) − reserve``, GiB."""
    pre, post, fraction = config.pre, config.post, config.fraction
    if pre is None or post is None or fraction is None:
        missing = [name for name, value in (("pre", pre), ("post", post), ("mem_fraction", fraction)) if value is None]
        raise SizingError("invalid", f"Sizing needs {' and '.join(missing)}.")
    if not all(math.isfinite(number) and abs(number) < _LARGEST_GIB for number in (pre, post, fraction)):
        raise SizingError("invalid", "pre, post and mem_fraction must be finite and of a GPU's size.")
    return post - pre * (1 - fraction) - _reserve(config)


def _size(config: SizingConfig) -> Sizing:
    """Without the notes about the release."""
    priced = cell(config)
    rest = _rest(config)
    states: StatePoolSize | None = None
    if config.mamba_per_req:
        states, rest = take_states(config, rest)
    if rest <= 0 and rules.REST_CHECKED.at(config.release):
        raise SizingError("no-memory", _nothing_left(config, rest))
    slots = None if states is None else states.slots
    if rules.POOL_FIRST.at(config.release):
        pools, uncapped = _pool_first(config, int(rest * GIB), priced.bytes)
        rows = None
    else:
        pools, uncapped, rows = _cap_first(config, rest, priced.bytes, slots)
    if pools.tokens <= 0:
        raise SizingError("no-memory", _nothing_left(config, rest))
    reqs = running_cap(config, pools.tokens, rows, slots)
    return Sizing(
        tokens=pools.tokens,
        full=pools.full,
        swa=pools.swa,
        mamba=slots,
        reqs=reqs,
        req_slots=rows if rules.REQUESTS.at(config.release) == "table first" else reqs,
        cell=priced,
        rest_gib=rest,
        state_gib=0.0 if states is None else states.gib,
        reserve_gib=_reserve(config),
        fixed_gib=pools.fixed / GIB,
        uncapped=uncapped,
        notes=_remarks(config, reqs, priced.bytes),
    )


def _nothing_left(config: SizingConfig, rest: float) -> str:
    least = 1 - (config.post or 0) / config.pre if config.pre else 1.0
    floor = math.ceil(least * 1000) / 1000
    return f"Nothing is left for the KV pool ({rest:.2f} GiB at mem_fraction_static {config.fraction}): it must be above {floor:.3f}."


def _pool_first(config: SizingConfig, budget: int, per_token: float) -> tuple[Pools, int]:
    """From 0.5.12: pools from the budget, then the cap on their tokens. Gives the pools and the tokens before the cap."""
    windows = config.hybrid_swa and config.layout != "dsv4"
    if config.layout == "dsv4":
        whole = int(budget / per_token)
        expected = estimate(config, whole)
        if expected is None and config.max_running_requests is None:
            raise SizingError("invalid", "DeepSeek-V4 without max_running_requests needs the context length.")
        pools = dsv4_pools(config, budget, min(expected or 0, whole // 2))
    elif windows:
        pools = split_budget(config, budget)
    else:
        pools = Pools(config.align(budget // int(per_token)))
    uncapped, cap = pools.tokens, config.max_total_tokens
    if cap is None or cap >= uncapped:
        return pools, uncapped
    if config.layout == "dsv4":
        capped = dsv4_from_tokens(config, cap)
    else:
        capped = split_tokens(config, cap) if windows else Pools(config.align(cap))
    return replace(capped, fixed=pools.fixed), uncapped


def _cap_first(config: SizingConfig, rest: float, per_token: float, slots: int | None) -> tuple[Pools, int, int | None]:
    """Before 0.5.12: cap and align a token count, then split it. Gives the pools, the uncapped tokens and the request table's rows."""
    windows = config.hybrid_swa and rules.SWA_SPLIT.at(config.release) != "none"
    divisor = uniform_cell(config) if windows else int(per_token)
    tokens = int(rest * GIB) // divisor if rules.WHOLE_BYTES.at(config.release) else int(rest * GIB // divisor)
    rows = table_rows(config, tokens, slots) if rules.REQUESTS.at(config.release) == "table first" else None
    tokens += _draft_room(config, rows)
    capped = config.align(tokens if config.max_total_tokens is None else min(tokens, config.max_total_tokens))
    if not windows:
        return Pools(capped), config.align(tokens), rows
    return split_uniform(config, capped), split_uniform(config, config.align(tokens)).tokens, rows


def _draft_room(config: SizingConfig, rows: int | None) -> int:
    """Tokens for drafts that old releases add beyond the budget (facts/memory.md 1.4)."""
    who = rules.INFLATED.at(config.release)
    if config.spec is None or who == "no" or (who == "eagle" and not config.eagle):
        return 0
    if rows is None:
        raise SizingError("invalid", "The room for drafts hangs on max_running_requests or the context length.")
    return rows * config.steps * config.topk + rows * config.draft_tokens + _DRAFT_BUFFER


def _remarks(config: SizingConfig, reqs: int | None, per_token: float) -> tuple[str, ...]:
    """What a reader of the result should know."""
    notes = []
    if config.layout == "nsa" and config.kv_dtype == "fp8_e4m3" and not config.raw_rows and not rules.SCALED_ROWS.at(config.release):
        stored = config.kv_lora_rank + config.kv_lora_rank // 128 * 4 + config.qk_rope_head_dim * 2
        excess = (stored - config.kv_lora_rank - config.qk_rope_head_dim) * config.kv_layers
        notes.append(
            f"Stored rows take {stored} B a layer, more than priced: the pool exceeds the budget by about {excess / per_token:.0%}."
        )
    if config.draft_layers and config.eagle and rules.DRAFT.at(config.release) == "not priced":
        notes.append("The draft's weights and KV are not in this pool: they come out of the slack later.")
    if reqs == 0:
        notes.append("No request would fit: the server does not start.")
    return tuple(notes)
