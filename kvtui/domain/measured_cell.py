"""Bytes a token as the log's own pool lines bound them: KV size over tokens.

The size is printed with two decimals and includes one dummy page, so the cell lies in an interval
(facts/memory.md 1.3). K and V of a whole number of heads leave few values in it, often one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot, PoolAllocation
from kvtui.domain.memory_facts import target_pools
from kvtui.domain.reading import Where
from kvtui.domain.units import GIB

ELEMENT_BYTES: Final = {"bfloat16": 2, "float16": 2, "float32": 4, "fp8_e4m3": 1, "fp8_e5m2": 1}
HEAD_STEP: Final = 64
"""Head widths of KV caches are multiples of this in every model of the built-in table but a few (80, 96)."""
DEFAULT_PAGE: Final = 1


@dataclass(frozen=True, slots=True)
class CellInterval:
    """The cell lies between ``low`` and ``high`` bytes."""

    low: float
    high: float
    tokens: int
    where: Where

    @property
    def mid(self) -> float:
        """Half way."""
        return (self.low + self.high) / 2

    def holds(self, cell: float) -> bool:
        """True where the logged size allows that cell."""
        return self.low <= cell <= self.high


def _of(size_gib: float, slack_gib: float, tokens: int, page: int, where: Where) -> CellInterval | None:
    if tokens <= 0 or size_gib <= slack_gib:
        return None
    return CellInterval((size_gib - slack_gib) * GIB / (tokens + page), (size_gib + slack_gib) * GIB / tokens, tokens, where)


def _tokens(pool: PoolAllocation, boot: Boot) -> int | None:
    if pool.tokens:
        return pool.tokens
    return boot.final.max_total_num_tokens if boot.final is not None else None


def measured_cell(boot: Boot, page: int | None) -> CellInterval | None:
    """The interval of the target's cell, or None where the log prints no size or no tokens.

    ``page``: tokens a page where known; 64 is allowed for where it is not. The printed tokens of some
    builds count something else (a high-precision tier), so a line whose tokens the final line contradicts is not used.
    """
    final = boot.final
    for pool in target_pools(boot):
        tokens = _tokens(pool, boot)
        if pool.size_gib is None or tokens is None:
            continue
        if final is not None and pool.tokens and pool.tokens < final.max_total_num_tokens / 2:
            continue
        return _of(pool.size_gib, pool.decimals_gib, tokens, page or 64, pool.where)
    full = next((p for p in target_pools(boot, "full") if p.size_gib is not None and p.tokens), None)
    swa = next((p for p in target_pools(boot, "swa") if p.size_gib is not None and p.tokens), None)
    if full is not None and swa is not None and full.tokens:
        size = (full.size_gib or 0.0) + (swa.size_gib or 0.0)
        return _of(size, full.decimals_gib + swa.decimals_gib, full.tokens, page or 64, full.where)
    return None


def whole_heads(interval: CellInterval, dtype: str) -> int | None:
    """The only cell in the interval that K and V of whole heads can have, or None where there are several or none."""
    element = ELEMENT_BYTES.get(dtype)
    if element is None:
        return None
    step = 2 * HEAD_STEP * element
    first = -(-int(interval.low) // step) * step
    found = [cell for cell in (first, first + step) if interval.holds(cell)]
    return found[0] if len(found) == 1 else None
