"""Random subsets with a bitmap instead of sorting; truth: `Stream.choice` in core/rng.py.

Few of many: indices are drawn until k different ones were seen, each marked in a bitmap, which is then read in order.
Many: the k smallest of n random words (of equal ones the first).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    get_i32,
    get_u64,
    mix,
    put_i32,
    put_i64,
    put_u64,
    scratch,
    trailing_ones,
    zero_bytes,
)
from laconic.kernels.cpu.quantize import signed_key, started

U32, U64 = np.uint32, np.uint64
BINS = 4096


@part
def word_at(key: Any, j: Any) -> Any:
    """The j-th random word of a stream."""
    z = U64(key) + U64(j >> 16) + U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    z ^= z >> U64(31)
    return mix(started(z), j & 0xFFFF)


@kernel("void(int64, int64, int64, int64, int64)")
def draw_few(key: Any, n: Any, k: Any, bitmap: Any, out: Any) -> None:
    seen, j = 0, 0
    while seen < k:
        at = np.int64((U64(word_at(key, j)) * U64(n)) >> U64(32))
        j += 1
        bits, bit = get_u64(bitmap, at >> 6), U64(1) << U64(at & 63)
        seen += (bits & bit) == U64(0)
        put_u64(bitmap, at >> 6, bits | bit)
    count = 0
    for w in range((n + 63) // 64):
        bits = get_u64(bitmap, w)
        while bits != U64(0):
            put_i64(out, count, 64 * w + np.int64(trailing_ones(~bits)))
            bits &= bits - U64(1)
            count += 1


@kernel("void(int64, int64, int64, int64)")
def draw_many(key: Any, n: Any, k: Any, out: Any) -> None:
    bins = scratch(4 * 4096)
    low, shift, need = U64(0), 20, k
    while True:  # the bin that holds the k-th smallest word, refined to one value
        zero_bytes(bins, 4 * BINS)
        top = U64(1) << U64(min(shift + 12, 32))
        for j in range(n):
            v = U64(word_at(key, j)) - low
            if v < top:
                into = np.int64(v >> U64(shift))
                put_i32(bins, into, get_i32(bins, into) + 1)
        b = 0
        while get_i32(bins, b) < need:
            need -= get_i32(bins, b)
            b += 1
        low += U64(b) << U64(shift)
        if shift == 0:
            break
        shift = max(0, shift - 12)
    count = 0
    for j in range(n):
        v = U64(word_at(key, j))
        tie = v == low
        if v < low or (tie and need > 0):
            put_i64(out, count, j)
            count += 1
        need -= tie


def subset(x: Tensor, stream: Stream, k: int) -> Tensor:
    n = x.numel()
    assert 0 <= k <= n, f"cannot choose {k} of {n}"
    out = torch.empty(k, dtype=torch.int64)
    if k == 0:
        return out
    if 8 * k >= n:
        draw_many(signed_key(stream), n, k, out.data_ptr())
    else:
        bitmap = torch.zeros(-(-n // 64), dtype=torch.int64)
        draw_few(signed_key(stream), n, k, bitmap.data_ptr(), out.data_ptr())
    return out
