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

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part, blank


@dataclass(frozen=True)
class Sign(AbstractOneShot):
    """One bit an element and one scale a block."""

    block: int = 2048

    name: ClassVar[str] = "sign"
    paper: ClassVar[str] = "karimireddy2019error"

    def __post_init__(self) -> None:
        if not isinstance(self.block, int) or self.block < 8 or self.block % 8:
            raise PlanError(f"sign(block={self.block!r}): a block is a multiple of 8 elements.")

    @property
    def align(self) -> int:
        return self.block

    @property
    def bounded(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        delta = 1 / max(1, min(self.block, spec.numel))
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        scales = Part(torch.float32, -(-numel // self.block))
        return scales, Part(torch.uint8, kernel.packed_bytes(numel, 1))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        scale, packed = blank(self.layout(x.numel(), 0), x.device)
        kernel.sign_pack(x, scale, packed, self.block)
        return 0, (scale, packed)

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        scale, packed = blank(self.layout(x.numel(), 0), x.device)
        kernel.sign_keep(x, residual, left, damping, scale, packed, self.block)
        return 0, (scale, packed)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.empty(numel, device=parts[0].device)
        self.put(out, parts, aux, draw, 1.0)
        return out

    def put(self, out: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        scale, packed = parts
        kernel.sign_unpack(out, scale, packed, self.block, weight)

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        scale, packed = parts
        kernel.sign_add(total, scale, packed, self.block, weight)
