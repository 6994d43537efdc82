from __future__ import annotations

import pytest
import torch

from laconic.compress.integer_sum import lane_bytes, total_of
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.topology import AllReduce
from tests.zoo import noise


async def _program(codes: torch.Tensor, high: int, turn: Turn) -> Exchanged:
    return Exchanged(await total_of(codes, high, turn), codes, ())


def _sum(codes: list[torch.Tensor], high: int) -> torch.Tensor:
    seats = [Seat(rank, len(codes), AllReduce()) for rank in range(len(codes))]
    return lockstep([_program(c, high, Turn(seat, 0)) for c, seat in zip(codes, seats, strict=True)])[0].mean


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("high", [1, 2, 14, 255])
def test_the_sum_is_exact_among_any_number_of_ranks(high: int, world: int):
    codes = [(noise(101, rank).abs() * high).round().clamp(0, high).to(torch.int64) for rank in range(world)]
    assert torch.equal(_sum(codes, high).long(), torch.stack(codes).sum(0))


@pytest.mark.parametrize("world", [2, 3, 7, 15, 16, 127])
@pytest.mark.parametrize("high", [1, 2, 6])
def test_no_lane_reaches_its_neighbour_at_the_extremes(high: int, world: int):
    for code in (0, high):
        codes = [torch.full((200,), code) for _ in range(world)]
        assert _sum(codes, high).tolist() == [code * world] * 200


def test_three_levels_need_few_bits():
    bits = [8 * lane_bytes(1 << 20, 2, n) / (1 << 20) for n in (1, 2, 4, 8)]
    assert bits == pytest.approx([2.0, 64 / 21, 4.0, 64 / 12], rel=1e-3)
