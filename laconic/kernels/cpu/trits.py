"""Three levels in base 3; truth: plain/trits.py. Levels and values by the parts of quantize.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    copy_bytes,
    get_f32,
    get_u8,
    get_u64,
    put_u8,
    put_u64,
    scratch,
    trit,
    wide,
    zero_bytes,
)
from laconic.kernels.cpu.pack import CHUNK
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.cpu.quantize import decode_chunk, exponent_of, level_chunk, signed_key
from laconic.kernels.plain.trits import GROUP, LANES, LONGEST, ZEROS, trit_bytes

U16 = np.uint16


@part
def join(codes: Any, out: Any) -> None:
    """512 bytes of 2560 codes, 8 bytes at a time: 3 (3 (3 (3 c4 + c3) + c2) + c1) + c0 stays below 256."""
    wide()
    for j in range(LANES // 8):
        v = get_u64(codes, j + 256)
        v = v + v + v + get_u64(codes, j + 192)
        v = v + v + v + get_u64(codes, j + 128)
        v = v + v + v + get_u64(codes, j + 64)
        put_u64(out, j, v + v + v + get_u64(codes, j))


@part
def join_rest(codes: Any, count: Any, out: Any) -> None:
    """The last group: zeros stand behind its codes."""
    lanes = (count + 4) // 5
    for j in range(lanes):
        v = 0
        for k in range(4, -1, -1):
            v = 3 * v + get_u8(codes, k * lanes + j)
        put_u8(out, j, v)


@part
def digits(packed: Any, codes: Any, n: Any, factor: Any, shift: Any) -> None:
    wide()
    for j in range(n):
        put_u8(codes, j, trit(get_u8(packed, j), factor, shift))


@part
def split(packed: Any, codes: Any, lanes: Any) -> None:
    """Codes of `lanes` bytes: floor(v / 3^k) for v < 243 by a product and a shift, then mod 3."""
    digits(packed, codes, lanes, U16(1), U16(0))
    digits(packed, codes + lanes, lanes, U16(171), U16(9))
    digits(packed, codes + 2 * lanes, lanes, U16(57), U16(9))
    digits(packed, codes + 3 * lanes, lanes, U16(19), U16(9))
    digits(packed, codes + 4 * lanes, lanes, U16(203), U16(14))


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def ternary_groups(
    x: Any, n: Any, scale: Any, scales: Any, packed: Any, key: Any, block: Any, start: Any, stop: Any
) -> None:
    codes, rest, shift = scratch(2592), scratch(2048), exponent_of(block)
    for group in range(start, stop):
        first = group * GROUP
        count = min(GROUP, n - first)
        for at in range(first, first + count, CHUNK):
            size = min(CHUNK, first + count - at)
            if size == CHUNK:
                level_chunk(x + 4 * at, at, scale, scales, block, shift, key, 2, True, codes + at - first)
            else:
                zero_bytes(rest, 2048)
                copy_bytes(rest, x + 4 * at, 4 * size)
                level_chunk(rest, at, scale, scales, block, shift, key, 2, True, codes + at - first)
        if count == GROUP:
            join(codes, packed + group * LANES)
        else:
            zero_bytes(codes + count, GROUP + 32 - count)
            join_rest(codes, count, packed + group * LANES)


@part
def nearest_run(x: Any, codes: Any, n: Any, edge: Any) -> None:
    wide()
    for j in range(n):
        v = get_f32(x, j)
        put_u8(codes, j, np.uint8(1) + np.uint8(v > edge) - np.uint8(v < -edge))


@kernel("void(int64, int64, int64, int64, int64, int64, int64)")
def nearest_groups(x: Any, n: Any, edge: Any, packed: Any, block: Any, start: Any, stop: Any) -> None:
    codes = scratch(2592)
    for group in range(start, stop):
        first = group * GROUP
        count = min(GROUP, n - first)
        at = first
        while at < first + count:
            b = at // block
            size = min((b + 1) * block, first + count) - at
            nearest_run(x + 4 * at, codes + at - first, size, get_f32(edge, b))
            at += size
        if count == GROUP:
            join(codes, packed + group * LANES)
        else:
            zero_bytes(codes + count, GROUP + 32 - count)
            join_rest(codes, count, packed + group * LANES)


@kernel("int64(int64, int64, int64)")
def shorten(packed: Any, n: Any, out: Any) -> Any:
    count, at = 0, 0
    while at < n:
        v, run = get_u8(packed, at), 1
        if v == ZEROS:
            while run < LONGEST and at + run < n and get_u8(packed, at + run) == ZEROS:
                run += 1
            if run > 1:
                v = np.uint8(241 + run)
        put_u8(out, count, v)
        count += 1
        at += run
    return count


@kernel("int64(int64, int64, int64, int64)")
def lengthen(short: Any, n: Any, out: Any, room: Any) -> Any:
    """How many bytes there are, up to the first that does not fit."""
    count = 0
    for i in range(n):
        v = get_u8(short, i)
        times = np.int64(v) - 241 if v > 242 else 1
        if count + times > room:
            return room + 1
        for _ in range(times):
            put_u8(out, count, np.uint8(ZEROS) if v > 242 else v)
            count += 1
    return count


@kernel("void(int64, int64, int64, int64, int64, float32, int64, int64, int64)")
def unternary_groups(
    total: Any, n: Any, scale: Any, packed: Any, block: Any, weight: Any, add: Any, start: Any, stop: Any
) -> None:
    codes, shift = scratch(2592), exponent_of(block)
    for group in range(start, stop):
        first = group * GROUP
        count = min(GROUP, n - first)
        split(packed + group * LANES, codes, (count + 4) // 5)
        for at in range(first, first + count, CHUNK):
            size = min(CHUNK, first + count - at)
            decode_chunk(total, codes + at - first, at, size, scale, 2, block, shift, weight, add)


def ternary(x: Tensor, scale: Tensor, packed: Tensor, stream: Stream, block: int) -> None:
    x, n = x.contiguous(), x.numel()
    of = (address(x, torch.float32), n, address(scale, torch.float32), scale.numel(), address(packed, torch.uint8))
    spread(lambda a, b: ternary_groups(*of, signed_key(stream), block, a, b), -(-n // GROUP), n)


def nearest_trits(x: Tensor, edge: Tensor, packed: Tensor, block: int) -> None:
    x, edge, n = x.contiguous(), edge.contiguous(), x.numel()
    of = (address(x, torch.float32), n, address(edge, torch.float32), address(packed, torch.uint8))
    spread(lambda a, b: nearest_groups(*of, block, a, b), -(-n // GROUP), n)


def shorten_zero_runs(packed: Tensor) -> Tensor:
    packed, out = packed.contiguous(), torch.empty_like(packed)
    return out[: shorten(address(packed, torch.uint8), packed.numel(), out.data_ptr())]


def restore_zero_runs(short: Tensor, nbytes: int) -> Tensor | None:
    short, out = short.contiguous(), torch.empty(nbytes, dtype=torch.uint8)
    found = lengthen(address(short, torch.uint8), short.numel(), out.data_ptr(), nbytes)
    return out if found == nbytes else None


def ternary_unpack(out: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(out, scale, packed, block, weight, 0)


def ternary_add(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float) -> None:
    _unpack(total, scale, packed, block, weight, 1)


def _unpack(total: Tensor, scale: Tensor, packed: Tensor, block: int, weight: float, add: int) -> None:
    scale, packed, n = scale.contiguous(), packed.contiguous(), total.numel()
    assert packed.numel() == trit_bytes(n), "five elements a byte"
    of = (address(total, torch.float32), n, address(scale, torch.float32), address(packed, torch.uint8))
    spread(lambda a, b: unternary_groups(*of, block, weight, add, a, b), -(-n // GROUP), n)
