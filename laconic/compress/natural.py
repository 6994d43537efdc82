"""Natural compression: the nearest powers of two, drawn without bias; sign and exponent are all that is said.

    C(x) = sgn(x) 2^e  with probability 2 - |x|/2^e,   sgn(x) 2^(e+1) otherwise,   e = floor(log2 |x|)

    omega = 1/8   (worst at |x| = 4/3 2^e),   9 bits an element

Horvath et al., MSML 2022, arXiv:1905.10988; the upper power is a ceiling (survey errata 000.6), and there is no error
feedback (001.8). Reads the bits of a float32: the exponent goes up by one if a random 23-bit number is below the
mantissa. Below 2^-126 the neighbours are 0 and 2^-126 (still unbiased, omega does not hold); at 2^127 and above there
is no upper neighbour and the lower one is taken. A double is rounded to float32 first.
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
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part

_MANTISSA = (1 << 23) - 1
_LARGEST = 254  # exponent code of 2^127; 255 is infinity


@dataclass(frozen=True)
class Natural(AbstractOneShot):
    """Sign and exponent of every element, 9 bits; powers of two drawn without bias."""

    name: ClassVar[str] = "natural"
    paper: ClassVar[str] = "horvath2022natural"

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=1 / 8, delta=None, linear=False)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return codes(numel, 8), codes(numel, 1)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        bits = x.contiguous().view(torch.int32)
        up = (draw.own.words(x.numel(), x.device) >> 9) < (bits & _MANTISSA)
        exponent = (((bits >> 23) & 0xFF) + up).clamp_(max=_LARGEST)
        return 0, (exponent.to(torch.uint8), kernel.pack((bits < 0).to(torch.uint8), 1))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        exponent, packed = parts
        size = (exponent.clamp(max=_LARGEST).to(torch.int32) << 23).view(torch.float32)
        negative = kernel.unpack(packed, 1, numel).to(torch.bool)
        return torch.where(negative, -size, size)
