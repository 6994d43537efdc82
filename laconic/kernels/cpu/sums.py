"""Sums over blocks in the order of plain/sums.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import get_f64, lane_abs_sum, lane_square_sum, put_f64
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.plain.sums import PIECE


def sums_bytes(block: int) -> int:
    """Scratch that the pieces of a block need."""
    return 8 * (-(-block // PIECE) + 1)


@part
def folded(sums: Any, count: Any) -> Any:
    """The pieces of a block, the last half onto the first."""
    while count > 1:
        half = count // 2
        keep = count - half
        for i in range(half):
            put_f64(sums, i, get_f64(sums, i) + get_f64(sums, keep + i))
        count = keep
    return get_f64(sums, 0)


@part
def square_sum(x: Any, n: Any, sums: Any) -> Any:
    if n <= PIECE:
        return lane_square_sum(x, n)
    for i in range((n + PIECE - 1) // PIECE):
        put_f64(sums, i, lane_square_sum(x + 4 * PIECE * i, min(PIECE, n - PIECE * i)))
    return folded(sums, (n + PIECE - 1) // PIECE)


@part
def abs_sum(x: Any, n: Any, sums: Any) -> Any:
    if n <= PIECE:
        return lane_abs_sum(x, n)
    for i in range((n + PIECE - 1) // PIECE):
        put_f64(sums, i, lane_abs_sum(x + 4 * PIECE * i, min(PIECE, n - PIECE * i)))
    return folded(sums, (n + PIECE - 1) // PIECE)


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def sum_blocks(x: Any, n: Any, out: Any, block: Any, squares: Any, sums: Any, start: Any, stop: Any) -> None:
    for b in range(start, stop):
        here, size = x + 4 * b * block, min(block, n - b * block)
        put_f64(out, b, square_sum(here, size, sums) if squares else abs_sum(here, size, sums))


def abs_sums(x: Tensor, block: int) -> Tensor:
    return _sums(x, block, 0)


def square_sums(x: Tensor, block: int) -> Tensor:
    return _sums(x, block, 1)


def _sums(x: Tensor, block: int, squares: int) -> Tensor:
    x, n = x.contiguous(), x.numel()
    out = torch.empty(-(-n // block), dtype=torch.float64)
    a = address(x, torch.float32)

    def work(start: int, stop: int) -> None:
        room = torch.empty(sums_bytes(min(block, n)), dtype=torch.uint8)
        sum_blocks(a, n, out.data_ptr(), block, squares, room.data_ptr(), start, stop)

    spread(work, out.numel(), n)
    return out
