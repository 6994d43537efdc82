"""Rice codes of sorted indices, a 64-bit window at a time; format and truth: plain/rice.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import get_i32, get_u8, get_u64, put_i32, put_u8, put_u64, trailing_ones
from laconic.kernels.cpu.pool import address
from laconic.kernels.plain.rice import GROUP, LONG, damaged

U = np.uint64
SPARE = 16  # bytes behind the end that may be read or written


@part
def parameter(span: Any, count: Any) -> Any:
    """floor(log2(max(1, 0.69 span / count)))."""
    mean = 69 * span // (100 * count)
    k = 0
    while mean >> (k + 1) > 0:
        k += 1
    return k


@kernel("int64(int64, int64, int64)")
def rice_encode(at: Any, count: Any, out: Any) -> Any:
    """Returns the number of bytes; out needs 7 bytes an index and one a group, and some to spare."""
    one, long = U(1), U(LONG)
    before, byte = np.int64(-1), np.int64(0)
    for first in range(0, count, GROUP):
        last = min(first + GROUP, count)
        k = U(parameter(np.int64(get_i32(at, last - 1)) - before - (last - first), last - first))
        low = (one << k) - one
        put_u8(out, byte, k)
        byte += 1
        window, filled = U(0), U(0)  # bits not yet moved on from, at most 7
        for i in range(first, last):
            index = np.int64(get_i32(at, i))
            gap = U(index - before - 1)
            before = index
            q = gap >> k
            if q < long:
                code, length = ((one << q) - one) | ((gap & low) << (q + one)), q + one + k
            else:
                code, length = ((one << long) - one) | (gap << long), long + U(32)
            window |= code << filled  # 7 + 56 bits fit
            put_u64(out + byte, 0, window)
            filled += length
            byte += np.int64(filled >> U(3))
            window >>= filled & U(0x38)
            filled &= U(7)
        byte += filled > 0
    return byte


@kernel("int64(int64, int64, int64, int64, int64)")
def rice_decode(packed: Any, size: Any, count: Any, numel: Any, at: Any) -> Any:
    """Returns how many bytes were read, -1 where they do not hold ascending indices below numel."""
    one, long = U(1), U(LONG)
    before, byte = np.int64(-1), np.int64(0)
    for first in range(0, count, GROUP):
        k = U(get_u8(packed, byte))
        if byte >= size or k > U(31):
            return np.int64(-1)
        low, bit = (one << k) - one, U(0)
        start = packed + byte + 1
        for i in range(first, min(first + GROUP, count)):
            if byte + 1 + np.int64(bit >> U(3)) > size:
                return np.int64(-1)
            v = get_u64(start + np.int64(bit >> U(3)), 0) >> (bit & U(7))
            q = trailing_ones(v)
            if q < long:
                gap, length = (q << k) | ((v >> (q + one)) & low), q + one + k
            else:
                gap, length = (v >> long) & U(0xFFFFFFFF), long + U(32)
            bit += length
            before += 1 + np.int64(gap)
            if before >= numel:
                return np.int64(-1)
            put_i32(at, i, before)
        byte += 1 + np.int64((bit + U(7)) >> U(3))
    return byte


def rice_pack(at: Tensor) -> Tensor:
    at, count = at.to(torch.int32).contiguous(), at.numel()
    room = torch.empty(7 * count + -(-count // GROUP) + SPARE, dtype=torch.uint8)
    return room[: rice_encode(address(at, torch.int32), count, room.data_ptr())].clone()


def rice_unpack(packed: Tensor, count: int, numel: int) -> Tensor:
    padded = torch.zeros(packed.numel() + SPARE, dtype=torch.uint8)
    padded[: packed.numel()] = packed
    at = torch.empty(count, dtype=torch.int32)
    if rice_decode(padded.data_ptr(), packed.numel(), count, numel, at.data_ptr()) != packed.numel():
        raise damaged(count, numel)
    return at
