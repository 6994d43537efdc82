"""Stochastic rounding to 2s + 1 levels, s = 2^(b-1) - 1, with one scale M a block, packed to b bits.

    code_i  = floor(min(max(x_i (s / M) + s + U_i, 0), 2s + 1/2)),   U_i = (r_i + 1/2) / 2^16,  r_i 16 random bits
    value_i = (code_i - s) step,    step = M / s rounded so that s step <= M

U keeps 2^-17 away from whole numbers, so what stands on a level stays on it although s / M is rounded. Blocks with
M < 2^-100 are lifted by 2^100 first, else s / M would overflow. NaN or infinity in a block makes its M so, and with
it every value; codes stay in range. Every operation is one rounding of float32: all implementations agree in every bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.plain.pack import blocks, pack, unpack
from laconic.kernels.plain.sums import square_sums

LIFT_BELOW = 2.0**-100
LIFT = 2.0**100


def scales(x: Tensor, block: int, norm: str) -> Tensor:
    """M of every block: the largest magnitude, or the l2 norm (at most the largest float32 where x is finite)."""
    if norm == "l2":
        norms = square_sums(x, block).sqrt()
        top = torch.finfo(torch.float32).max
        return torch.where(norms.isfinite(), norms.clamp(max=top), norms).to(torch.float32)
    magnitude = blocks(x, block).view(torch.int32) & 0x7FFFFFFF  # as integers NaN and infinity are the largest
    return magnitude.amax(dim=1).view(torch.float32) if magnitude.numel() else x.new_zeros(0)


def levels(x: Tensor, scale: Tensor, stream: Stream, bits: int, block: int) -> Tensor:
    """uint8 codes 0 .. 2s; x beyond its block's scale is clipped to it."""
    return levels_with(x, scale, stream.halves(x.numel(), x.device), bits, block)


def levels_with(x: Tensor, scale: Tensor, halves: Tensor, bits: int, block: int) -> Tensor:
    """The same with 16-bit random numbers of the caller's."""
    s = float((1 << (bits - 1)) - 1)
    lift, inverse = inverses(scale, bits)
    rows = blocks(x, block)
    noise = blocks((2 * halves + 1).to(torch.float32) * 2.0**-17 + s, block)
    v = rows * lift.unsqueeze(1) * inverse.unsqueeze(1) + noise
    v = torch.where(v < 2 * s + 0.5, v, 2 * s + 0.5)  # NaN ends here too
    return v.clamp_(min=0).to(torch.uint8).view(-1)[: x.numel()]


def inverses(scale: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """By what x is multiplied, one after the other: the lift of tiny blocks, and s / (M lift)."""
    s = float((1 << (bits - 1)) - 1)
    lift = torch.where(scale < LIFT_BELOW, LIFT, 1.0)
    return lift, torch.where(scale == 0, 0.0, torch.full_like(scale, s) / (scale * lift))  # s / x would round twice


def steps(scale: Tensor, bits: int) -> Tensor:
    """The distance of two levels."""
    s = float((1 << (bits - 1)) - 1)
    step = scale / s
    return torch.where(step * s > scale, torch.nextafter(step, torch.zeros_like(step)), step)


def quantize(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int, norm: str) -> None:
    """Writes `scale` and `packed`."""
    scale.copy_(scales(x, block, norm))
    quantize_to(x, scale, packed, stream, bits, block)


def quantize_to(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int) -> None:
    """Writes `packed`, with scales of the caller's: their NaN and infinity must be those of x, or they are hidden."""
    packed.copy_(pack(levels(x, scale, stream, bits, block), bits))


def quantize_keep(
    x: Tensor,
    residual: Tensor,
    left: Tensor,
    damping: float,
    scale: Tensor,
    packed: Tensor,
    stream: Stream,
    bits: int,
    block: int,
    norm: str,
) -> None:
    """Error feedback in the same pass: p = residual + x is quantized, left <- p - damping * what was said."""
    torch.add(residual, x, out=left)
    quantize(left, scale, packed, stream, bits, block, norm)
    left -= _values(scale, packed, left.numel(), bits, block, damping)


def dequantize(out: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    """out <- weight * values."""
    out.copy_(_values(scale, packed, out.numel(), bits, block, weight))


def dequantize_add(total: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    """total += weight * values."""
    total += _values(scale, packed, total.numel(), bits, block, weight)


def _values(scale: Tensor, packed: Tensor, n: int, bits: int, block: int, weight: float) -> Tensor:
    level = unpack(packed, bits, n).to(torch.float32) - ((1 << (bits - 1)) - 1)
    return (blocks(level, block) * (steps(scale, bits) * weight).unsqueeze(1)).view(-1)[:n]
