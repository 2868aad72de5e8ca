"""Free memory before and after the weights, exactly, from two starts at different fractions.

``KV = post − pre × (1 − f)`` twice is two equations in two unknowns; whole tokens times a known
cell are a thousand times finer than the two decimals that the log prints (facts/memory.md 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtui.domain import capacity, memory_facts
from kvtui.domain.account import Account
from kvtui.domain.boot import Boot
from kvtui.domain.reading import Known, Where
from kvtui.domain.units import GIB

AGREE_GIB: Final = 0.006
"""How far a solution may lie from the logged figures: their rounding, and a little for float32 sums."""
MIN_STEP: Final = 0.005
"""Fractions closer than this give no stable solution."""
SAME: Final = (
    "model_path",
    "tp_size",
    "pp_size",
    "dp_size",
    "kv_cache_dtype",
    "dtype",
    "quantization",
    "page_size",
    "speculative_algorithm",
    "max_total_tokens",
    "enable_dp_attention",
)
"""Settings that must be equal for both starts to obey one equation."""


def _comparable(one: Boot, other: Boot) -> bool:
    def value(boot: Boot, name: str) -> object:
        found = boot.setting(name)
        return None if found is None else found.value

    return all(value(one, name) == value(other, name) for name in SAME) and one.version == other.version


def _fraction(boot: Boot) -> float | None:
    value = boot.number("mem_fraction_static")
    return value if value is not None and 0 < value < 1 else None


def solve(boot: Boot, account: Account, boots: Sequence[Boot]) -> tuple[Known[float], Known[float]] | None:
    """``(pre, post)`` in GiB, or None where no second boot allows it or the solution contradicts the log."""
    if account.cell_basis != "geometry" or not isinstance(account.divisor_bytes, Known) or isinstance(account.state_gib, Known):
        return None
    if isinstance(account.cap_tokens, Known) or not isinstance(account.tokens_reported, Known):
        return None
    mine, cell = _fraction(boot), account.divisor_bytes.value
    if mine is None or not isinstance(account.extras_gib, Known):
        return None
    for other in boots:
        theirs, pool = _fraction(other), capacity.tokens_reported(other)
        if other.index == boot.index or theirs is None or not isinstance(pool, Known):
            continue
        if abs(theirs - mine) < MIN_STEP or not _comparable(boot, other):
            continue
        pre = (pool.value - account.tokens_reported.value) * cell / GIB / (theirs - mine)
        post = account.tokens_reported.value * cell / GIB + pre * (1 - mine) + account.extras_gib.value
        if all(
            not isinstance(logged, Known) or abs(logged.value - solved) <= AGREE_GIB
            for source in (boot, other)
            for logged, solved in (
                (memory_facts.free_before_weights(source), pre),
                (memory_facts.free_after_weights(source), post),
            )
        ):
            where = Where("formula", f"solved from two starts, fractions {mine:g} and {theirs:g}")
            return Known(round(pre, 5), None, where), Known(round(post, 5), None, where)
    return None
