"""QSGD: stochastic rounding to s levels of |x| / scale, packed to b bits an element.

    Q(x)_i = M sgn(x_i) xi_i / s,   xi_i in {floor, ceil} of s|x_i|/M, unbiased,   s = 2^(b-1) - 1

Alistarh et al., NeurIPS 2017, arXiv:1610.02132. Differs: one scale per block, and by default the scale M
is the largest magnitude of the block ("QSGD-inf"), which for gradients has far less variance than the
paper's l2 norm (`norm=l2`). A code is xi + s in 0 .. 2s; bits=2 is three levels.

    omega, norm=max:  (sqrt(1 + (B-1)/s^2) - 1) / 2   (worst case: one spike over B-1 equal elements)
    omega, norm=l2:   min(B/s^2, sqrt(B)/s)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part, blank


@dataclass(frozen=True)
class QSGD(AbstractOneShot, AbstractSymbols):
    """Unbiased stochastic rounding to b bits, one scale a block."""

    bits: int = 4
    block: int = 256
    norm: str = "max"

    name: ClassVar[str] = "qsgd"
    paper: ClassVar[str] = "alistarh2017qsgd"

    def __post_init__(self) -> None:
        if not isinstance(self.bits, int) or self.bits not in range(2, 9):
            raise PlanError(f"qsgd(bits={self.bits!r}): bits must be 2 to 8; for 1 bit use ef(sign).")
        if not isinstance(self.block, int) or self.block < 8 or self.block % 8:
            raise PlanError(f"qsgd(block={self.block!r}): a block is a multiple of 8 elements.")
        if self.norm not in ("max", "l2"):
            raise PlanError(f"qsgd(norm={self.norm!r}): the scale of a block is 'max' or 'l2'.")

    @property
    def levels(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @property
    def alphabet(self) -> int:
        return 2 * self.levels + 1

    @property
    def zero(self) -> int:
        return self.levels

    @property
    def code_bits(self) -> int:
        return self.bits

    @property
    def align(self) -> int:
        return self.block

    @property
    def bounded(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        size, s = max(1, min(self.block, spec.numel)), self.levels
        if self.norm == "max":
            omega = (math.sqrt(1 + (size - 1) / s**2) - 1) / 2
        else:
            omega = min(size / s**2, math.sqrt(size) / s)
        return Traits(unbiased=True, omega=omega, delta=None, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        scales = Part(torch.float32, -(-numel // self.block))
        return scales, Part(torch.uint8, kernel.packed_bytes(numel, self.bits))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        scale, packed = blank(self.layout(x.numel(), 0), x.device)
        kernel.quantize(x, scale, packed, draw.own, self.bits, self.block, self.norm)
        return 0, (scale, packed)

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        scale, packed = blank(self.layout(x.numel(), 0), x.device)
        code = (draw.own, self.bits, self.block, self.norm)
        kernel.quantize_keep(x, residual, left, damping, scale, packed, *code)
        return 0, (scale, packed)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.empty(numel, device=parts[0].device)
        self.put(out, parts, aux, draw, 1.0)
        return out

    def put(self, out: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        scale, packed = parts
        kernel.dequantize(out, scale, packed, self.bits, self.block, weight)

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        scale, packed = parts
        kernel.dequantize_add(total, scale, packed, self.bits, self.block, weight)
