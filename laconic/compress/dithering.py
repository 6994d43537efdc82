"""Natural dithering: levels that are powers of two, finer where most elements are.

    levels 0, 2^(1-s), ..., 1/4, 1/2, 1 of the block's scale,   s = 2^(b-1) - 1,   unbiased

    omega <= 1/8 + z,   z from `levels.py`, below the paper's xi min(1, xi), xi = sqrt(B) 2^(1-s)

Horvath et al., MSML 2022, arXiv:1905.10988. Levels are relative to the norm (survey errata 000.7). Differs: one scale
per block, by default its largest magnitude. With two bits it is three-level QSGD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.blocked import check_bits
from laconic.compress.levels import AbstractLevels


@dataclass(frozen=True)
class Dithering(AbstractLevels):
    """Power-of-two levels of the block's scale, drawn without bias."""

    bits: int = 4
    block: int = 256
    norm: str = "max"

    name: ClassVar[str] = "dithering"
    paper: ClassVar[str] = "horvath2022natural"

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 2, 6)
        self.check_block()
        self.check_norm()

    @property
    def magnitudes(self) -> tuple[float, ...]:
        return powers_of_two((1 << (self.bits - 1)) - 1)


def powers_of_two(count: int) -> tuple[float, ...]:
    """0 and the powers of two from 2^(1-count) to 1."""
    return (0.0, *(2.0**-j for j in range(count - 1, -1, -1)))
