"""3LC: three values, five to a byte, runs of zeros cut short.

    M = s max|x|,   q = nearest(x / M) in {-1, 0, 1},   C(x) = M q,   |C(x)_i - x_i| <= M/2,   1 <= s < 2

    delta = s (2 - s) / (1 + (B-1) s^2/4)

Lim, Andersen, Kaminsky, MLSys 2019, arXiv:1802.07389. Use `ef(threelc)`: both directions then have their memory, as in
the paper. Five values are a number below 243, so a byte (1.6 bits each). Differs: the maximum of each block; the run
lengths of zeros (bytes 243 .. 255 for 2 to 14 bytes of zeros) are a lossless stage of their own and left to a coder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import AbstractBlocked
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.kernels import reference as kernel
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class ThreeLC(AbstractBlocked):
    """The nearest of -M, 0 and M; 1.6 bits an element."""

    sparsity: float = 1.0
    block: int = 1024

    name: ClassVar[str] = "threelc"
    paper: ClassVar[str] = "lim2019threelc"

    def __post_init__(self) -> None:
        if not 1 <= self.sparsity < 2:
            raise PlanError(f"threelc(sparsity={self.sparsity!r}): M is 1 to below 2 times the largest magnitude.")
        self.check_block()

    def traits(self, spec: BucketSpec) -> Traits:
        s = self.sparsity
        delta = s * (2 - s) / (1 + (self.size(spec) - 1) * s**2 / 4)
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel), Part(torch.uint8, quant.trit_bytes(numel))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        rows = kernel.blocks(x, self.block)
        largest = quant.largest_of(rows)
        q = (rows / quant.divisor(largest).unsqueeze(1) / self.sparsity).round_()
        scale = (largest * self.sparsity).clamp_(max=torch.finfo(x.dtype).max)
        return 0, (scale, quant.pack_trits((q + 1).to(torch.uint8).view(-1)[: x.numel()]))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        scale, packed = parts
        q = quant.unpack_trits(packed.clamp(max=242), numel).to(torch.float32) - 1
        return (kernel.blocks(q, self.block) * scale.unsqueeze(1)).view(-1)[:numel]
