"""Sums over blocks in the order of plain/sums.py."""

from __future__ import annotations

from typing import Any

from laconic.kernels.cpu.compile import part
from laconic.kernels.cpu.lanes import get_f64, lane_abs_sum, lane_square_sum, put_f64
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
