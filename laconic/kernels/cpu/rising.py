"""Elias-Fano in one pass over the indices, whole words at a time; layout and truth: plain/rising.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel
from laconic.kernels.cpu.lanes import (
    get_i32,
    get_u32,
    get_u64,
    put_i32,
    put_u32,
    trailing_zeros,
    without_lowest_bit,
)
from laconic.kernels.cpu.pool import address
from laconic.kernels.plain.pack import packed_bytes
from laconic.kernels.plain.rising import low_bits, plane_bits

SLACK = 8  # bytes behind each part: words are written and read whole
U32, U64 = np.uint32, np.uint64
_LOW = U64(0xFFFFFFFF)


@kernel("void(int64, int64, int64, int64, int64)")
def rise(index: Any, k: Any, b: Any, low: Any, plane: Any) -> None:
    """`plane` holds zeros."""
    mask = (U64(1) << U64(b)) - U64(1)
    held, bits, at = U64(0), U64(0), 0
    for j in range(k):
        u = np.int64(get_i32(index, j)) - j
        held |= (U64(u) & mask) << bits
        bits += U64(b)
        if bits >= U64(32):
            put_u32(low, at, U32(held & _LOW))
            held >>= U64(32)
            bits -= U64(32)
            at += 1
        one = (u >> b) + j
        put_u32(plane, one >> 5, get_u32(plane, one >> 5) | (U32(1) << U32(one & 31)))
    put_u32(low, at, U32(held & _LOW))


@kernel("int64(int64, int64, int64, int64, int64, int64, int64)")
def fall(low: Any, plane: Any, bits: Any, k: Any, b: Any, most: Any, index: Any) -> Any:
    """How many indices were read; -1 where one is not in order, outside, or one too many."""
    mask = (U64(1) << U64(b)) - U64(1)
    j, before = 0, 0
    for w in range((bits + 31) >> 5):
        word = get_u32(plane, w)
        while word != 0:
            one = 32 * w + np.int64(trailing_zeros(word))
            word = without_lowest_bit(word)
            if j >= k or one >= bits:
                return -1
            start = j * b
            window = get_u64(low + 4 * (start >> 5), 0) >> U64(start & 31)
            u = (one - j) << b | np.int64(window & mask)
            if u < before or u > most:
                return -1
            before = u
            put_i32(index, j, u + j)
            j += 1
    return j


def rising_pack(at: Tensor, numel: int) -> Tensor:
    k, index = at.numel(), at.to(torch.int32).contiguous()
    b = low_bits(numel, k)
    cut, end = packed_bytes(k, b), packed_bytes(plane_bits(numel, k), 1)
    low, plane = torch.empty(cut + SLACK, dtype=torch.uint8), torch.zeros(end + SLACK, dtype=torch.uint8)
    rise(address(index, torch.int32), k, b, low.data_ptr(), plane.data_ptr())
    return torch.cat([low[:cut], plane[:end]])


def rising_unpack(stream: Tensor, k: int, numel: int) -> Tensor | None:
    b = low_bits(numel, k)
    cut = packed_bytes(k, b)
    low, plane = (torch.cat([part, part.new_zeros(SLACK)]) for part in (stream[:cut], stream[cut:]))
    index = torch.empty(k, dtype=torch.int32)
    bits = 8 * (stream.numel() - cut)
    read = fall(low.data_ptr(), plane.data_ptr(), bits, k, b, numel - k, index.data_ptr())
    return index if read == k else None
