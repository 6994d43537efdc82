"""Quantize + pack and unpack + accumulate in one pass over memory; truth: plain/quantize.py.

Work is done in chunks of 512 elements, which is how random numbers are dealt (one hash serves elements j and 256 + j)
and what fits into the first-level cache; a unit of work is the shortest run of whole blocks and whole chunks. Element
positions are those of the whole vector, so any split into units gives the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    as_bits,
    as_float,
    clipped32,
    clipped_high,
    clipped_low,
    copy_bytes,
    get_f32,
    get_u8,
    get_u32,
    larger_magnitude,
    level_high,
    level_low,
    levels32,
    mix,
    prefetch,
    put_f32,
    put_u8,
    scratch,
    value,
    wide,
    zero_bytes,
)
from laconic.kernels.cpu.pack import CHUNK, pack_chunk, unpack_chunk
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.cpu.sums import square_sum, with_sums
from laconic.kernels.plain.quantize import LIFT, LIFT_BELOW

HALF = CHUNK // 2
RUN = 64  # elements of either half between two prefetches
AHEAD = 2 * CHUNK
MAX, L2, GIVEN = 0, 1, 2
NORMS = {"max": MAX, "l2": L2}
F, U32, U64 = np.float32, np.uint32, np.uint64
_TOP = float(np.finfo(np.float32).max)


# ------------------------------------------------------------- parts


@part
def started(z: Any) -> Any:
    """key ^ (key >> 16), where key is the upper half of z."""
    return U32(z >> U64(32)) ^ U32(z >> U64(48))


@part
def key_of(key: Any, chunk: Any) -> Any:
    """What is mixed with j for the chunk's random numbers: splitmix64 as in core/rng.py, and the start of `mix`."""
    z = U64(key) + U64(chunk >> 8) + U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    z ^= z >> U64(31)
    return started(z) ^ U32((chunk & 255) * HALF)


@part
def largest_magnitude(x: Any, n: Any) -> Any:
    wide()
    most = U32(0)
    for j in range(n):
        most = larger_magnitude(most, get_u32(x, j))
    return as_float(most)


@part
def exponent_of(block: Any) -> Any:
    """log2 of a power of two, else -1."""
    shift = 0
    while (1 << shift) < block:
        shift += 1
    return shift if (1 << shift) == block else -1


@part
def block_at(position: Any, block: Any, shift: Any) -> Any:
    """position // block: a division takes as long as sixteen elements."""
    return position >> shift if shift >= 0 else position // block


@part
def write_scales(x: Any, scale: Any, block: Any, norm: Any, first: Any, last: Any, b: Any, sums: Any) -> None:
    """Scales of the blocks of x[first:last], the first of which is number b."""
    for at in range(first, last, block):
        size = min(block, last - at)
        if norm == MAX:
            put_f32(scale, b, largest_magnitude(x + 4 * at, size))
        else:
            total = math.sqrt(square_sum(x + 4 * at, size, sums))
            put_f32(scale, b, F(_TOP) if _TOP < total < np.inf else F(total))
        b += 1


@part
def level_run(
    x0: Any, x1: Any, codes: Any, n: Any, word: Any, j: Any, by0: Any, by1: Any, up: Any, base: Any, top: Any
) -> None:
    """Codes of n elements of either half."""
    wide()
    if n == RUN:
        for i in range(0, RUN, 32):
            levels32(x0 + 4 * i, x1 + 4 * i, codes + i, word, j + i, by0, by1, up, base, top)
        return
    other = codes + HALF
    for i in range(n):
        r = mix(word, j + i)
        put_u8(codes, i, level_low(get_f32(x0, i), by0, r, up, base, top))
        put_u8(other, i, level_high(get_f32(x1, i), by1, r, up, base, top))


@part
def clipped_run(
    x0: Any,
    x1: Any,
    codes: Any,
    n: Any,
    word: Any,
    j: Any,
    by0: Any,
    by1: Any,
    up: Any,
    base: Any,
    top: Any,
    lift0: Any,
    lift1: Any,
) -> None:
    """The same where scales are tiny, or smaller than elements."""
    wide()
    if n == RUN and lift0 == F(1) and lift1 == F(1):
        for i in range(0, RUN, 32):
            clipped32(x0 + 4 * i, x1 + 4 * i, codes + i, word, j + i, by0, by1, up, base, top)
        return
    other = codes + HALF
    for i in range(n):
        r = mix(word, j + i)
        put_u8(codes, i, clipped_low(get_f32(x0, i) * lift0, by0, r, up, base, top))
        put_u8(other, i, clipped_high(get_f32(x1, i) * lift1, by1, r, up, base, top))


@part
def level_chunk(
    x: Any, at: Any, scale: Any, scales: Any, block: Any, shift: Any, key: Any, bits: Any, clip: Any, codes: Any
) -> None:
    """Codes of the 512 elements at address x, which stand at position `at` of the vector."""
    s = F((1 << (bits - 1)) - 1)
    up = U32(9 - bits)
    base = as_bits(s) | (U32(1) << (up - U32(1)))
    top = s + s + F(0.5)
    word = key_of(key, at // CHUNK)
    j = 0
    while j < HALF:  # runs in which both halves keep their block
        b0, b1 = block_at(at + j, block, shift), block_at(at + HALF + j, block, shift)
        end = min(HALF, (b0 + 1) * block - at, (b1 + 1) * block - at - HALF)
        m0, m1 = get_f32(scale, min(b0, scales - 1)), get_f32(scale, min(b1, scales - 1))  # behind the end: any
        lift0 = F(LIFT) if m0 < F(LIFT_BELOW) else F(1)
        lift1 = F(LIFT) if m1 < F(LIFT_BELOW) else F(1)
        by0 = F(0) if m0 == F(0) else s / (m0 * lift0)
        by1 = F(0) if m1 == F(0) else s / (m1 * lift1)
        while j < end:
            for i in range(0, 2 * RUN, 16):  # a few lines at a time: only so many can be under way
                prefetch(x, AHEAD + 2 * j + i)
            x0, x1, n = x + 4 * j, x + 4 * (HALF + j), min(RUN, end - j)
            if clip or lift0 != F(1) or lift1 != F(1):
                clipped_run(x0, x1, codes + j, n, word, j, by0, by1, up, base, top, lift0, lift1)
            else:
                level_run(x0, x1, codes + j, n, word, j, by0, by1, up, base, top)
            j += n


@part
def encode_chunk(
    x: Any,
    count: Any,
    at: Any,
    scale: Any,
    scales: Any,
    packed: Any,
    key: Any,
    bits: Any,
    block: Any,
    shift: Any,
    clip: Any,
    codes: Any,
) -> None:
    """Levels of x[at : at + count] to `codes`, and packed."""
    if count == CHUNK:
        level_chunk(x + 4 * at, at, scale, scales, block, shift, key, bits, clip, codes)
    else:  # the end of the vector: as if zeros followed
        rest = scratch(2048)
        zero_bytes(rest, 2048)
        copy_bytes(rest, x + 4 * at, 4 * count)
        level_chunk(rest, at, scale, scales, block, shift, key, bits, clip, codes)
        zero_bytes(codes + count, CHUNK - count)
    pack_chunk(codes, count, packed, at * bits // 8, bits)


@part
def step_of(scale: Any, bits: Any) -> Any:
    s = F((1 << (bits - 1)) - 1)
    step = scale / s
    return as_float(as_bits(step) - U32(1)) if step * s > scale else step


@part
def add_run(total: Any, codes: Any, n: Any, s: Any, step: Any) -> None:
    wide()
    for j in range(n):
        put_f32(total, j, get_f32(total, j) + value(get_u8(codes, j), s, step))


@part
def put_run(out: Any, codes: Any, n: Any, s: Any, step: Any) -> None:
    wide()
    for j in range(n):
        put_f32(out, j, value(get_u8(codes, j), s, step))


@part
def decode_chunk(
    total: Any,
    codes: Any,
    at: Any,
    count: Any,
    scale: Any,
    bits: Any,
    block: Any,
    shift: Any,
    weight: Any,
    add: Any,
) -> None:
    """total[at : at + count] += (or <-) weight * values."""
    s = F((1 << (bits - 1)) - 1)
    i = 0
    while i < count:
        b = block_at(at + i, block, shift)
        end = min(count, (b + 1) * block - at)
        step = step_of(get_f32(scale, b), bits) * weight
        if add:
            add_run(total + 4 * (at + i), codes + i, end - i, s, step)
        else:
            put_run(total + 4 * (at + i), codes + i, end - i, s, step)
        i = end


@part
def add_vectors(x: Any, y: Any, out: Any, n: Any) -> None:
    wide()
    for j in range(n):
        put_f32(out, j, get_f32(y, j) + get_f32(x, j))


# ------------------------------------------------------------- kernels

_VECTOR = "int64, int64, int64, int64, int64"  # what is encoded, its size, scale, its size, packed
_CODE = "int64, int64, int64, int64, int64"  # key, bits, block, norm, unit


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def scale_units(x: Any, n: Any, scale: Any, block: Any, norm: Any, unit: Any, sums: Any, start: Any, stop: Any) -> None:
    for u in range(start, stop):
        write_scales(x, scale, block, norm, u * unit, min((u + 1) * unit, n), u * (unit // block), sums)


@kernel(f"void(int64, int64, float32, {_VECTOR}, {_CODE}, int64, int64, int64)")
def quantize_units(
    x: Any,
    residual: Any,
    damping: Any,
    left: Any,
    n: Any,
    scale: Any,
    scales: Any,
    packed: Any,
    key: Any,
    bits: Any,
    block: Any,
    norm: Any,
    unit: Any,
    sums: Any,
    start: Any,
    stop: Any,
) -> None:
    """What is at `left` is encoded: x itself, or, where there is a residual, its sum with x, which is put there first.

    One kernel for both: what they share is most of it, and takes seconds to compile.
    """
    codes, shift = scratch(520), exponent_of(block)
    for u in range(start, stop):
        first, last = u * unit, min((u + 1) * unit, n)
        if residual != 0:
            add_vectors(x + 4 * first, residual + 4 * first, left + 4 * first, last - first)
        if norm != GIVEN:
            write_scales(left, scale, block, norm, first, last, block_at(first, block, shift), sums)
        for at in range(first, last, CHUNK):
            count = min(CHUNK, last - at)
            encode_chunk(left, count, at, scale, scales, packed, key, bits, block, shift, norm == GIVEN, codes)
            if residual != 0:
                decode_chunk(left, codes, at, count, scale, bits, block, shift, -damping, 1)


@kernel("void(int64, int64, int64, int64, int64, int64, float32, int64, int64, int64)")
def dequantize_chunks(
    total: Any, n: Any, scale: Any, packed: Any, bits: Any, block: Any, weight: Any, add: Any, start: Any, stop: Any
) -> None:
    codes, shift = scratch(520), exponent_of(block)
    for at in range(start * CHUNK, min(stop * CHUNK, n), CHUNK):
        count = min(CHUNK, n - at)
        unpack_chunk(packed, at * bits // 8, count, codes, bits)
        decode_chunk(total, codes, at, count, scale, bits, block, shift, weight, add)


# ------------------------------------------------------------- on tensors


def signed_key(stream: Stream) -> int:
    return stream.key - (1 << 64) if stream.key >> 63 else stream.key


def scales(x: Tensor, block: int, norm: str) -> Tensor:
    x, n = x.contiguous(), x.numel()
    scale, unit = torch.empty(-(-n // block)), block * max(1, CHUNK // block)
    a, out = address(x, torch.float32), scale.data_ptr()

    def work(sums: int, start: int, stop: int) -> None:
        scale_units(a, n, out, block, NORMS[norm], unit, sums, start, stop)

    with_sums(work, norm == "l2", min(block, n), -(-n // unit), n)
    return scale


def quantize(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int, norm: str) -> None:
    _quantize(x, scale, packed, stream, bits, block, NORMS[norm])


def quantize_to(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int) -> None:
    _quantize(x, scale, packed, stream, bits, block, GIVEN)


def _quantize(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, bits: int, block: int, norm: int) -> None:
    x = x.contiguous()
    n, unit = x.numel(), math.lcm(block, CHUNK)
    a, s = address(x, torch.float32), address(scale, torch.float32)
    into = (a, 0, 1.0, a, n, s, scale.numel(), address(packed, torch.uint8))
    code = (signed_key(stream), bits, block, norm, unit)

    with_sums(lambda sums, a, b: quantize_units(*into, *code, sums, a, b), norm == L2, min(block, n), -(-n // unit), n)


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
    x, residual = x.contiguous(), residual.contiguous()
    n, unit = x.numel(), math.lcm(block, CHUNK)
    memory = (address(x, torch.float32), address(residual, torch.float32), damping, address(left, torch.float32), n)
    into = (address(scale, torch.float32), scale.numel(), address(packed, torch.uint8))
    code = (signed_key(stream), bits, block, NORMS[norm], unit)

    def work(sums: int, start: int, stop: int) -> None:
        quantize_units(*memory, *into, *code, sums, start, stop)

    with_sums(work, norm == "l2", min(block, n), -(-n // unit), n)


def dequantize(out: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    _dequantize(out, scale, packed, bits, block, weight, 0)


def dequantize_add(total: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float) -> None:
    _dequantize(total, scale, packed, bits, block, weight, 1)


def _dequantize(total: Tensor, scale: Tensor, packed: Tensor, bits: int, block: int, weight: float, add: int) -> None:
    scale, packed, n = scale.contiguous(), packed.contiguous(), total.numel()
    of = (address(total, torch.float32), n, address(scale, torch.float32), address(packed, torch.uint8))
    spread(lambda a, b: dequantize_chunks(*of, bits, block, weight, add, a, b), -(-n // CHUNK), n)
