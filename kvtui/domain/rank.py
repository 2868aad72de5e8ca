"""Which process of a server said something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """Ranks as the log prefix names them; None where the prefix does not carry that kind.

    A part is printed only when its size is above 1 (facts/observability.md 3.1), so a line
    without any of them comes from rank 0 or from the main process.
    """

    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    ep: int | None = None
    attn_cp: int | None = None
    moe_dp: int | None = None

    @property
    def label(self) -> str:
        """``DP0 TP3``; empty when the prefix names no rank."""
        parts = (("DP", self.dp), ("PP", self.pp), ("TP", self.tp), ("EP", self.ep))
        return " ".join(f"{name}{number}" for name, number in parts if number is not None)

    @property
    def sort_key(self) -> tuple[int, int, int]:
        """Order by data-parallel, pipeline and tensor rank; an absent one counts as 0."""
        return (self.dp or 0, self.pp or 0, self.tp or 0)


MAIN = Rank()
"""No rank named: the main process, or the only scheduler."""
