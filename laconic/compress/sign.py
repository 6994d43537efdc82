"""Scaled sign: one bit an element, and the mean magnitude of the block.

    C(x) = mean|x| sgn(x),   sgn(0) = +1,   delta = |x|_1^2 / (B |x|_2^2) >= 1/B   on a block of B

Karimireddy et al., ICML 2019, arXiv:1901.09847. Differs: one scale per block, as in dist-EF-blockSGDM (Zheng,
Huang, Kwok, NeurIPS 2019, arXiv:1905.10936). Wrap it in `ef(...)`: alone the sign loses the gradient's size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.kernels import reference as kernel


@dataclass(frozen=True)
class Sign(AbstractOneShot):
    """One bit an element and one scale a block."""

    block: int = 1024

    name: ClassVar[str] = "sign"
    paper: ClassVar[str] = "karimireddy2019error"

    def __post_init__(self) -> None:
        if not isinstance(self.block, int) or self.block < 8 or self.block % 8:
            raise PlanError(f"sign(block={self.block!r}): a block is a multiple of 8 elements.")

    @property
    def align(self) -> int:
        return self.block

    def traits(self, spec: BucketSpec) -> Traits:
        delta = 1 / max(1, min(self.block, spec.numel))
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        scales = Part(torch.float32, -(-numel // self.block))
        return scales, Part(torch.uint8, kernel.packed_bytes(numel, 1))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        rows = kernel.blocks(x, self.block)
        size = torch.full((rows.shape[0],), float(self.block), device=x.device)
        size[-1:] = x.numel() - (rows.shape[0] - 1) * self.block  # the last block may be short
        scale = (rows.abs() / size.unsqueeze(1)).sum(dim=1)  # divides first: the sum cannot overflow
        return 0, (scale, kernel.pack((x >= 0).to(torch.uint8), 1))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        scale, packed = parts
        signs = kernel.unpack(packed, 1, numel).to(torch.float32) * 2 - 1
        return (kernel.blocks(signs, self.block) * scale.unsqueeze(1)).view(-1)[:numel]
