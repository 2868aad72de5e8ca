"""SGLang's sizing of the KV pool, by version (facts/memory.md 1, 2 and 4)."""

from kvtui.domain.sizing.cell import cell
from kvtui.domain.sizing.config import ELEMENT_BYTES, Cell, Kind, Layout, Sizing, SizingConfig, SizingError, StatePoolSize
from kvtui.domain.sizing.pool import size, state_pool

__all__ = [
    "ELEMENT_BYTES",
    "Cell",
    "Kind",
    "Layout",
    "Sizing",
    "SizingConfig",
    "SizingError",
    "StatePoolSize",
    "cell",
    "size",
    "state_pool",
]
