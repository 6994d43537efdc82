"""Exact top-k in one pass over memory; truth: plain/select.py.

    1. A threshold from a sample of at most 32768 elements, low enough that (all but surely) k or more are above it.
    2. One pass: p = residual + x is written out, and what is above the threshold is collected, in order.
    3. Of those candidates (1.2 k to 2 k) the exact k, by a histogram of bit patterns that is refined down to one value.

Whatever the sample says, the result is exact: too few candidates, or too many for the buffer, and the histogram is
taken of everything. The sample is drawn by a fixed hash, so a result never depends on chance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    above32,
    add_above32,
    as_bits,
    get_f32,
    get_i32,
    get_u32,
    larger_magnitude,
    magnitude,
    mix,
    outside_of,
    prefetch,
    put_f32,
    put_i32,
    scratch,
    smaller_magnitude,
    trailing_zeros,
    wide,
    without_lowest_bit,
    zero_bytes,
)
from laconic.kernels.cpu.pool import ENOUGH, address, spread
from laconic.kernels.plain import select as plain

SAMPLE = 32768
BINS = 4096
AHEAD = 32  # elements: how far scattered ones are asked for
SLICE = 1024  # elements: the grain in which threads share the pass
I32, U32, U64, F = np.int32, np.uint32, np.uint64, np.float32


# ------------------------------------------------------------- the k-th largest


@part
def range_of(x: Any, n: Any) -> Any:
    """The smallest and the largest magnitude, as bit patterns."""
    wide()
    low, high = U32(0x7FFFFFFF), U32(0)
    for i in range(n):
        v = get_u32(x, i)
        low, high = smaller_magnitude(low, v), larger_magnitude(high, v)
    return low, high


@part
def kth(x: Any, n: Any, k: Any) -> Any:
    """(the k-th largest magnitude, how many of that magnitude belong to the k largest), 1 <= k <= n."""
    bins = scratch(4 * 4096)
    low, high = range_of(x, n)
    while True:
        shift = 0
        while (high - low) >> U32(shift) >= BINS:
            shift += 1
        zero_bytes(bins, 4 * BINS)
        s = U32(shift)
        for i in range(n):
            m = magnitude(get_u32(x, i))
            if low <= m and m <= high:  # noqa: PLR1716  (numba compiles a chain to more)
                b = (m - low) >> s
                put_i32(bins, b, get_i32(bins, b) + 1)
        b = BINS - 1
        while get_i32(bins, b) < k:
            k -= get_i32(bins, b)
            b -= 1
        low += U32(b) << s
        if shift == 0:
            return low, k
        high = low + (U32(1) << s) - U32(1)


@kernel("int64(int64, int64, int64, int64, int64)")
def exact(x: Any, n: Any, k: Any, index: Any, values: Any) -> Any:
    """The k largest of n, from all of them."""
    edge, ties = kth(x, n, k)
    count = 0
    for i in range(n):
        m = magnitude(get_u32(x, i))
        if m > edge or (m == edge and ties > 0):
            ties -= m == edge
            put_i32(index, count, i)
            put_f32(values, count, get_f32(x, i))
            count += 1
            if count == k:
                break
    return count


@kernel("void(int64, int64, int64, int64)")
def cut(index: Any, values: Any, n: Any, k: Any) -> None:
    """Keeps the k largest of n candidates, in their order, at the front."""
    edge, ties = kth(values, n, k)
    count = 0
    for i in range(n):
        v = get_f32(values, i)
        m = magnitude(as_bits(v))
        tie = m == edge
        put_i32(index, count, get_i32(index, i))
        put_f32(values, count, v)
        count += m > edge or (tie and ties > 0)
        ties -= tie


# ------------------------------------------------------------- candidates


@part
def drawn(i: Any, n: Any) -> Any:
    """The i-th element of the sample."""
    return np.int64((U64(mix(0x9E3779B9, i & 0xFFFF)) * U64(n)) >> U64(32))


@kernel("int64(int64, int64, int64, int64, int64, int64)")
def sampled_edge(x: Any, residual: Any, n: Any, sample: Any, rank: Any, room: Any) -> Any:
    """Just below the rank-th largest magnitude of a sample of x (+ residual, if there is one); `room` is scratch."""
    for i in range(sample):
        prefetch(x, drawn(i + AHEAD, n))
        at = drawn(i, n)
        v = get_f32(x, at)
        if residual != 0:
            v = get_f32(residual, at) + v
        put_f32(room, i, v)
    edge, _ = kth(room, sample, rank)
    return np.int64(edge) - 1 if edge > 0 else 0


@part
def collect(mask: Any, x: Any, at: Any, index: Any, values: Any, count: Any) -> Any:
    while mask != 0:
        i = at + np.int64(trailing_zeros(mask))
        mask = without_lowest_bit(mask)
        put_i32(index, count, i)
        put_f32(values, count, get_f32(x, i))
        count += 1
    return count


@part
def collect_one(x: Any, i: Any, edge: Any, index: Any, values: Any, count: Any, capacity: Any) -> Any:
    v = get_f32(x, i)
    if magnitude(as_bits(v)) > edge:
        if count < capacity:
            put_i32(index, count, i)
            put_f32(values, count, v)
        count += 1
    return count


@kernel("int64(int64, int64, int64, int64, int64, int64, int64)")
def compact(x: Any, first: Any, last: Any, edge: Any, index: Any, values: Any, capacity: Any) -> Any:
    """Elements of x[first:last] above the edge; returns their number, and more than `capacity` where not all fit."""
    wide()
    limit, count = U32(edge), 0
    whole = first + (last - first) // 32 * 32
    for at in range(first, whole, 32):
        prefetch(x, at + 512)
        prefetch(x, at + 528)
        mask = above32(x, at, limit)
        if mask != 0:
            if count + 32 > capacity:
                return capacity + 1
            count = collect(mask, x, at, index, values, count)
    for i in range(whole, last):
        count = collect_one(x, i, limit, index, values, count, capacity)
    return count


@kernel("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def compact_keep(
    x: Any, residual: Any, left: Any, first: Any, last: Any, edge: Any, index: Any, values: Any, capacity: Any
) -> Any:
    """left <- residual + x, always to the end; and its elements above the edge as `compact` does."""
    wide()
    limit, count = U32(edge), 0
    whole = first + (last - first) // 32 * 32
    for at in range(first, whole, 32):
        mask = add_above32(x, residual, left, at, limit)
        if mask != 0:
            count = capacity + 1 if count + 32 > capacity else collect(mask, left, at, index, values, count)
    for i in range(whole, last):
        put_f32(left, i, get_f32(residual, i) + get_f32(x, i))
        count = collect_one(left, i, limit, index, values, count, capacity)
    return count


# ------------------------------------------------------------- sparse to dense


@kernel("void(int64, int64, int64)")
def zero_at(x: Any, index: Any, k: Any) -> None:
    for i in range(k):
        prefetch(x, np.int64(get_i32(index, min(i + AHEAD, k - 1))))
        put_f32(x, get_i32(index, i), F(0))


@kernel("int64(int64, int64, int64)")
def count_outside(index: Any, k: Any, n: Any) -> Any:
    wide()
    outside = I32(0)
    for i in range(k):
        outside = outside_of(outside, get_i32(index, i), n)
    return np.int64(outside)


@kernel("void(int64, int64, int64, int64, float32)")
def add_at(total: Any, index: Any, values: Any, k: Any, weight: Any) -> None:
    for i in range(k):
        prefetch(total, np.int64(get_i32(index, min(i + AHEAD, k - 1))))
        at = get_i32(index, i)
        put_f32(total, at, get_f32(total, at) + get_f32(values, i) * weight)


# ------------------------------------------------------------- on tensors


def select(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    x = x.contiguous()
    a, n = address(x, torch.float32), x.numel()

    def collect_in(first: int, last: int, edge: int, index: int, values: int, room: int) -> Any:
        return compact(a, first, last, edge, index, values, room)

    return _select(a, 0, a, n, k, collect_in)


def select_keep(x: Tensor, residual: Tensor, left: Tensor, k: int) -> tuple[Tensor, Tensor]:
    if not residual.numel():
        at, values = select(x, k)
        zero_at(address(x, torch.float32), at.data_ptr(), k)
        return at, values
    x, residual = x.contiguous(), residual.contiguous()
    a, e, p, n = *(address(t, torch.float32) for t in (x, residual, left)), x.numel()

    def collect_in(first: int, last: int, edge: int, index: int, values: int, room: int) -> Any:
        return compact_keep(a, e, p, first, last, edge, index, values, room)

    at, values = _select(a, e, p, n, k, collect_in)
    zero_at(p, at.data_ptr(), k)
    return at, values


def _select(x: int, residual: int, p: int, n: int, k: int, collect_in: Any) -> tuple[Tensor, Tensor]:
    """`collect_in` makes p, which is complete afterwards, and collects candidates."""
    edge, room = _edge(x, residual, n, k)
    index, values, count = _candidates(collect_in, n, edge, max(room, k))
    if k <= count <= index.numel():
        if count > k:
            cut(index.data_ptr(), values.data_ptr(), count, k)
    elif k:
        exact(p, n, k, index.data_ptr(), values.data_ptr())
    return index[:k], values[:k]


def _edge(x: int, residual: int, n: int, k: int) -> tuple[int, int]:
    """A bit pattern that about k elements exceed, rather more than fewer; and room for them."""
    sample = min(SAMPLE, max(2048, n // 64))
    expected = sample * k / max(n, 1)
    rank = int(expected + 4 * math.sqrt(expected) + 2)
    if n < 4 * sample or 2 * rank > sample:
        return 0x7FFFFFFF, 0  # nothing is above: a sample would not pay
    scratch_ = torch.empty(sample, dtype=torch.float32)
    edge = sampled_edge(x, residual, n, sample, rank, scratch_.data_ptr())
    return edge, min(n, int((rank + 6 * math.sqrt(rank) + 8) / sample * n)) + 64


def _candidates(collect_in: Any, n: int, edge: int, room: int) -> tuple[Tensor, Tensor, int]:
    """Indices and values in order, and their number (more than there is room for: not all are there)."""
    parts = 1 if n < 2 * ENOUGH else min(torch.get_num_threads(), n // ENOUGH)
    edges = [min(n, SLICE * (-(-n // SLICE) * i // parts)) for i in range(parts)] + [n]
    index = torch.empty(parts * room, dtype=torch.int32)
    values = torch.empty(parts * room, dtype=torch.float32)
    if parts == 1:
        return index, values, collect_in(0, n, edge, index.data_ptr(), values.data_ptr(), room)
    counts = [0] * parts

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            to = 4 * room * i
            into = (index.data_ptr() + to, values.data_ptr() + to, room)
            counts[i] = collect_in(edges[i], edges[i + 1], edge, *into)

    spread(work, parts, n)
    if max(counts) > room:
        return index[:room], values[:room], room + 1
    both = [torch.cat([t[i * room : i * room + c] for i, c in enumerate(counts)]) for t in (index, values)]
    if both[0].numel() < room:  # room for the exact way, should these be too few
        both = [torch.cat([t, t.new_empty(room - t.numel())]) for t in both]
    return both[0], both[1], sum(counts)


def largest(x: Tensor, k: int) -> Tensor:
    if x.dtype == torch.float64:
        return plain.largest(x, k)
    return select(x.to(torch.float32), k)[0].to(torch.int64)


def above(x: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    x = x.contiguous()
    a, n = address(x, torch.float32), x.numel()
    edge = int(torch.tensor(threshold, dtype=torch.float32).view(torch.int32))
    room = n // 16 + 64
    while True:
        index, values = torch.empty(room, dtype=torch.int32), torch.empty(room, dtype=torch.float32)
        count = compact(a, 0, n, edge, index.data_ptr(), values.data_ptr(), room)
        if count <= room:
            return index[:count], values[:count]
        room = min(n + 64, 4 * room)


def within(at: Tensor, numel: int) -> bool:
    if at.dtype != torch.int32:
        return plain.within(at, numel)
    at = at.contiguous()
    return bool(count_outside(at.data_ptr(), at.numel(), min(numel, 2**31 - 1)) == 0)


def scatter_add(total: Tensor, at: Tensor, values: Tensor, weight: float) -> None:
    at, values = at.to(torch.int32).contiguous(), values.contiguous()
    assert at.numel() == values.numel(), "a value for every index"
    into = address(total, torch.float32)
    add_at(into, address(at, torch.int32), address(values, torch.float32), at.numel(), weight)
