"""A random rotation that costs n log n: random signs, then a Walsh-Hadamard transform, block by block.

    z = H D x / sqrt(d),    x = D H z / sqrt(d),    D = diag(+-1)

A block is a power of two long; the last one is filled with zeros up to its own next power of two. Here z / sqrt(d) is
computed (x is divided by d, a power of two, before it is transformed): its elements are never larger than those of x,
so the largest numbers do not overflow. Only sums and differences of pairs: every machine gets the same bits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from laconic.kernels import reference_quant as quant


def check_power_of_two(name: str, block: object) -> None:
    if not isinstance(block, int) or block < 8 or block & (block - 1):
        raise PlanError(f"{name}(block={block!r}): a rotated block is a power of two from 8 up.")


def rotate(x: Tensor, stream: Stream, block: int) -> list[Tensor]:
    """z / sqrt(d) as matrices whose rows are blocks."""
    filled = torch.nn.functional.pad(x, (0, quant.padded(x.numel(), block) - x.numel()))
    turned = filled * _signs(stream, filled)
    return [quant.hadamard(rows / rows.shape[1]) for rows in quant.cut(turned, block)]


def rotate_back(pieces: list[Tensor], stream: Stream, numel: int) -> Tensor:
    """x from z / sqrt(d), one block or more; what chance added beyond the range of float32 is clipped."""
    out = []
    for rows in pieces:
        largest = quant.largest_of(rows).unsqueeze(1)
        out.append((quant.hadamard(rows / quant.divisor(largest)) * largest).view(-1))
    flat = torch.cat(out)
    top = torch.finfo(flat.dtype).max
    return (flat * _signs(stream, flat))[:numel].clamp_(-top, top)


def _signs(stream: Stream, like: Tensor) -> Tensor:
    """The diagonal D: one random bit an element."""
    return quant.signs(stream.words(-(-like.numel() // 32), like.device), like.numel())
