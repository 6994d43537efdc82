"""Thin factors of a matrix, each product one pass over the matrix; truth: plain/lowrank.py.

Four vectors of a factor are taken at once (a rank is filled up with zeros) with two rows of the matrix, which is what
16 registers hold. Products are fused with their sums explicitly, in a fixed order: the same bits on all processors.

    orthonormal    Gram and Schmidt's way, twice each, in float64; where a vector depends on those before it (less than
                   1e-5 of it is left), the reference decides
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import get_f32, put_f32, zero_bytes
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.cpu.products import add_dots_2x4, dot64, dots_2x4, put_products, subtract_products, sum_rows_2x4
from laconic.kernels.plain import lowrank as plain

TILE = 1024  # columns: four vectors of that many floats stay in the first-level cache
DEPENDS = 1e-5
F = np.float32


# ------------------------------------------------------------- kernels


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def along_pairs(
    m: Any, residual: Any, left: Any, rows: Any, columns: Any, q: Any, rank: Any, p: Any, start: Any, stop: Any
) -> None:
    """Two rows at a time; the last one twice where their number is odd."""
    for pair in range(start, stop):
        i0, i1 = 2 * pair, min(2 * pair + 1, rows - 1)
        a0, a1 = 4 * i0 * columns, 4 * i1 * columns
        for k in range(0, rank, 4):
            to, of = p + 4 * (k * rows), q + 4 * k * columns
            if residual != 0 and k == 0:
                add_dots_2x4(
                    m + a0, m + a1, of, columns, to, i0, i1, rows, residual + a0, residual + a1, left + a0, left + a1
                )
            elif residual != 0:
                dots_2x4(left + a0, left + a1, of, columns, to, i0, i1, rows)
            else:
                dots_2x4(m + a0, m + a1, of, columns, to, i0, i1, rows)


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def across_tiles(m: Any, rows: Any, columns: Any, p: Any, rank: Any, q: Any, start: Any, stop: Any) -> None:
    for tile in range(start, stop):
        first = tile * TILE
        size = min(TILE, columns - first)
        for k in range(0, rank, 4):
            to = q + 4 * (k * columns + first)
            for v in range(4):
                zero_bytes(to + 4 * v * columns, 4 * size)
            for i in range(0, rows, 2):
                here = m + 4 * (i * columns + first)
                sum_rows_2x4(here, min(1, rows - 1 - i), columns, size, p + 4 * k * rows, i, rows, to)


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def rebuilt_rows(
    out: Any, left: Any, rows: Any, columns: Any, p: Any, rank: Any, q: Any, own: Any, start: Any, stop: Any
) -> None:
    for i in range(start, stop):
        for k in range(0, rank, 4):
            at = 4 * i * columns
            put_products(out + at, p + 4 * k * rows, i, rows, q + 4 * k * columns, columns, k)
            if left != 0:
                subtract_products(left + at, p + 4 * k * rows, i, rows, own + 4 * k * columns, columns)


@part
def less_projection(x: Any, y: Any, n: Any, c: Any) -> None:
    """x <- x - c y, rounded once."""
    for i in range(n):
        put_f32(x, i, F(np.float64(get_f32(x, i)) - c * np.float64(get_f32(y, i))))


@kernel("int64(int64, int64, int64)")
def gram_schmidt(p: Any, rank: Any, n: Any) -> Any:
    """In place; the number of vectors done: less than `rank` where the next depends on those."""
    for k in range(rank):
        x = p + 4 * k * n
        for turn in range(3):
            length = math.sqrt(dot64(x, x, n))
            if not (length > DEPENDS if turn == 1 else length > 0.0):
                return k
            for i in range(n):
                put_f32(x, i, F(np.float64(get_f32(x, i)) / length))
            if turn < 2:
                for j in range(k):
                    less_projection(x, p + 4 * j * n, n, dot64(x, p + 4 * j * n, n))
    return rank


# ------------------------------------------------------------- on tensors


def along(m: Tensor, q: Tensor) -> Tensor:
    return _along(m.contiguous(), 0, 0, q)


def along_keep(m: Tensor, residual: Tensor, left: Tensor, q: Tensor) -> Tensor:
    m, residual = m.contiguous(), residual.contiguous()
    return _along(m, address(residual, torch.float32), address(left, torch.float32), q)


def _along(m: Tensor, residual: int, left: int, q: Tensor) -> Tensor:
    rows, columns = m.shape
    factor, out = _filled(q), torch.empty(_whole(q.shape[0]), rows)
    into = (address(m, torch.float32), residual, left, rows, columns, factor.data_ptr(), out.shape[0], out.data_ptr())
    spread(lambda a, b: along_pairs(*into, a, b), -(-rows // 2), m.numel())
    return out[: q.shape[0]]


def across(m: Tensor, p: Tensor) -> Tensor:
    m, (rows, columns) = m.contiguous(), m.shape
    factor, out = _filled(p), torch.empty(_whole(p.shape[0]), columns)
    into = (address(m, torch.float32), rows, columns, factor.data_ptr(), out.shape[0], out.data_ptr())
    spread(lambda a, b: across_tiles(*into, a, b), -(-columns // TILE), m.numel())
    return out[: p.shape[0]]


def rebuilt(out: Tensor, p: Tensor, q: Tensor) -> None:
    _rebuilt(out, 0, p, q, q)


def rebuilt_keep(out: Tensor, left: Tensor, p: Tensor, q: Tensor, own: Tensor) -> None:
    _rebuilt(out, address(left, torch.float32), p, q, own)


def _rebuilt(out: Tensor, left: int, p: Tensor, q: Tensor, own: Tensor) -> None:
    rows, columns = out.shape
    p, q, own = _filled(p), _filled(q), _filled(own)
    of = (address(out, torch.float32), left, rows, columns, p.data_ptr(), p.shape[0], q.data_ptr(), own.data_ptr())
    spread(lambda a, b: rebuilt_rows(*of, a, b), rows, out.numel())


def orthonormal(p: Tensor) -> Tensor:
    basis = p.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
    rank, n = basis.shape
    return basis if gram_schmidt(basis.data_ptr(), rank, n) == rank else plain.orthonormal(p)


def _whole(rank: int) -> int:
    return -(-rank // 4) * 4


def _filled(factor: Tensor) -> Tensor:
    """Vectors of zeros added, up to a whole number of fours."""
    rank = factor.shape[0]
    factor = factor.contiguous()
    address(factor, torch.float32)
    return torch.nn.functional.pad(factor, (0, 0, 0, -rank % 4)) if rank % 4 else factor
