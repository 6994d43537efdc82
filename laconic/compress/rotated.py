"""Rotated k-level quantization: a shared random rotation spreads what stands out, then k even levels.

    z = H D x / sqrt(d);   z' = k-level(z), unbiased;   C(x) = D H z' / sqrt(d),
    E|C(x) - x|^2 <= (2 ln d + 2) / (k - 1)^2 |x|^2

Suresh, Yu, Kumar, McMahan, ICML 2017, arXiv:1611.00429 (pi_srk). The rotation is random and the same on all ranks, not
searched for (survey errata 000.16). Differs: blocks of a power of two, not the whole vector, so little is
filled up. Helps where few elements are large; hurts where all are equal, which `klevel` would say exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import codes
from laconic.compress.klevel import check_levels
from laconic.compress.rotation import check_power_of_two, rotate, rotate_back
from laconic.compress.uniform import AbstractUniform
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class Rotated(AbstractUniform):
    """k even levels of a randomly rotated block, drawn without bias."""

    k: int = 16
    block: int = 1024

    name: ClassVar[str] = "rotated"
    paper: ClassVar[str] = "suresh2017mean"

    def __post_init__(self) -> None:
        check_levels(self.name, self.k)
        check_power_of_two(self.name, self.block)

    @property
    def top(self) -> int:
        return self.k - 1

    def traits(self, spec: BucketSpec) -> Traits:
        omega = (2 * math.log(min(self.block, quant.padded(max(1, spec.numel), self.block))) + 2) / self.top**2
        return Traits(unbiased=True, omega=omega, delta=None, linear=False, grain=Grain.BLOCK)

    def code_count(self, numel: int) -> int:
        return quant.padded(numel, self.block)

    def round(self, a: Tensor, draw: Draw) -> Tensor:
        return quant.by_chance(a, draw.own.uniform(a.numel(), a.device).view_as(a))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel, each=2), codes(quant.padded(numel, self.block), self.width)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        coded = [
            self.code(rows, Draw(draw.own.child(i), draw.shared))
            for i, rows in enumerate(rotate(x, draw.shared, self.block))
        ]
        if not coded:
            return 0, (x, x.to(torch.uint8))
        ends = torch.cat([e.view(-1) for e, _ in coded])
        return 0, (ends, kernel.pack(torch.cat([level.view(-1) for _, level in coded]), self.width))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        ends, packed = parts
        if not numel:
            return ends
        level = kernel.unpack(packed, self.width, quant.padded(numel, self.block)).to(torch.float32)
        pieces, at = [], 0
        for rows in quant.cut(level, self.block):
            pieces.append(self.values(ends.view(-1, 2)[at : at + rows.shape[0]], rows))
            at += rows.shape[0]
        return rotate_back(pieces, draw.shared, numel)
