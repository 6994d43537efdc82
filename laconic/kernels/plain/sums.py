"""Sums over blocks in a fixed order, so that every implementation rounds alike.

    In float64, in pieces of 1024 elements: lane l adds up elements l, l + 16, ... of its piece in that order; lanes
    are folded in halves (16 -> 8 -> 4 -> 2 -> 1), then the pieces of a block are (last half onto first half).

Sums of float32 in float64 cannot overflow, and squares are exact before they are added.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.kernels.plain.pack import blocks

LANES = 16
PIECE = 1024


def abs_sums(x: Tensor, block: int) -> Tensor:
    """sum |x| of every block, in float64."""
    return ordered_sums(blocks(x, block).abs().to(torch.float64))


def square_sums(x: Tensor, block: int) -> Tensor:
    """sum x^2 of every block, in float64."""
    return ordered_sums(blocks(x, block).to(torch.float64).square())


def ordered_sums(rows: Tensor) -> Tensor:
    """The sum of each row (float64), in the order above."""
    if not rows.numel():
        return rows.new_zeros(rows.shape[0])
    piece = PIECE if rows.shape[1] > PIECE else -(-rows.shape[1] // LANES) * LANES
    short = -rows.shape[1] % piece
    pieces = torch.nn.functional.pad(rows, (0, short)).view(rows.shape[0], -1, piece // LANES, LANES)
    lanes = pieces[:, :, 0]
    for i in range(1, pieces.shape[2]):
        lanes = lanes + pieces[:, :, i]
    while lanes.shape[2] > 1:
        half = lanes.shape[2] // 2
        lanes = lanes[:, :, :half] + lanes[:, :, half:]
    total = lanes[:, :, 0]
    while total.shape[1] > 1:  # of an odd number the middle one waits
        half = total.shape[1] // 2
        folded = total[:, : total.shape[1] - half].clone()
        folded[:, :half] += total[:, -half:]
        total = folded
    return total[:, 0]
