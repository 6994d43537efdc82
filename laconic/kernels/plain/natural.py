"""Powers of two by chance: the exponent of a float32 after a random 23-bit number was added to its mantissa.

    e = (|bits| + r) >> 23,    r = 128 h + 64, h 16 random bits       so  E 2^(e-127) = |x|  but for 2^-17 of a step

Written are 8-bit exponents and a plane of sign bits, 9 bits an element: the whole range of float32.
There is no power above 2^127: what would be rounded there stays. NaN and infinity are said as infinity, never hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.plain.pack import pack, unpack

LARGEST, INFINITE = 254, 255  # exponents of 2^127 and of what is not finite


def _exponents(x: Tensor, stream: Stream) -> Tensor:
    magnitude = x.contiguous().view(torch.int32) & 0x7FFFFFFF
    noise = stream.halves(x.numel(), x.device).to(torch.int32) * 128 + 64
    rounded = ((magnitude + noise) >> 23) & 0xFF
    return torch.where(magnitude < INFINITE << 23, rounded.clamp(max=LARGEST), INFINITE)


def natural_pack(x: Tensor, exponent: Tensor, packed: Tensor, stream: Stream) -> None:
    """Writes `exponent` (uint8) and `packed` (one bit an element, 1 is minus)."""
    exponent.copy_(_exponents(x, stream))
    packed.copy_(pack(torch.signbit(x).to(torch.uint8), 1))


def natural_unpack(out: Tensor, exponent: Tensor, packed: Tensor, weight: float) -> None:
    """out <- weight * values."""
    out.copy_(_values(exponent, packed, weight))


def natural_add(total: Tensor, exponent: Tensor, packed: Tensor, weight: float) -> None:
    """total += weight * values."""
    total += _values(exponent, packed, weight)


def _values(exponent: Tensor, packed: Tensor, weight: float) -> Tensor:
    sign = unpack(packed, 1, exponent.numel()).to(torch.int32)
    return ((exponent.to(torch.int32) << 23) | (sign << 31)).view(torch.float32) * weight
