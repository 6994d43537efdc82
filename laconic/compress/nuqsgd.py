"""NUQSGD: QSGD with levels at powers of two of the l2 norm.

    levels 0, 2^-s, ..., 1/2, 1 of |x|_2,   s = 2^(b-1) - 2,   unbiased

Ramezani-Kebrya et al., JMLR 2021, arXiv:1908.06077. Natural dithering with p = 2 under another name and counting: the
same operator as `dithering(bits, norm=l2)`. Differs: one norm per block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.blocked import check_bits
from laconic.compress.dithering import powers_of_two
from laconic.compress.levels import AbstractLevels


@dataclass(frozen=True)
class NUQSGD(AbstractLevels):
    """Power-of-two levels of the block's l2 norm, drawn without bias."""

    bits: int = 4
    block: int = 256

    name: ClassVar[str] = "nuqsgd"
    paper: ClassVar[str] = "ramezani2021nuqsgd"
    norm: ClassVar[str] = "l2"  # type: ignore[misc]  # not a choice here

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 2, 6)
        self.check_block()

    @property
    def magnitudes(self) -> tuple[float, ...]:
        return powers_of_two((1 << (self.bits - 1)) - 1)
