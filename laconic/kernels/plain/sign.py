"""One bit an element, 1 where x >= 0, and the mean magnitude of every block.

value_i = m (2 bit_i - 1),   m = sum |x| / size   (summed in a fixed order in float64, see sums.py)
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.kernels.plain.pack import blocks, pack, unpack
from laconic.kernels.plain.sums import abs_sums


def mean_magnitudes(x: Tensor, block: int) -> Tensor:
    """Of every block; the last may be short and is averaged over its own length."""
    sums = abs_sums(x, block)
    size = torch.full_like(sums, block)
    size[-1:] = x.numel() - (sums.numel() - 1) * block
    return (sums / size).to(torch.float32)


def sign_pack(x: Tensor, scale: Tensor, packed: Tensor, block: int) -> None:
    """Writes `scale` and `packed`."""
    scale.copy_(mean_magnitudes(x, block))
    packed.copy_(pack((x >= 0).to(torch.uint8), 1))


def sign_keep(
    x: Tensor, residual: Tensor, left: Tensor, damping: float, scale: Tensor, packed: Tensor, block: int
) -> None:
    """Error feedback in the same pass: p = residual + x is packed, left <- p - damping * what was said."""
    torch.add(residual, x, out=left)
    sign_pack(left, scale, packed, block)
    left -= _values(scale, packed, left.numel(), block, damping)


def sign_unpack(out: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    """out <- weight * values."""
    out.copy_(_values(scale, packed, out.numel(), block, weight))


def sign_add(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    """total += weight * values."""
    total += _values(scale, packed, total.numel(), block, weight)


def _values(scale: Tensor, packed: Tensor, n: int, block: int, weight: float) -> Tensor:
    signs = unpack(packed, 1, n).to(torch.float32) * 2 - 1
    return (blocks(signs, block) * (scale * weight).unsqueeze(1)).view(-1)[:n]
