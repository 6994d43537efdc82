"""8-bit numbers: the nearest of 256 codes, relative to the block's element of largest magnitude.

    C(x) = m code(x / m),    m = the element with the largest |x|, with its sign

    dynamic   0, 1, and for i = 0..6 the 2^i midpoints of [0.1, 1] in equal parts, times 10^(i-6), both signs
    linear    k / 127,  k = -127 .. 127
    float     1 sign, 3 exponent, 4 fraction bits: (1 + f/16) 2^(e-7), below that f/16 2^-6, over the largest, 1.9375

Dettmers, ICLR 2016, arXiv:1511.04561: `dynamic` (dynamic tree) is the best of its types. With h the largest distance
from [-1, 1] to a code, and 0 among the codes, delta = 1 / (1 + (B-1) h^2); h = 0.00703 for `dynamic`, whose codes end
at -0.993 on one side. Differs: m keeps its sign, so that the largest element is always the exact code +1; a scale
for each block of 2048, as in bitsandbytes. Biased; for an unbiased code see `levels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import AbstractBlocked, codes
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class EightBit(AbstractBlocked, AbstractSymbols):
    """The nearest of 256 codes, finest near zero, and one scale a block."""

    kind: str = "dynamic"
    block: int = 2048

    name: ClassVar[str] = "eightbit"
    paper: ClassVar[str] = "dettmers2016approximations"

    def __post_init__(self) -> None:
        if self.kind not in _TABLES:
            raise PlanError(f"eightbit(kind={self.kind!r}): the codes are dynamic, linear or float.")
        self.check_block()

    @property
    def alphabet(self) -> int:
        return table(self.kind).numel()

    @property
    def zero(self) -> int:
        return 127  # of every kind: as many codes lie below

    @property
    def code_bits(self) -> int:
        return 8

    def traits(self, spec: BucketSpec) -> Traits:
        delta = 1 / (1 + (self.size(spec) - 1) * farthest(self.kind) ** 2)
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel), codes(numel, 8)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        if not x.numel():
            return 0, (x, x.to(torch.uint8))
        rows = kernel.blocks(x, self.block)
        scale = rows.gather(1, rows.abs().argmax(dim=1, keepdim=True))
        r = (rows / quant.divisor(scale)).view(-1)[: x.numel()]
        first, middles = _cells(self.kind)
        return 0, (scale.view(-1), quant.nearest_by_cell(r, first.to(x.device), middles.to(x.device)))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        scale, code = parts
        numbers = table(self.kind).to(scale.device)
        values = numbers.index_select(0, code.to(torch.int32).clamp_(max=numbers.numel() - 1))
        return (kernel.blocks(values, self.block) * scale.unsqueeze(1)).view(-1)[:numel]


def _dynamic() -> list[float]:
    out = [0.0, 1.0]
    for i in range(7):
        edges = [0.1 + 0.9 * k / 2**i for k in range(2**i + 1)]
        middle = [(a + b) / 2 * 10.0 ** (i - 6) for a, b in pairwise(edges)]
        out += middle + [-m for m in middle]
    return out


def _linear() -> list[float]:
    return [k / 127 for k in range(-127, 128)]


def _float() -> list[float]:
    small = [f / 16 * 2.0**-6 for f in range(16)]
    normal = [(1 + f / 16) * 2.0 ** (e - 7) for e in range(1, 8) for f in range(16)]
    unsigned = [v / normal[-1] for v in small + normal]
    return unsigned + [-v for v in unsigned if v]


_TABLES = {"dynamic": _dynamic, "linear": _linear, "float": _float}


@cache
def table(kind: str) -> Tensor:
    """The codes in rising order; code 0 is the lowest number."""
    return torch.tensor(sorted(_TABLES[kind]()), dtype=torch.float32)


@cache
def _cells(kind: str) -> tuple[Tensor, Tensor]:
    return quant.cells(table(kind))


@cache
def farthest(kind: str) -> float:
    """h: no number of [-1, 1] is farther from its code."""
    numbers = table(kind).double()
    gaps = (numbers[1:] - numbers[:-1]).max() / 2
    return float(torch.maximum(gaps, numbers[0] + 1))
