"""A random rotation that costs n log n: random signs, then a Walsh-Hadamard transform, block by block.

    z = H D x / sqrt(d),    x = D H z / sqrt(d),    D = diag(+-1)

A block is a power of two long; the last one is filled with zeros up to its own next power of two. Here z / sqrt(d) is
computed (butterflies are halved on the way there, plain on the way back): its elements are never larger than those of
x, so the largest numbers do not overflow.
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
    turned = filled * quant.signs(stream.words(filled.numel(), x.device))
    return [quant.hadamard(rows, 0.5) for rows in quant.cut(turned, block)]


def rotate_back(pieces: list[Tensor], stream: Stream, numel: int) -> Tensor:
    """x from z / sqrt(d), one block or more; what chance added beyond the range of float32 is clipped."""
    out = []
    for rows in pieces:
        largest = quant.largest_of(rows).unsqueeze(1)
        out.append((quant.hadamard(rows / quant.divisor(largest), 1.0) * largest).view(-1))
    flat = torch.cat(out)
    top = torch.finfo(flat.dtype).max
    return (flat * quant.signs(stream.words(flat.numel(), flat.device)))[:numel].clamp_(-top, top)
