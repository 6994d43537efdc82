"""One pass over whole vectors: sums and copies that notice what is not finite, and zeros; truth: plain/sweep.py.

What is large is written past the caches. An ordinary store reads a cache line before it writes it, a third of the
traffic of a copy, and pushes out what the model is about to need.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import (
    arrive,
    as_bits,
    get_f32,
    larger_magnitude,
    put_f32,
    stream_copy32,
    stream_sum32,
    stream_way32,
    stream_zeros32,
    wide,
)
from laconic.kernels.cpu.pool import address
from laconic.kernels.plain import sweep as plain

LARGE = 1 << 18  # elements that would not stay in a cache of their own
FINITE = np.uint32(0x7F7FFFFF)  # the largest number


@part
def head(out: Any, n: Any) -> Any:
    """Elements before the first cache line that is written whole; all, where n is not large."""
    return min(n, (-out >> 2) & 15) if n >= LARGE else n


@part
def sums(x: Any, more: Any, out: Any, first: Any, last: Any) -> Any:
    """Element by element; the largest magnitude as a bit pattern."""
    most = np.uint32(0)
    for i in range(first, last):
        v = get_f32(x, i) if more == 0 else get_f32(more, i) + get_f32(x, i)
        put_f32(out, i, v)
        most = larger_magnitude(most, as_bits(v))
    return most


@kernel("int64(int64, int64, int64, int64)")
def add_and_look(x: Any, more: Any, out: Any, n: Any) -> Any:
    """out <- more + x, or x where there is no more (0); 0 if all is finite."""
    wide()
    first = head(out, n)
    last = first + (n - first) // 32 * 32
    most, beyond = sums(x, more, out, 0, first), np.uint32(0)
    if more == 0:
        for i in range(first, last, 32):
            beyond |= stream_copy32(x, out, i, FINITE)
    else:
        for i in range(first, last, 32):
            beyond |= stream_sum32(x, more, out, i, FINITE)
    arrive()
    most = larger_magnitude(most, sums(x, more, out, last, n))
    return np.int64(beyond) + np.int64(most > FINITE)


@part
def ways(start: Any, here: Any, more: Any, out: Any, first: Any, last: Any) -> Any:
    most = np.uint32(0)
    for i in range(first, last):
        v = get_f32(more, i) + (get_f32(start, i) - get_f32(here, i))
        put_f32(out, i, v)
        most = larger_magnitude(most, as_bits(v))
    return most


@kernel("int64(int64, int64, int64, int64, int64)")
def add_way_and_look(start: Any, here: Any, more: Any, out: Any, n: Any) -> Any:
    """out <- more + (start - here); 0 if all is finite."""
    wide()
    first = head(out, n)
    last = first + (n - first) // 32 * 32
    most, beyond = ways(start, here, more, out, 0, first), np.uint32(0)
    for i in range(first, last, 32):
        beyond |= stream_way32(start, here, more, out, i, FINITE)
    arrive()
    most = larger_magnitude(most, ways(start, here, more, out, last, n))
    return np.int64(beyond) + np.int64(most > FINITE)


@kernel("void(int64, int64)")
def fill_with_zeros(out: Any, n: Any) -> None:
    wide()
    first = head(out, n)
    last = first + (n - first) // 32 * 32
    for i in range(first):
        put_f32(out, i, np.float32(0))
    for i in range(first, last, 32):
        stream_zeros32(out, i)
    arrive()
    for i in range(last, n):
        put_f32(out, i, np.float32(0))


def add_finite(x: Tensor, more: Tensor, out: Tensor) -> bool:
    x = x.contiguous()
    return bool(add_and_look(*(address(t, torch.float32) for t in (x, more, out)), x.numel()) == 0)


def copy_finite(x: Tensor, out: Tensor) -> bool:
    x = x.contiguous()
    return bool(add_and_look(address(x, torch.float32), 0, address(out, torch.float32), x.numel()) == 0)


def way_finite(start: Tensor, here: Tensor, more: Tensor, out: Tensor) -> bool:
    here = here.contiguous()
    into = (address(t, torch.float32) for t in (start, here, more, out))
    return bool(add_way_and_look(*into, here.numel()) == 0)


def zeros(out: Tensor) -> Tensor:
    if out.dtype != torch.float32 or not out.is_contiguous():
        return plain.zeros(out)
    fill_with_zeros(address(out, torch.float32), out.numel())
    return out
