"""8-bit floats: a block is scaled so that its largest magnitude is the largest 8-bit float, then cast.

    C(x) = M float(fp8(T x / M)) / T,    M = max|x| of the block,   T = 448 (e4m3) or 57344 (e5m2)

    1 - delta = u^2 + (B-1) h^2,   u = 2^-4, h = 2^-10/448 (e4m3);  u = 2^-3, h = 2^-17/57344 (e5m2)

u is the largest relative error of a normal number, h the half step of subnormal ones. Micikevicius et al., FP8 Formats
for Deep Learning, 2022, arXiv:2209.05433. Rounds to nearest, so biased. gloo cannot add such floats: they travel as
bytes and are added in float32. Differs: a scale for each block, not one for each tensor.
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
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant

_FORMATS = {  # type, largest number, roundoff, half a subnormal step
    "e4m3": (torch.float8_e4m3fn, 448.0, 2.0**-4, 2.0**-10),
    "e5m2": (torch.float8_e5m2, 57344.0, 2.0**-3, 2.0**-17),
}


@dataclass(frozen=True)
class Fp8(AbstractBlocked):
    """8-bit floats with one scale a block."""

    format: str = "e4m3"
    block: int = 1024

    name: ClassVar[str] = "fp8"
    paper: ClassVar[str] = "micikevicius2022fp8"

    def __post_init__(self) -> None:
        if self.format not in _FORMATS:
            raise PlanError(f"fp8(format={self.format!r}): the format is e4m3 (finer) or e5m2 (wider).")
        self.check_block()

    def traits(self, spec: BucketSpec) -> Traits:
        _, top, roundoff, half_step = _FORMATS[self.format]
        lost = roundoff**2 + (self.size(spec) - 1) * (half_step / top) ** 2
        return Traits(unbiased=False, omega=None, delta=1 - lost, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel), codes(numel, 8)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        kind, top, _, _ = _FORMATS[self.format]
        rows = kernel.blocks(x, self.block)
        scale = quant.largest_of(rows)
        small = (rows / quant.divisor(scale).unsqueeze(1) * top).to(kind)
        return 0, (scale, small.view(torch.uint8).view(-1)[: x.numel()])

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        kind, top, _, _ = _FORMATS[self.format]
        scale, raw = parts
        rows = kernel.blocks(raw.view(kind).to(torch.float32) / top, self.block)
        return (rows * scale.unsqueeze(1)).view(-1)[:numel]
