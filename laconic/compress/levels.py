"""Levels by hand: every element, relative to its block's scale, goes to a neighbour in a table, without bias.

    r = x / M;   C(x) = M t,   t in the two entries of {+-l_0, ..., +-l_m = 1} around r, E t = r

M is the largest magnitude of the block (`norm=max`) or its l2 norm. The table is given by its magnitudes, rising to 1,
with or without 0. For the variance of a block of B elements, with neighbours a < b:

    r between a > 0 and b     (r-a)(b-r) <= (b-a)^2/(4ab) r^2
    r below the first b       r(b-r), together at most Z = (sqrt(1 + (B-1) b^2) - 1)/2 of |x|^2 for `max`,
                              Z = min(b sqrt(B), B b^2/4) for `l2`
    r between -a and a        a^2 - r^2, together at most (B-1) a^2 for `max`, B a^2 for `l2`

omega is the largest of the first kind plus the one that applies of the others. Even levels are QSGD (Alistarh et al.,
NeurIPS 2017, arXiv:1610.02132), powers of two natural dithering and NUQSGD, fitted ones ALQ and AMQ; this is their
common rounding, and open to tables of your own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
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


class AbstractLevels(AbstractBlocked, AbstractSymbols, ABC):
    """Concrete classes have the fields `block` and `norm`, and a table of magnitudes."""

    norm: str

    @property
    @abstractmethod
    def magnitudes(self) -> tuple[float, ...]: ...

    def check_norm(self) -> None:
        if self.norm not in ("max", "l2"):
            raise PlanError(f"{self.name}(norm={self.norm!r}): the scale of a block is 'max' or 'l2'.")

    @property
    def width(self) -> int:
        return quant.bits_for(len(signed(self.magnitudes)))

    @property
    def alphabet(self) -> int:
        return len(signed(self.magnitudes))

    @property
    def zero(self) -> int:
        return (self.alphabet - 1) // 2

    @property
    def code_bits(self) -> int:
        return self.width

    def traits(self, spec: BucketSpec) -> Traits:
        omega = variance(self.magnitudes, self.size(spec), self.norm)
        return Traits(unbiased=True, omega=omega, delta=None, linear=False, grain=Grain.BLOCK)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.scales(numel), codes(numel, self.width)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        rows = kernel.blocks(x, self.block)
        scale = quant.largest_of(rows) if self.norm == "max" else quant.l2_of(rows)
        table = torch.tensor(signed(self.magnitudes), device=x.device)
        r = (rows / quant.divisor(scale).unsqueeze(1)).view(-1)[: x.numel()].clamp_(-1, 1)
        code = quant.to_table(r, table, draw.own.uniform(x.numel(), x.device))
        return 0, (scale, kernel.pack(code, self.width))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        scale, packed = parts
        table = torch.tensor(signed(self.magnitudes), device=scale.device)
        code = kernel.unpack(packed, self.width, numel).to(torch.int32).clamp_(max=table.numel() - 1)
        return (kernel.blocks(table.index_select(0, code), self.block) * scale.unsqueeze(1)).view(-1)[:numel]


def signed(magnitudes: tuple[float, ...]) -> tuple[float, ...]:
    """The whole table, rising: magnitudes and their negatives."""
    return tuple(-m for m in reversed(magnitudes) if m) + magnitudes


def variance(magnitudes: tuple[float, ...], block: int, norm: str) -> float:
    """omega of the formulas above."""
    first, positive = magnitudes[0], [m for m in magnitudes if m]
    between = max(((b - a) ** 2 / (4 * a * b) for a, b in pairwise(positive)), default=0.0)
    if first > 0:
        return between + (block - (norm == "max")) * first**2
    b = positive[0]
    if norm == "max":
        return between + (math.sqrt(1 + (block - 1) * b**2) - 1) / 2
    return between + min(b * math.sqrt(block), block * b**2 / 4)


@dataclass(frozen=True)
class Levels(AbstractLevels):
    """Levels of your own: each element goes to a neighbour in a table, without bias."""

    table: str = "0 0.05 0.15 0.4 1"
    block: int = 256
    norm: str = "max"

    name: ClassVar[str] = "levels"
    paper: ClassVar[str] = "alistarh2017qsgd"

    def __post_init__(self) -> None:
        self.check_block()
        self.check_norm()
        rising = all(a < b for a, b in pairwise(self.magnitudes))
        if not self.magnitudes or not rising or self.magnitudes[0] < 0 or self.magnitudes[-1] != 1:
            raise PlanError(f"levels({self.table!r}): magnitudes rise from 0 or more to 1, as in '0 0.1 0.3 1'.")
        if len(signed(self.magnitudes)) > 256:
            raise PlanError(f"levels: {len(self.magnitudes)} magnitudes with their signs are more than 256 levels.")

    @cached_property
    def magnitudes(self) -> tuple[float, ...]:
        try:
            return tuple(map(float, self.table.split()))
        except (ValueError, AttributeError):
            raise PlanError(f"levels({self.table!r}): the table is numbers with spaces between them.") from None
