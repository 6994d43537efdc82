"""Dense packing, 8 codes at a time in one 64-bit word: bytes are squeezed together by pairs, fours and eights.

Layout and truth: plain/pack.py. Chunks of 512 codes are packed in the first-level cache, where quantizers leave them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    copy_bytes,
    get_u16,
    get_u32,
    get_u64,
    put_u16,
    put_u32,
    put_u64,
    scratch,
    wide,
    zero_bytes,
)
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.plain.pack import packed_bytes

CHUNK = 512
U = np.uint64
_PAIRS, _FOURS = U(0x0001000100010001), U(0x0000000100000001)


@part
def squeeze(codes: Any, words: Any, bits: Any, groups: Any) -> None:
    """Each 8 bytes below 2**bits -> the low 8 * bits bits of a word."""
    wide()
    b = U(bits)
    one, two, four = U(8) - b, U(16) - b - b, U(32) - U(4) * b
    low1, low2, low4 = ((U(1) << b) - U(1)) * _PAIRS, ((U(1) << (b + b)) - U(1)) * _FOURS, (U(1) << (U(4) * b)) - U(1)
    for j in range(groups):
        v = get_u64(codes, j)
        v = (v & low1) | ((v & (low1 << U(8))) >> one)
        v = (v & low2) | ((v & (low2 << U(16))) >> two)
        put_u64(words, j, (v & low4) | ((v & (low4 << U(32))) >> four))


@part
def stretch(words: Any, codes: Any, bits: Any, groups: Any) -> None:
    """The inverse: 8 * bits bits -> 8 bytes."""
    wide()
    b = U(bits)
    low1, low2, low4 = ((U(1) << b) - U(1)) * _PAIRS, ((U(1) << (b + b)) - U(1)) * _FOURS, (U(1) << (U(4) * b)) - U(1)
    for j in range(groups):
        v = get_u64(words, j)
        v = (v & low4) | (((v >> (U(4) * b)) & low4) << U(32))
        v = (v & low2) | (((v >> (b + b)) & low2) << U(16))
        put_u64(codes, j, (v & low1) | (((v >> b) & low1) << U(8)))


@part
def pack_4(codes: Any, out: Any, groups: Any) -> None:
    wide()
    for j in range(groups):
        v = get_u64(codes, j)
        v = (v | (v >> U(4))) & U(0x00FF00FF00FF00FF)
        v = (v | (v >> U(8))) & U(0x0000FFFF0000FFFF)
        put_u32(out, j, (v | (v >> U(16))) & U(0xFFFFFFFF))


@part
def pack_2(codes: Any, out: Any, groups: Any) -> None:
    wide()
    for j in range(groups):
        v = get_u64(codes, j)
        v = (v | (v >> U(6))) & U(0x000F000F000F000F)
        v = (v | (v >> U(12))) & U(0x000000FF000000FF)
        put_u16(out, j, (v | (v >> U(24))) & U(0xFFFF))


@part
def unpack_4(packed: Any, codes: Any, groups: Any) -> None:
    wide()
    for j in range(groups):
        v = U(get_u32(packed, j))
        v = (v | (v << U(16))) & U(0x0000FFFF0000FFFF)
        v = (v | (v << U(8))) & U(0x00FF00FF00FF00FF)
        put_u64(codes, j, (v | (v << U(4))) & U(0x0F0F0F0F0F0F0F0F))


@part
def unpack_2(packed: Any, codes: Any, groups: Any) -> None:
    wide()
    for j in range(groups):
        v = U(get_u16(packed, j))
        v = (v | (v << U(24))) & U(0x000000FF000000FF)
        v = (v | (v << U(12))) & U(0x000F000F000F000F)
        put_u64(codes, j, (v | (v << U(6))) & U(0x0303030303030303))


@part
def pack_chunk(codes: Any, count: Any, packed: Any, at: Any, bits: Any) -> None:
    """`count` codes (with zeros behind them up to a whole group) to packed + at, no byte more than they need."""
    spare = scratch(520)
    whole, size = count // 8, (count * bits + 7) // 8
    if bits == 8:
        copy_bytes(packed + at, codes, size)
    elif bits == 4:
        pack_4(codes, packed + at, whole)
        pack_4(codes + 8 * whole, spare, 1)
        copy_bytes(packed + at + 4 * whole, spare, size - 4 * whole)
    elif bits == 2:
        pack_2(codes, packed + at, whole)
        pack_2(codes + 8 * whole, spare, 1)
        copy_bytes(packed + at + 2 * whole, spare, size - 2 * whole)
    else:
        words = scratch(512)
        squeeze(codes, words, bits, (count + 7) // 8)
        for j in range((count + 7) // 8):  # each overwrites the empty bytes of the one before
            put_u64(spare + bits * j, 0, get_u64(words, j))
        copy_bytes(packed + at, spare, size)


@part
def unpack_chunk(packed: Any, at: Any, count: Any, codes: Any, bits: Any) -> None:
    """The inverse; writes whole groups."""
    spare = scratch(520)
    whole, size = count // 8, (count * bits + 7) // 8
    if bits == 8:
        copy_bytes(codes, packed + at, size)
    elif bits == 4:
        unpack_4(packed + at, codes, whole)
        copy_bytes(spare, packed + at + 4 * whole, size - 4 * whole)
        unpack_4(spare, codes + 8 * whole, (count & 7 != 0) * 1)
    elif bits == 2:
        unpack_2(packed + at, codes, whole)
        copy_bytes(spare, packed + at + 2 * whole, size - 2 * whole)
        unpack_2(spare, codes + 8 * whole, (count & 7 != 0) * 1)
    else:
        words = scratch(512)
        copy_bytes(spare, packed + at, size)
        for j in range((count + 7) // 8):
            put_u64(words, j, get_u64(spare + bits * j, 0))
        stretch(words, codes, bits, (count + 7) // 8)


@kernel("void(int64, int64, int64, int64, int64, int64)")
def pack_chunks(codes: Any, packed: Any, n: Any, bits: Any, start: Any, stop: Any) -> None:
    buffer = scratch(520)
    for at in range(start * CHUNK, min(stop * CHUNK, n), CHUNK):
        count = min(CHUNK, n - at)
        zero_bytes(buffer, 520)
        copy_bytes(buffer, codes + at, count)
        pack_chunk(buffer, count, packed, at * bits // 8, bits)


@kernel("void(int64, int64, int64, int64, int64, int64)")
def unpack_chunks(packed: Any, codes: Any, n: Any, bits: Any, start: Any, stop: Any) -> None:
    buffer = scratch(520)
    for at in range(start * CHUNK, min(stop * CHUNK, n), CHUNK):
        count = min(CHUNK, n - at)
        unpack_chunk(packed, at * bits // 8, count, buffer, bits)
        copy_bytes(codes + at, buffer, count)


def pack(codes: Tensor, bits: int) -> Tensor:
    n = codes.numel()
    if bits == 8:
        return codes
    out = torch.empty(packed_bytes(n, bits), dtype=torch.uint8)
    a, b = address(codes := codes.contiguous(), torch.uint8), address(out, torch.uint8)
    spread(lambda start, stop: pack_chunks(a, b, n, bits, start, stop), -(-n // CHUNK), n)
    return out


def unpack(packed: Tensor, bits: int, n: int) -> Tensor:
    if bits == 8:
        return packed
    out = torch.empty(n, dtype=torch.uint8)
    a, b = address(packed := packed.contiguous(), torch.uint8), address(out, torch.uint8)
    spread(lambda start, stop: unpack_chunks(a, b, n, bits, start, stop), -(-n // CHUNK), n)
    return out
