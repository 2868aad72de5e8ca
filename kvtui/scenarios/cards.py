"""Cards that scenarios run on: sizes as the driver tells them, clocks and buses as their data sheets do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Card:
    """One kind of GPU."""

    name: str
    total_mib: int
    """As ``nvidia-smi`` prints it."""
    memory_mhz: int
    bus_bits: int
    """``2 x clock x bus / 8`` is the peak bandwidth (facts/diagnoses.md V16)."""
    sm_mhz: int
    power_w: int
    nvlinks: int
    pcie_generation: int = 5

    @property
    def bytes_a_second(self) -> float:
        """Peak memory bandwidth."""
        return 2 * self.memory_mhz * 1e6 * self.bus_bits / 8

    @property
    def total_gib(self) -> float:
        """All of it."""
        return self.total_mib / 1024


PRO_6000: Final = Card("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97_887, 12_481, 512, 2_430, 600, 0)
H100: Final = Card("NVIDIA H100 80GB HBM3", 81_559, 2_619, 5_120, 1_980, 700, 18)
H200: Final = Card("NVIDIA H200", 143_771, 3_201, 6_144, 1_980, 700, 18)
