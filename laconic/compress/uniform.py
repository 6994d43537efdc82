"""Evenly spaced levels between the smallest and the largest element of a block.

    code_i = round of L (x_i - lo) / (hi - lo);    C(x)_i = lo (1 - f) + hi f,   f = code_i / L,   L + 1 levels

Both ends, and a block of equal elements, are exact. As (hi - lo)^2 <= 2 (lo^2 + hi^2) and the ends cost nothing,
the squared error of a block of B elements is at most (B - 2) / (2 L^2) of |x|^2, for the nearest level as on average
for a level drawn without bias. Ranges are halved before they are subtracted, so that they cannot overflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw
from laconic.compress.blocked import AbstractBlocked, codes
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant


class AbstractUniform(AbstractBlocked, AbstractSymbols, ABC):
    @property
    @abstractmethod
    def top(self) -> int:
        """L: the highest code."""

    @abstractmethod
    def round(self, a: Tensor, draw: Draw) -> Tensor: ...

    @property
    def width(self) -> int:
        return quant.bits_for(self.top + 1)

    @property
    def alphabet(self) -> int:
        return self.top + 1

    @property
    def zero(self) -> int:
        """The middle: gradients crowd between the ends."""
        return self.top // 2

    @property
    def code_bits(self) -> int:
        return self.width

    def error(self, spec: BucketSpec) -> float:
        """The largest E|C(x) - x|^2 / |x|^2."""
        return max(0, self.size(spec) - 2) / (2 * self.top**2)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel, each=2), codes(numel, self.width)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        if not x.numel():
            return 0, (x, x.to(torch.uint8))
        ends, level = self.code(quant.edge_blocks(x, self.block), draw)
        level = level.view(-1)[: x.numel()]
        return 0, (ends.view(-1), kernel.pack(level, self.width))

    def code(self, rows: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """(lo, hi) of every row, and uint8 codes."""
        lo, hi = torch.aminmax(rows, dim=1, keepdim=True)
        half = hi / 2 - lo / 2
        a = ((rows / 2 - lo / 2) / quant.divisor(half) * self.top).clamp_(0, self.top)
        return torch.cat([lo, hi], dim=1), self.round(a, draw).to(torch.uint8)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        if not numel:
            return parts[0]
        ends, packed = parts
        level = kernel.unpack(packed, self.width, numel).to(torch.float32)
        return self.values(ends.view(-1, 2), kernel.blocks(level, self.block)).view(-1)[:numel]

    def values(self, ends: Tensor, level: Tensor) -> Tensor:
        """Rows from their ends and float32 codes."""
        f = (level / self.top).clamp_(max=1.0)
        return ends[:, :1] * (1 - f) + ends[:, 1:] * f
