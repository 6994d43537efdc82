"""Compressed exchanges, message by message and as the runtime asks for them."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from laconic.core.bucket import BucketSpec
from laconic.drive.simulate import told
from laconic.plan import Plan
from laconic.sim import patterns
from laconic.sim.closed_compressed import gathers_below, low_rank_flops, low_rank_s, one_bit_s, saved_s
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.topology.cost import Cost, cost
from laconic.topology.programs import build

LINE = Line(3.0, 0.25)
NET = Network(LINE)


def ring_s(world: int, nbytes: int, network: Network = NET) -> float:
    return play([build("ring", r, world, nbytes) for r in range(world)], network, 1).seconds


@pytest.mark.parametrize("world", [2, 3, 4, 8])
def test_one_bit_is_a_deal_and_a_gather_of_shares(world: int) -> None:
    share = 12
    seen = play(patterns.parcels(world, share), NET, 1).seconds + play(patterns.everyone(world, share), NET, 1).seconds
    assert seen == pytest.approx(one_bit_s(world, 32 * world * share, LINE))


def test_one_bit_by_hand() -> None:
    """2(n-1) a + 2(n-1)/n (m/32) b + coding: four workers, 6400 bytes, so shares of 50."""
    assert one_bit_s(4, 6400, LINE, coding_s=7.0) == pytest.approx(6 * 3.0 + 1.5 * 200 * 0.25 + 7.0)


@pytest.mark.parametrize("world", [2, 4, 8])
def test_low_rank_is_two_rings_one_after_the_other(world: int) -> None:
    matrix, rank = (64, 24), 2
    seen = ring_s(world, 4 * rank * 64) + ring_s(world, 4 * rank * 24)
    assert seen == pytest.approx(low_rank_s(world, matrix, rank, LINE))
    assert low_rank_s(world, matrix, rank, LINE, coding_s=7.0) == pytest.approx(seen + 7.0)


def test_powersgd_asks_for_the_bytes_of_its_closed_form() -> None:
    plan, shape = Plan.parse("powersgd(2)"), (64, 24)
    spec = BucketSpec(0, ("w",), (shape,))
    rounds = told(plan.compress, spec, plan.topology, 4).rounds
    assert sorted(ask.nbytes for r in rounds for ask in r) == [4 * 2 * 24, 4 * 2 * 64]


def test_operations_of_low_rank_are_counted() -> None:
    m, q = torch.randn(64, 24), torch.randn(24, 2)
    with FlopCounterMode(display=False) as counted:
        p = m @ q
        _ = p @ (m.T @ p).T
    assert counted.get_total_flops() == low_rank_flops((64, 24), 2)


@pytest.mark.parametrize("world", [2, 4, 6, 8])
def test_gathering_beats_a_ring_below_two_shares(world: int) -> None:
    free = Network(Line(0.0, 0.25))
    size = 5040
    edge = round(gathers_below(world, size))
    ring = ring_s(world, size, free)
    assert play(patterns.everyone(world, edge - 1), free, 1).seconds < ring
    assert play(patterns.everyone(world, edge + 1), free, 1).seconds > ring


def test_gathered_bytes_lose_from_eight_workers_on() -> None:
    """A quarter of the bytes each, as DDP's quantization hook sends."""
    assert gathers_below(7, 1000) > 1000 / 4
    assert gathers_below(8, 1000) <= 1000 / 4


@pytest.mark.parametrize("payload", [40, 400, 1200, 2000])
@pytest.mark.parametrize("coding_s", [0.0, 300.0, 1500.0])
def test_compression_saves_what_the_player_saves(payload: int, coding_s: float) -> None:
    """Recursive doubling, few messages, against gathering, of which there are more."""
    world, size = 8, 2520
    plain = play([build("recursive_doubling", r, world, size) for r in range(world)], NET, 1).seconds
    packed = play(patterns.everyone(world, payload), NET, 1).seconds + coding_s
    gathered = Cost(world - 1, (world - 1) * payload, 0.0)
    saved = saved_s(cost("recursive_doubling", world, size), gathered, LINE, coding_s)
    assert saved == pytest.approx(plain - packed)
    assert (saved > 0) == (plain > packed)


def test_compression_pays_by_hand() -> None:
    """b (m - m') > encode + decode + extra a: 100 bytes less on the line and two messages more."""
    plain, packed = Cost(4, 150, 0.0), Cost(6, 50, 0.0)
    assert saved_s(plain, packed, LINE, coding_s=10.0) == pytest.approx(25.0 - 10.0 - 6.0)
