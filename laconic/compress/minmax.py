"""Min-max quantization: the nearest of 2^b even levels between a block's smallest and largest element.

    code_i = nearest((2^b - 1) (x_i - lo) / (hi - lo)),     |C(x)_i - x_i| <= (hi - lo) / (2 (2^b - 1))

Gan et al., BAGUA, VLDB 2022, arXiv:2107.01499 (`MinMaxUInt8`, 8 bits); Markov et al., CGX, Middleware 2022,
arXiv:2111.08617 (1 to 8 bits, blocks of 512). Differs from BAGUA: no 1e-7 is added to the range (it doubles the error
of small gradients), and blocks instead of whole chunks, so that an outlier harms only its neighbours. The same with
rounding by chance is `klevel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import check_bits
from laconic.compress.uniform import AbstractUniform
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class MinMax(AbstractUniform):
    """The nearest of 2^bits even levels between the ends of a block."""

    bits: int = 8
    block: int = 512

    name: ClassVar[str] = "minmax"
    paper: ClassVar[str] = "gan2022bagua"

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 1, 8)
        self.check_block()

    @property
    def top(self) -> int:
        return (1 << self.bits) - 1

    def traits(self, spec: BucketSpec) -> Traits:
        error = self.error(spec)
        delta = 1 - error if error < 1 else None
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BLOCK)

    def round(self, a: Tensor, draw: Draw) -> Tensor:
        return a.round_()
