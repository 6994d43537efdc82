"""1-bit SGD: the sign of every element; each sign stands for the mean of its class.

    bit_i = [x_i >= 0];   C(x)_i = mean{x_j >= 0} or mean{x_j < 0} of the block, 0 where a class is empty

    |x - C(x)|^2 = |x|^2 - n0 mu0^2 - n1 mu1^2,     delta >= |x|_1^2 / (B |x|_2^2) >= 1/B

Seide, Fu, Droppo, Li, Yu, Interspeech 2014. The best code of two values for this threshold. Differs: means of blocks
of consecutive elements, not of the columns of a matrix. Diverges without a memory: use `ef(onebit)`, which on the
deal route quantizes the aggregate again with a memory at its owner, as the original does. The residual is that of
the corrected formula, (G + old residual) - decoded (survey errata 000.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import AbstractBlocked, codes
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class OneBit(AbstractBlocked):
    """One bit an element; the mean of the positive and of the negative ones for each block."""

    block: int = 2048

    name: ClassVar[str] = "onebit"
    paper: ClassVar[str] = "seide2014onebit"

    def __post_init__(self) -> None:
        self.check_block()

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=1 / self.size(spec), linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel, each=2), codes(numel, 1)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        rows, up = kernel.blocks(x, self.block), kernel.blocks((x >= 0).to(torch.float32), self.block)
        ups = up.sum(dim=1)
        downs = quant.lengths(x.numel(), self.block, x.device) - ups
        # Divides first: the sum cannot overflow. Zeros that fill the last block add nothing to either mean.
        above = (rows.clamp(min=0) / ups.clamp(min=1).unsqueeze(1)).sum(dim=1)
        below = (rows.clamp(max=0) / downs.clamp(min=1).unsqueeze(1)).sum(dim=1)
        means = torch.stack([below, above], dim=1).view(-1)
        return 0, (means, kernel.pack((x >= 0).to(torch.uint8), 1))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        means, packed = parts
        below, above = means.view(-1, 2, 1).unbind(dim=1)
        up = kernel.blocks(kernel.unpack(packed, 1, numel), self.block).to(torch.bool)
        return torch.where(up, above, below).view(-1)[:numel]
