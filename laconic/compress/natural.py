"""Natural compression: the nearest powers of two, drawn without bias; sign and exponent are all that is said.

    C(x) = sgn(x) 2^e  with probability 2 - |x|/2^e,   sgn(x) 2^(e+1) otherwise,   e = floor(log2 |x|)

    omega = 1/8   (worst at |x| = 4/3 2^e),   9 bits an element

Horvath et al., MSML 2022, arXiv:1905.10988; the upper power is a ceiling (survey errata 000.6), and there is no error
feedback (001.8). Reads the bits of a float32: a random number of 16 bits is added to its mantissa, and the exponent
is what stands above (without bias but for 2^-17 of a step; `kernels/plain/natural.py`). Below 2^-126 the neighbours
are 0 and 2^-126 (still unbiased, omega does not hold); at 2^127 and above there is no upper neighbour and the lower
one is taken. A double is rounded to float32 first. Most exponents
are near each other: `natural | huffman` takes about 3.6 bits an element on normally distributed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Traits
from laconic.compress.blocked import codes
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.symbols import AbstractSymbols
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part, blank


@dataclass(frozen=True)
class Natural(AbstractOneShot, AbstractSymbols):
    """Sign and exponent of every element, 9 bits; powers of two drawn without bias."""

    name: ClassVar[str] = "natural"
    paper: ClassVar[str] = "horvath2022natural"

    coded_part: ClassVar[int] = 0  # the exponents; signs are as good as random

    @property
    def alphabet(self) -> int:
        return 255

    @property
    def zero(self) -> int:
        return 127

    @property
    def code_bits(self) -> int:
        return 8

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=1 / 8, delta=None, linear=False)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return codes(numel, 8), codes(numel, 1)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        exponent, packed = blank(self.layout(x.numel(), 0), x.device)
        kernel.natural_pack(x, exponent, packed, draw.own)
        return 0, (exponent, packed)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = torch.empty(numel, device=parts[0].device)
        self.put(out, parts, aux, draw, 1.0)
        return out

    def put(self, out: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        exponent, packed = parts
        kernel.natural_unpack(out, exponent, packed, weight)

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        exponent, packed = parts
        kernel.natural_add(total, exponent, packed, weight)
