"""Signs and mean magnitudes in one pass over memory; truth: plain/sign.py.

32 signs are taken at once by a compare whose result is moved out of the vector as bits, in their natural order. Blocks
are multiples of 8 elements (or one block holds everything), so that every block's bits start at a byte.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    add_signs32,
    get_f32,
    get_u8,
    get_u32,
    positive32,
    put_f32,
    put_signs32,
    put_u8,
    put_u32,
    signed_as,
    wide,
)
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.cpu.quantize import add_vectors
from laconic.kernels.cpu.sums import abs_sum, with_sums

CHUNK = 1024  # elements between two looks at the clock of threads; any multiple of 32
F = np.float32


# ------------------------------------------------------------- parts


@part
def write_means(x: Any, scale: Any, block: Any, first: Any, last: Any, sums: Any) -> None:
    """Mean magnitudes of the blocks of x[first:last]."""
    b = first // block
    for at in range(first, last, block):
        size = min(block, last - at)
        put_f32(scale, b, F(abs_sum(x + 4 * at, size, sums) / size))
        b += 1


@part
def write_signs(x: Any, packed: Any, n: Any) -> None:
    """One bit an element; nothing is written beyond the last byte."""
    wide()
    words = n // 32
    for k in range(words):
        put_u32(packed, k, positive32(x, 32 * k))
    for byte in range(4 * words, (n + 7) // 8):
        bits = 0
        for i in range(8 * byte, min(8 * byte + 8, n)):
            bits |= (get_f32(x, i) >= F(0)) << (i & 7)
        put_u8(packed, byte, bits)


@part
def subtract_signs(x: Any, n: Any, m: Any) -> None:
    wide()
    for i in range(n):
        v = get_f32(x, i)
        put_f32(x, i, v - signed_as(v, m))


@part
def add_signs(total: Any, packed: Any, n: Any, m: Any) -> None:
    """total[i] += +-m, by bit i."""
    wide()
    for k in range(n // 32):
        add_signs32(total, 32 * k, get_u32(packed, k), m)
    for i in range(n // 32 * 32, n):
        put_f32(total, i, get_f32(total, i) + (m if get_u8(packed, i >> 3) >> (i & 7) & 1 else -m))


@part
def put_signs(out: Any, packed: Any, n: Any, m: Any) -> None:
    wide()
    for k in range(n // 32):
        put_signs32(out, 32 * k, get_u32(packed, k), m)
    for i in range(n // 32 * 32, n):
        put_f32(out, i, m if get_u8(packed, i >> 3) >> (i & 7) & 1 else -m)


# ------------------------------------------------------------- kernels


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def sign_units(
    x: Any, n: Any, scale: Any, packed: Any, block: Any, unit: Any, sums: Any, start: Any, stop: Any
) -> None:
    for u in range(start, stop):
        first, last = u * unit, min((u + 1) * unit, n)
        write_means(x, scale, block, first, last, sums)
        write_signs(x + 4 * first, packed + first // 8, last - first)


@kernel("void(int64, int64, float32, int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def sign_keep_units(
    x: Any,
    residual: Any,
    damping: Any,
    left: Any,
    n: Any,
    scale: Any,
    packed: Any,
    block: Any,
    unit: Any,
    sums: Any,
    start: Any,
    stop: Any,
) -> None:
    for u in range(start, stop):
        first, last = u * unit, min((u + 1) * unit, n)
        add_vectors(x + 4 * first, residual + 4 * first, left + 4 * first, last - first)
        write_means(left, scale, block, first, last, sums)
        write_signs(left + 4 * first, packed + first // 8, last - first)
        b = first // block
        for at in range(first, last, block):
            subtract_signs(left + 4 * at, min(block, last - at), get_f32(scale, b) * damping)
            b += 1


@kernel("void(int64, int64, int64, int64, int64, float32, int64, int64, int64)")
def unsign_chunks(
    total: Any, n: Any, scale: Any, packed: Any, block: Any, weight: Any, add: Any, start: Any, stop: Any
) -> None:
    at, last = start * CHUNK, min(stop * CHUNK, n)
    while at < last:
        b = at // block
        end = min(last, (b + 1) * block)
        m = get_f32(scale, b) * weight
        if add:
            add_signs(total + 4 * at, packed + at // 8, end - at, m)
        else:
            put_signs(total + 4 * at, packed + at // 8, end - at, m)
        at = end


# ------------------------------------------------------------- on tensors


def sign_pack(x: Tensor, scale: Tensor, packed: Tensor, block: int) -> None:
    x = x.contiguous()
    n, unit = x.numel(), _unit(block, x.numel())
    into = (address(x, torch.float32), n, address(scale, torch.float32), address(packed, torch.uint8))

    with_sums(lambda sums, a, b: sign_units(*into, block, unit, sums, a, b), True, min(block, n), -(-n // unit), n)


def sign_keep(
    x: Tensor, residual: Tensor, left: Tensor, damping: float, scale: Tensor, packed: Tensor, block: int
) -> None:
    x, residual = x.contiguous(), residual.contiguous()
    n, unit = x.numel(), _unit(block, x.numel())
    memory = (address(x, torch.float32), address(residual, torch.float32), damping, address(left, torch.float32), n)
    into = (address(scale, torch.float32), address(packed, torch.uint8))

    def work(sums: int, start: int, stop: int) -> None:
        sign_keep_units(*memory, *into, block, unit, sums, start, stop)

    with_sums(work, True, min(block, n), -(-n // unit), n)


def _unit(block: int, n: int) -> int:
    """Whole blocks that begin at a word of 32 bits."""
    assert block % 8 == 0 or block >= n, "blocks of signs begin at a byte"
    return max(n, 1) if block >= n else math.lcm(block, 32)


def sign_unpack(out: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(out, scale, packed, block, weight, 0)


def sign_add(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(total, scale, packed, block, weight, 1)


def _unpack(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float, add: int) -> None:
    scale, packed, n = scale.contiguous(), packed.contiguous(), total.numel()
    of = (address(total, torch.float32), n, address(scale, torch.float32), address(packed, torch.uint8))
    spread(lambda a, b: unsign_chunks(*of, block, weight, add, a, b), -(-n // CHUNK), n)
