"""The loops of quantizers in plain torch, beside the packing of `reference`.

Scales are found and used so that nothing overflows: a block is divided by its own largest magnitude first. Rounding by
chance compares a uniform number with the exact fraction, so that a number on the grid never moves.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_FEW = 40  # edges that are compared one by one faster than by bisection


def edge_blocks(x: Tensor, block: int) -> Tensor:
    """x as rows of `block` elements, the last row filled with copies of the last element: extremes stay true."""
    short = -x.numel() % block
    if short:
        x = torch.cat([x, x[-1:].expand(short)])
    return x.view(-1, block)


def lengths(numel: int, block: int, device: torch.device) -> Tensor:
    """How many elements of each row are real, float32."""
    rows = -(-numel // block)
    size = torch.full((rows,), float(block), device=device)
    size[-1:] = numel - (rows - 1) * block
    return size


def largest_of(rows: Tensor) -> Tensor:
    """The largest magnitude of every row."""
    return rows.abs().amax(dim=1) if rows.numel() else rows.new_zeros(rows.shape[0])


def divisor(scale: Tensor) -> Tensor:
    """The scale, or 1 where it is 0: a block of zeros is divided by something."""
    return torch.where(scale == 0, torch.ones_like(scale), scale)


def l2_of(rows: Tensor) -> Tensor:
    """l2 norms that neither overflow nor vanish: squares are taken relative to the largest element."""
    largest = largest_of(rows)
    norms: Tensor = torch.linalg.vector_norm(rows / divisor(largest).unsqueeze(1), dim=1)
    return (norms * largest).clamp_(max=torch.finfo(rows.dtype).max)


def by_chance(a: Tensor, uniform: Tensor) -> Tensor:
    """floor or ceil of a, without bias; whole numbers stay."""
    low = a.floor()
    return low + (uniform < a - low)


def rank_in(values: Tensor, edges: Tensor) -> Tensor:
    """How many edges (rising) are below each value, uint8; at most 255 edges."""
    if edges.numel() > _FEW:
        return torch.bucketize(values, edges).to(torch.uint8)
    rank = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
    for edge in edges.tolist():
        rank += values > edge
    return rank


def to_table(values: Tensor, table: Tensor, uniform: Tensor) -> Tensor:
    """Codes (uint8) of the neighbours in a rising table to which values within its range are rounded by chance."""
    low = rank_in(values, table[1:-1])  # an entry counts as the upper end of its gap
    at = low.to(torch.int32)
    below, above = table.index_select(0, at), table.index_select(0, at + 1)
    return low + (uniform * (above - below) < values - below)


def nearest_in(values: Tensor, table: Tensor) -> Tensor:
    """Codes (uint8) of the nearest entries of a rising table of at most 256."""
    return rank_in(values, (table[1:] + table[:-1]) / 2)


def half_keys(values: Tensor) -> Tensor:
    """The upper 16 bits of float32 numbers, int32: 65536 cells, each a 128th of its number wide or less."""
    return (values.contiguous().view(torch.int32) >> 16) & 0xFFFF


def cells(table: Tensor) -> tuple[Tensor, Tensor]:
    """For `nearest_by_cell`: the code of each cell's lowest number, and the middles between codes."""
    middles = torch.cat([(table[1:] + table[:-1]) / 2, table.new_tensor([torch.inf])])
    keys = torch.arange(1 << 16, dtype=torch.int64)
    lowest = (keys << 16) | torch.where(keys < 0x8000, 0, 0xFFFF)  # negative numbers grow downward
    numbers = torch.where(lowest < 1 << 31, lowest, lowest - (1 << 32)).to(torch.int32).view(torch.float32)
    return torch.bucketize(numbers.nan_to_num(0.0), middles[:-1]).to(torch.uint8), middles


def nearest_by_cell(values: Tensor, first: Tensor, middles: Tensor) -> Tensor:
    """`nearest_in` by a table of cells: right where no cell holds two middles."""
    code = first.index_select(0, half_keys(values))
    return code + (values > middles.index_select(0, code.to(torch.int32)))


def padded(numel: int, block: int) -> int:
    """Elements of a rotated vector: whole blocks, and a last one that is the next power of two."""
    full, rest = divmod(numel, block)
    return full * block + (1 << (rest - 1).bit_length() if rest else 0)


def hadamard(rows: Tensor) -> Tensor:
    """Walsh-Hadamard transform of every row (a power of two long): sums and differences, the same on any machine."""
    count, n = rows.shape
    columns, h = rows.T.contiguous(), 1  # whole rows side by side: every pass runs through memory in order
    while h < n:
        a, b = columns.view(n // (2 * h), 2, h * count).unbind(dim=1)
        columns = torch.stack([a + b, a - b], dim=1).view(n, count)
        h *= 2
    return columns.T.contiguous()


def cut(x: Tensor, block: int) -> list[Tensor]:
    """The padded vector as matrices for `hadamard`: the whole blocks, and the last one where it is shorter."""
    rest = x.numel() % block
    pieces = [x[: x.numel() - rest].view(-1, block), x[x.numel() - rest :].view(1, rest)]
    return [piece for piece in pieces if piece.numel()]


def signs(words: Tensor, n: int) -> Tensor:
    """n of +1 or -1, by the 32 bits of each random word, lowest first."""
    lanes = torch.arange(32, device=words.device)
    bits = (words.unsqueeze(1) >> lanes) & 1
    return 1.0 - 2.0 * bits.view(-1)[:n].to(torch.float32)


def bits_for(codes: int) -> int:
    """Bits that tell this many codes apart."""
    return max(1, math.ceil(math.log2(codes)))
