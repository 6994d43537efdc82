"""Grids with a line of its own in each dimension take what the player finds in regions."""

from __future__ import annotations

from math import prod

import pytest

from laconic.sim import closed
from laconic.sim.closed_grid import bcube_s, grid_s, shared
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.topology.programs import Program, Shape, build, fault
from laconic.topology.programs.grid import grid_all_gather, grid_reduce_scatter
from laconic.topology.programs.hop import chunk

NEAR, FAR = Line(3.0, 0.25), Line(40.0, 1.5)
SIZE = 5040  # bytes; divides by 2 .. 10


@pytest.mark.parametrize(("ranks", "hosts"), [(2, 2), (2, 3), (4, 2), (3, 4)])
def test_hierarchical_on_two_kinds_of_lines(ranks: int, hosts: int) -> None:
    world = ranks * hosts
    programs = [build("hierarchical", r, world, SIZE, Shape(groups=hosts)) for r in range(world)]
    seen = play(programs, Network(NEAR, regions=hosts, across=FAR), 1).seconds
    assert seen == pytest.approx(grid_s((ranks, hosts), SIZE, (NEAR, FAR)))


@pytest.mark.parametrize("sides", [(2, 2, 2), (2, 3, 2), (4, 2, 3)])
def test_blueconnect_on_a_line_for_each_dimension(sides: tuple[int, ...]) -> None:
    """The switch knows two kinds: the first dimension inside a region, all others across."""
    world = prod(sides)
    programs = [build("blueconnect", r, world, SIZE, Shape(factors=sides)) for r in range(world)]
    seen = play(programs, Network(NEAR, regions=world // sides[0], across=FAR), 1).seconds
    assert seen == pytest.approx(grid_s(sides, SIZE, (NEAR, FAR, FAR)))


def test_hierarchical_by_hand() -> None:
    """2(G-1)(a1 + m/G b1) + 2(N-1)(a2 + m/(GN) b2), G = 4, N = 2, and three dimensions of BlueConnect."""
    assert grid_s((4, 2), 800, (NEAR, FAR)) == pytest.approx(6 * (3.0 + 200 * 0.25) + 2 * (40.0 + 100 * 1.5))
    site = Line(90.0, 2.0)
    three = 2 * (3.0 + 400 * 0.25) + 2 * (40.0 + 200 * 1.5) + 2 * (90.0 + 100 * 2.0)
    assert grid_s((2, 2, 2), 800, (NEAR, FAR, site)) == pytest.approx(three)
    assert grid_s((6,), 600, (NEAR,)) == pytest.approx(closed.all_reduce_s("ring", 6, 600, NEAR))


@pytest.mark.parametrize(("ranks", "hosts"), [(2, 3), (4, 2), (8, 16)])
def test_who_share_a_card_are_as_fast_as_one_of_them_alone(ranks: int, hosts: int) -> None:
    """2(N-1)/N m b_nic across, whatever G."""
    sharing = grid_s((ranks, hosts), SIZE, (Line(0.0, 0.0), shared(FAR, ranks)))
    alone = closed.all_reduce_s("ring", hosts, SIZE, FAR)
    assert sharing == pytest.approx(alone)


@pytest.mark.parametrize(("side", "cards"), [(2, 2), (3, 2), (2, 3), (4, 2)])
def test_threads_of_a_bcube_never_meet(side: int, cards: int) -> None:
    """Each is played alone: in every phase they go along different dimensions, so each has a card to itself."""
    world, size = side**cards, 1440
    orders = [tuple((t + i) % cards for i in range(cards)) for t in range(cards)]
    assert all(len({order[phase] for order in orders}) == cards for phase in range(cards))
    for t, order in enumerate(orders):
        programs = [thread(r, (side,) * cards, chunk((0, size), cards, t), order) for r in range(world)]
        assert fault(programs) is None
        seen = play(programs, Network(NEAR), 1).seconds
        assert seen == pytest.approx(bcube_s(side, cards, size, NEAR))


def thread(rank: int, sides: tuple[int, ...], span: tuple[int, int], order: tuple[int, ...]) -> Program:
    return grid_reduce_scatter(rank, sides, span, order) + grid_all_gather(rank, sides, span, order)


def test_a_bcube_takes_a_share_of_what_one_card_takes() -> None:
    one = closed.all_reduce_s("ring", 16, SIZE, Line(0.0, 1.0))
    assert bcube_s(4, 2, SIZE, Line(0.0, 1.0)) == pytest.approx(one / 2)
