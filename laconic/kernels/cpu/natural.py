"""Powers of two by chance, in one pass over memory; truth: plain/natural.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    add_powers32,
    copy_bytes,
    get_f32,
    get_u8,
    get_u32,
    mix,
    negative32,
    power_high,
    power_low,
    power_of,
    prefetch,
    put_f32,
    put_powers32,
    put_u8,
    put_u32,
    scratch,
    wide,
    zero_bytes,
)
from laconic.kernels.cpu.pack import CHUNK
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.cpu.quantize import AHEAD, HALF, key_of, signed_key

RUN = 64  # elements of either half between two prefetches


@part
def exponent_run(x: Any, codes: Any, word: Any, j: Any) -> None:
    wide()
    for i in range(RUN):
        r = mix(word, j + i)
        put_u8(codes, j + i, power_low(get_u32(x, j + i), r))
        put_u8(codes, HALF + j + i, power_high(get_u32(x, HALF + j + i), r))


@part
def natural_chunk(x: Any, codes: Any, chunk: Any, key: Any) -> None:
    """512 codes of the 512 elements at address x."""
    word = key_of(key, chunk)
    for j in range(0, HALF, RUN):
        for i in range(0, 2 * RUN, 16):
            prefetch(x, AHEAD + 2 * j + i)
        exponent_run(x, codes, word, j)


@kernel("void(int64, int64, int64, int64, int64, int64, int64)")
def natural_chunks(x: Any, n: Any, codes: Any, packed: Any, key: Any, start: Any, stop: Any) -> None:
    """`packed`: the plane of signs."""
    rest, spare = scratch(2048), scratch(512)
    for at in range(start * CHUNK, min(stop * CHUNK, n), CHUNK):
        count = min(CHUNK, n - at)
        here = x + 4 * at
        if count < CHUNK:
            zero_bytes(rest, 2048)
            copy_bytes(rest, here, 4 * count)
            here = rest
        out = codes + at if count == CHUNK else spare
        natural_chunk(here, out, at // CHUNK, key)
        if count < CHUNK:
            copy_bytes(codes + at, spare, count)
        for k in range(CHUNK // 32):
            put_u32(spare, k, negative32(here, 32 * k))
        copy_bytes(packed + at // 8, spare, (count + 7) // 8)


@kernel("void(int64, int64, int64, int64, float32, int64, int64, int64)")
def unnatural_chunks(total: Any, n: Any, codes: Any, packed: Any, weight: Any, add: Any, start: Any, stop: Any) -> None:
    wide()
    first = start * CHUNK
    t, c, s, count = total + 4 * first, codes + first, packed + first // 8, min(stop * CHUNK, n) - first
    if add:
        for k in range(count // 32):
            add_powers32(t, c, 32 * k, get_u32(s, k), weight)
    else:
        for k in range(count // 32):
            put_powers32(t, c, 32 * k, get_u32(s, k), weight)
    for j in range(count // 32 * 32, count):
        v = power_of(get_u8(c, j), get_u8(s, j // 8), j) * weight
        put_f32(t, j, get_f32(t, j) + v if add else v)


def natural_pack(x: Tensor, exponent: Tensor, packed: Tensor, stream: Stream) -> None:
    x, key = x.contiguous(), signed_key(stream)
    of = (address(x, torch.float32), x.numel(), address(exponent, torch.uint8), address(packed, torch.uint8))
    spread(lambda a, b: natural_chunks(*of, key, a, b), -(-x.numel() // CHUNK), x.numel())


def natural_unpack(out: Tensor, exponent: Tensor, packed: Tensor, weight: float) -> None:
    _unpack(out, exponent, packed, weight, 0)


def natural_add(total: Tensor, exponent: Tensor, packed: Tensor, weight: float) -> None:
    _unpack(total, exponent, packed, weight, 1)


def _unpack(total: Tensor, exponent: Tensor, packed: Tensor, weight: float, add: int) -> None:
    exponent, packed, n = exponent.contiguous(), packed.contiguous(), total.numel()
    of = (address(total, torch.float32), n, address(exponent, torch.uint8), address(packed, torch.uint8))
    spread(lambda a, b: unnatural_chunks(*of, weight, add, a, b), -(-n // CHUNK), n)
