"""Dense packing of small codes, and vectors cut into blocks.

Packing is little-endian and dense: code j of width b occupies bits jb .. jb+b-1 of the byte stream.
"""

from __future__ import annotations

import torch
from torch import Tensor


def packed_bytes(n: int, bits: int) -> int:
    return -(-n * bits // 8)


def pack(codes: Tensor, bits: int) -> Tensor:
    """n codes below 2**bits (uint8) -> ceil(n bits / 8) bytes."""
    n = codes.numel()
    if bits == 8:
        return codes
    per = 8 // bits if bits in (1, 2, 4) else 8
    rows = blocks(codes, per)
    if bits in (1, 2, 4):
        out = rows[:, 0].clone()
        for i in range(1, per):
            out |= rows[:, i] << (bits * i)
        return out
    words = torch.zeros(rows.shape[0], dtype=torch.int64, device=codes.device)
    for i in range(8):
        words |= rows[:, i].to(torch.int64) << (bits * i)
    columns = [((words >> (8 * j)) & 0xFF).to(torch.uint8) for j in range(bits)]
    return torch.stack(columns, dim=1).view(-1)[: packed_bytes(n, bits)]


def unpack(packed: Tensor, bits: int, n: int) -> Tensor:
    """The inverse of `pack`: n uint8 codes."""
    if bits == 8:
        return packed
    mask = (1 << bits) - 1
    if bits in (1, 2, 4):
        columns = [(packed >> (bits * i)) & mask for i in range(8 // bits)]
        return torch.stack(columns, dim=1).view(-1)[:n]
    rows = blocks(packed, bits)
    words = torch.zeros(rows.shape[0], dtype=torch.int64, device=packed.device)
    for j in range(bits):
        words |= rows[:, j].to(torch.int64) << (8 * j)
    codes = [((words >> (bits * i)) & mask).to(torch.uint8) for i in range(8)]
    return torch.stack(codes, dim=1).view(-1)[:n]


def _pad(x: Tensor, multiple: int) -> Tensor:
    short = -x.numel() % multiple
    return torch.nn.functional.pad(x, (0, short)) if short else x


def blocks(x: Tensor, block: int) -> Tensor:
    """x as rows of `block` elements, the last row filled with zeros."""
    return _pad(x, block).view(-(-x.numel() // block), block)
