"""Small whole numbers, several to a 64-bit word, so that an all-reduce of words adds them all up.

A lane has the bits that the sum over all ranks needs (`most`), so no lane ever reaches its neighbour. The top lane is
shifted by the caller, which keeps partial sums within the signed range.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.kernels.plain.pack import blocks


def lane_bits(most: int) -> int:
    """Bits of a lane whose sums go from 0 to `most`."""
    return max(1, most.bit_length())


def lanes_of(most: int) -> int:
    """How many such lanes a 64-bit word has."""
    return 64 // lane_bits(most)


def join_lanes(codes: Tensor, most: int, shift: int) -> Tensor:
    """Codes (uint8), several to an int64 word, the top one minus `shift`; words may be added while no lane exceeds
    `most`."""
    width, lanes = lane_bits(most), lanes_of(most)
    rows = blocks(codes, lanes)
    words = (rows[:, -1].to(torch.int64) - shift) * (1 << (width * (lanes - 1)))
    for lane in range(lanes - 1):
        words += rows[:, lane].to(torch.int64) << (width * lane)
    return words


def split_lanes(words: Tensor, most: int, shift: int, n: int) -> Tensor:
    """The sums of n lanes, int32; `shift` is the sum of those of `join_lanes`."""
    width, lanes = lane_bits(most), lanes_of(most)
    mask = (1 << width) - 1
    columns = [(words >> (width * lane)) & mask for lane in range(lanes - 1)]
    columns.append((words >> (width * (lanes - 1))) + shift)
    return torch.stack(columns, dim=1).view(-1)[:n].to(torch.int32)
