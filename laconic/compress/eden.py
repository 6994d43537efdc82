"""EDEN: a random rotation makes any block look normal; then the best code for normal numbers, b bits each.

    z = H D x / sqrt(d) with signs D of my own;   c = nearest centroid to z sqrt(d) / |x|;   C(x) = S D H c / sqrt(d)

    scale=unbiased   S = |x|^2 / <c, z>      vNMSE 0.571, 0.133, 0.036, 0.0095 for 1, 2, 3, 4 bits
    scale=mse        S = <c, z> / |c|^2      vNMSE 0.363, 0.118, 0.035, 0.0095; a contraction, for `ef(...)`

Vargaftik et al., ICML 2022, arXiv:2108.08842; Lloyd-Max centroids of N(0, 1). Every rank has its own rotation, whose
seed travels, so that errors of ranks average out. Unbiased only for a uniformly random rotation: with H D it is nearly
so in long blocks and not in short ones (of two elements one is lost), so no `unbiased` is claimed. For `mse`

    delta = <c, z>^2 / (|c|^2 |z|^2) >= max(1/d^2, c_min^2 / (c_max^2 d)),   as c and z have equal signs and order

Differs: blocks of a power of two, not the whole vector. One bit is DRIVE.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits, clip
from laconic.compress.blocked import AbstractBlocked, check_bits, codes
from laconic.compress.rotation import check_power_of_two, rotate, rotate_back
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.core.rng import Stream, fold
from laconic.kernels import reference_quant as quant

CENTROIDS = {  # of the half normal distribution
    1: (0.79788,),
    2: (0.45278, 1.51042),
    3: (0.24509, 0.75601, 1.34391, 2.15195),
    4: (0.12840, 0.38805, 0.65676, 0.94234, 1.25623, 1.61805, 2.06902, 2.73259),
}


class AbstractEden(AbstractBlocked, ABC):
    """Concrete classes have `bits`, `block` and `scale`."""

    bits: int
    scale: str

    def check(self) -> None:
        check_bits(self.name, self.bits, 1, 4)
        check_power_of_two(self.name, self.block)
        if self.scale not in ("unbiased", "mse"):
            raise PlanError(f"{self.name}(scale={self.scale!r}): the scale is 'unbiased', or 'mse' for ef(...).")

    def traits(self, spec: BucketSpec) -> Traits:
        d = min(self.block, quant.padded(max(1, spec.numel), self.block))
        low, *_, high = CENTROIDS[self.bits] * 2
        delta = max(1 / d**2, low**2 / (high**2 * d)) if self.scale == "mse" else None
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BUCKET)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        seed = Part(torch.int32, 1 if numel else 0)
        return seed, self.scales(numel), codes(quant.padded(numel, self.block), self.bits)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        if not x.numel():
            return 0, (x.to(torch.int32), x, x.to(torch.uint8))
        seed = (draw.own.words(1, x.device) - (1 << 31)).to(torch.int32)
        scales, numbers = [], []
        for z in rotate(x, _stream(seed), self.block):
            s, code = self._code(z)
            scales.append(s)
            numbers.append(code.view(-1))
        return 0, (seed, torch.cat(scales), kernel.pack(torch.cat(numbers), self.bits))

    def _code(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """S in the units of z, and uint8 codes, of every row."""
        norm = quant.l2_of(z)
        unit = z / quant.divisor(norm).unsqueeze(1)  # |unit| = 1
        table = self._table(z.device)
        code = quant.nearest_in(unit * z.shape[1] ** 0.5, table)
        c = table.index_select(0, code.view(-1).to(torch.int32)).view_as(z)
        along = (c * unit).sum(dim=1)
        s = 1 / along if self.scale == "unbiased" else along / c.pow(2).sum(dim=1)
        return torch.where(norm > 0, s * norm, norm), code

    def _table(self, device: torch.device) -> Tensor:
        half = CENTROIDS[self.bits]
        return torch.tensor([-c for c in reversed(half)] + list(half), device=device)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        seed, scales, packed = parts
        if not numel:
            return scales
        code = kernel.unpack(packed, self.bits, quant.padded(numel, self.block)).to(torch.int32)
        pieces, at = [], 0
        for c in quant.cut(self._table(scales.device).index_select(0, code), self.block):
            pieces.append(clip(c * scales[at : at + c.shape[0]].unsqueeze(1), c.dtype))
            at += c.shape[0]
        return rotate_back(pieces, _stream(seed), numel)


def _stream(seed: Tensor) -> Stream:
    return Stream(fold(0xEDE7, int(seed)))


@dataclass(frozen=True)
class Eden(AbstractEden, AbstractSymbols):
    """The best 1 to 4 bits for normal numbers, after a random rotation."""

    bits: int = 2
    block: int = 4096
    scale: str = "unbiased"

    name: ClassVar[str] = "eden"
    paper: ClassVar[str] = "vargaftik2022eden"

    def __post_init__(self) -> None:
        self.check()

    @property
    def alphabet(self) -> int:
        return 1 << self.bits

    @property
    def zero(self) -> int:
        return (self.alphabet - 1) // 2

    @property
    def code_bits(self) -> int:
        return self.bits

    def code_count(self, numel: int) -> int:
        return quant.padded(numel, self.block)
