"""Several sparse vectors added up into one dense one, which is written once; truth: plain/merge.py.

Indices rise in each, so the sum is made block by block in the first-level cache and leaves past the caches. Adding one
vector after the other would fetch a cache line of the dense one for nearly every element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    arrive,
    get_f32,
    get_i32,
    get_i64,
    put_f32,
    put_i64,
    scratch,
    stream_copy32,
    wide,
    zero_bytes,
)
from laconic.kernels.cpu.pool import address
from laconic.kernels.cpu.sweep import FINITE, LARGE, head

BLOCK = 4096  # elements: half of a small first-level cache
COLUMNS = 4  # of the table: where a vector's indices and values are, how many, and how many were added so far


@part
def fill(block: Any, start: Any, stop: Any, table: Any, vectors: Any, weight: Any) -> None:
    """Elements start .. stop - 1 of the sum, into `block`."""
    zero_bytes(block, 4 * (stop - start))
    for r in range(vectors):
        row = COLUMNS * r
        at, values = get_i64(table, row), get_i64(table, row + 1)
        count, i = get_i64(table, row + 2), get_i64(table, row + 3)
        while i < count:
            j = np.int64(get_i32(at, i))
            if j >= stop:
                break
            put_f32(block, j - start, get_f32(block, j - start) + get_f32(values, i) * weight)
            i += 1
        put_i64(table, row + 3, i)


@kernel("void(int64, int64, int64, int64, float32)")
def merge_rising(out: Any, n: Any, table: Any, vectors: Any, weight: Any) -> None:
    wide()
    block = scratch(4 * 4096)
    first = head(out, n) if n >= LARGE else 0
    if first > 0:
        fill(out, 0, first, table, vectors, weight)
    start = first
    while n >= LARGE and start + BLOCK <= n:
        fill(block, start, start + BLOCK, table, vectors, weight)
        for i in range(0, BLOCK, 32):
            stream_copy32(block, out + 4 * start, i, FINITE)
        start += BLOCK
    arrive()
    if start < n:
        fill(out + 4 * start, start, n, table, vectors, weight)


def merge(out: Tensor, ats: Sequence[Tensor], values: Sequence[Tensor], weight: float) -> None:
    ats, values = [t.contiguous() for t in ats], [t.contiguous() for t in values]
    rows = [
        (address(at, torch.int32), address(value, torch.float32), at.numel(), 0)
        for at, value in zip(ats, values, strict=True)
    ]
    assert all(at.numel() == value.numel() for at, value in zip(ats, values, strict=True)), "a value for every index"
    table = torch.tensor(rows, dtype=torch.int64)
    merge_rising(address(out, torch.float32), out.numel(), table.data_ptr(), len(rows), weight)
