"""Sums over blocks in the order of plain/sums.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from laconic.kernels.cpu.compile import kernel, part
from laconic.kernels.cpu.lanes import get_f64, lane_abs_sum, lane_square_sum, put_f64
from laconic.kernels.cpu.pool import address, spread
from laconic.kernels.plain.sums import PIECE


def with_sums(work: Callable[[int, int, int], object], needed: bool, block: int, units: int, elements: int) -> None:
    """`spread`, with scratch for the pieces of a block's sum where there are several: work(scratch, start, stop)."""

    def with_room(start: int, stop: int) -> None:
        room = torch.empty(-(-block // PIECE) + 1, dtype=torch.float64)
        work(room.data_ptr(), start, stop)

    spread(with_room if needed and block > PIECE else lambda start, stop: work(0, start, stop), units, elements)


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

    def work(sums: int, start: int, stop: int) -> None:
        sum_blocks(a, n, out.data_ptr(), block, squares, sums, start, stop)

    with_sums(work, True, min(block, n), out.numel(), n)
    return out
